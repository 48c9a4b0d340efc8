package gameday_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

func result(name string, success bool) experiment.Result {
	text := "Action failed: a \"quoted\" reason,\non two lines"
	r := experiment.Result{Name: name, Success: success, Duration: 1.5, StartedAt: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	if !success {
		r.Error = &text
	}
	return r
}

func open(t testing.TB, path string, max int) *gameday.History {
	t.Helper()
	h, err := gameday.OpenHistory(path, max)
	require.NoError(t, err)
	return h
}

func cutNames(h *gameday.History) (names []string) {
	for _, c := range h.CutOff() {
		names = append(names, c.Name)
	}
	return names
}

func TestHistoryIsBoundedAndCounts(t *testing.T) {
	h := gameday.NewHistory(3)
	assert.Equal(t, []experiment.Result{}, h.Results(""))
	runs, rate := h.SuccessRate("")
	assert.Zero(t, runs)
	assert.Zero(t, rate)
	assert.Nil(t, h.Score(), "no run is no part of a score")
	for i := range 5 {
		require.NoError(t, h.Add(result(fmt.Sprint("e", i%2), i%2 == 0)))
	}
	assert.Equal(t, []experiment.Result{result("e0", true), result("e1", false), result("e0", true)}, h.Results(""))
	assert.Equal(t, []experiment.Result{result("e1", false)}, h.Results("e1"))
	assert.Equal(t, []experiment.Result{}, h.Results("unknown"))
	assert.EqualValues(t, 2, h.Dropped())
	runs, rate = h.SuccessRate("")
	assert.Equal(t, 5, runs, "also those that are not kept")
	assert.InDelta(t, 60, *h.Score(), 1e-9)
	assert.InDelta(t, 3.0/5, rate, 1e-12)
	runs, rate = h.SuccessRate("e1")
	assert.Equal(t, 2, runs)
	assert.Zero(t, rate)
}

// Whenever the process dies, the file has the results and beginnings of which Add and
// Begin have returned, the counts of what is no longer kept, and nothing torn.
func TestABoundedFileKeepsCountsAndBeginnings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.json")
	h := open(t, path, 5)
	_, err := h.Begin("cut off")
	require.NoError(t, err)
	for i := range 100 {
		end, err := h.Begin(fmt.Sprint("e", i%2))
		require.NoError(t, err)
		assert.Equal(t, []string{"cut off", fmt.Sprint("e", i%2)}, cutNames(open(t, copied(t, path), 5)))
		r := result(fmt.Sprint("e", i%2), i%4 == 0)
		require.NoError(t, end(&r))
		found := open(t, copied(t, path), 5)
		assert.Equal(t, h.Results(""), found.Results(""))
		assert.Equal(t, h.Dropped(), found.Dropped())
	}
	for range 2 {
		h = open(t, path, 5)
		for name, want := range map[string]struct {
			runs int
			rate float64
		}{"": {100, 0.25}, "e0": {50, 0.5}, "e1": {50, 0}, "unknown": {0, 0}} {
			runs, rate := h.SuccessRate(name)
			assert.Equal(t, want.runs, runs, name)
			assert.InDelta(t, want.rate, rate, 1e-12, name)
		}
		assert.Equal(t, []string{"cut off"}, cutNames(h))
		assert.Len(t, h.Results(""), 5)
		assert.EqualValues(t, 95, h.Dropped())
	}
	h = open(t, path, 2)
	assert.Len(t, h.Results(""), 2, "a smaller bound holds at once")
	assert.EqualValues(t, 98, h.Dropped())
}

// copied is the file as a killed process leaves it.
func copied(t testing.TB, path string) string {
	t.Helper()
	doc, err := os.ReadFile(path)
	require.NoError(t, err)
	left := filepath.Join(t.TempDir(), "left")
	require.NoError(t, os.WriteFile(left, doc, 0o600))
	return left
}

func TestAnExperimentThatWasCutOffIsNamedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		var left string
		h := open(t, path, 10)
		var rolledBack atomic.Bool
		e := play("slow database", time.Hour, true, nil)
		e.Rollbacks[0].Run = func(context.Context) (any, error) { rolledBack.Store(true); return nil, nil }
		lab := newLab(t, &gameday.LabOptions{History: h}, e, play("good", 0, true, nil))
		_, err := lab.Run(t.Context(), "good", false)
		require.NoError(t, err)
		_, err = lab.Run(t.Context(), "slow database", true)
		require.NoError(t, err)
		began := time.Now().UTC()
		var looked sync.WaitGroup
		looked.Go(func() {
			time.Sleep(time.Minute)
			assert.False(t, rolledBack.Load())
			assert.Empty(t, h.CutOff(), "it is under way")
			left = copied(t, path)
		})
		_, err = lab.Run(t.Context(), "slow database", false)
		require.NoError(t, err)
		looked.Wait()
		assert.Empty(t, open(t, path, 10).CutOff(), "this process ended it")

		h = open(t, left, 10)
		assert.Equal(t, []gameday.CutOff{{Name: "slow database", StartedAt: began}}, h.CutOff())
		lab = newLab(t, &gameday.LabOptions{History: h}, e)
		assert.Equal(t, h.CutOff(), lab.Status(gameday.Query{}).CutOff)
		_, err = lab.Run(t.Context(), "slow database", false)
		require.NoError(t, err)
		assert.Len(t, h.CutOff(), 1, "another run is no proof that the first was undone")
		n, err := h.Settle("good")
		require.NoError(t, err)
		assert.Zero(t, n)
		n, err = h.Settle("slow database")
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Empty(t, open(t, left, 10).CutOff(), "settled for good")
	})
}

// Of the runs that are cut off the latest are kept, as many as results.
func TestRunsThatAreCutOffAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.json")
	for i := range 7 {
		_, err := open(t, path, 3).Begin(fmt.Sprint("e", i))
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"e4", "e5", "e6"}, cutNames(open(t, path, 3)))
}

func TestAHistoryThatCannotBeWrittenIsReported(t *testing.T) {
	_, err := gameday.OpenHistory(t.TempDir(), 0)
	assert.ErrorContains(t, err, "gameday: history: ")
	dir := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(dir, 0o700))
	h := open(t, filepath.Join(dir, "history.json"), 0)
	require.NoError(t, os.RemoveAll(dir))
	r, err := newLab(t, &gameday.LabOptions{History: h}, play("a", 0, true, nil)).Run(t.Context(), "a", false)
	assert.ErrorContains(t, err, "gameday: history: ")
	assert.True(t, r.Success, "it ran")
	assert.Len(t, h.Results(""), 1, "what is over is remembered all the same")
}

func TestAFileThatIsNoHistoryIsNotTouched(t *testing.T) {
	for _, doc := range []string{``, `null`, `{}`, `[]`, `{"my":"config"}`, `{"results":[],"added":0}`, `{"added":0,"open":[],"gone":{},"results":[{}]}`} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, []byte(doc), 0o600))
		_, err := gameday.OpenHistory(path, 0)
		assert.ErrorContains(t, err, "gameday: history: ", doc)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, doc, string(left))
	}
}

func TestHistoryIsSafeForConcurrentUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.json")
	h := open(t, path, 30)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 10 {
				assert.NoError(t, h.Add(result("e", true)))
				_ = h.Results("e")
				_, _ = h.SuccessRate("")
				_ = h.Dropped()
			}
		})
	}
	workers.Wait()
	h = open(t, path, 30)
	assert.Len(t, h.Results(""), 30)
	assert.EqualValues(t, 10, h.Dropped())
}

// Whatever is in the file, opening it does not panic, and what it gives is there
// the next time. A file that is refused stays as it is.
func FuzzOpenHistory(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	h := open(f, path, 10)
	require.NoError(f, h.Add(result("e", false)))
	_, err := h.Begin("cut off")
	require.NoError(f, err)
	seed, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(seed)
	f.Add(seed[:len(seed)-3])
	f.Add([]byte(`{"added":0,"open":[],"gone":{},"results":[{}]}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "history")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		h, err := gameday.OpenHistory(path, 10)
		if err != nil {
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, data, kept)
			return
		}
		again := open(t, path, 10)
		assert.Equal(t, h.Results(""), again.Results(""))
		assert.Equal(t, h.CutOff(), again.CutOff())
	})
}

// play is an experiment whose action takes a time and returns fails. If steady is
// false, two of three checks of its steady state miss.
func play(name string, takes time.Duration, steady bool, fails error) *experiment.Experiment {
	checked := 0
	return &experiment.Experiment{
		Name: name,
		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{{Name: "steady", Run: func(context.Context) (any, error) {
			checked++
			return steady || checked%3 == 1, nil
		}}}},
		Method: []experiment.Activity{{Name: "act", Run: func(ctx context.Context) (any, error) {
			select {
			case <-time.After(takes):
				return nil, fails
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}},
		Rollbacks: []experiment.Activity{{Name: "undo", Run: func(context.Context) (any, error) { return nil, nil }}},
	}
}

func newLab(t *testing.T, o *gameday.LabOptions, experiments ...*experiment.Experiment) *gameday.Lab {
	t.Helper()
	lab := gameday.NewLab(o)
	require.NoError(t, lab.Register(experiments...))
	return lab
}

func TestLabRunsByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newLab(t, nil, play("b", time.Second, true, nil), play("a", 0, false, nil))
		assert.Equal(t, []string{"a", "b"}, lab.Names())
		r, err := lab.Run(t.Context(), "b", false)
		require.NoError(t, err)
		assert.True(t, r.Success)
		assert.Equal(t, 1.0, r.Duration)
		r, err = lab.Run(t.Context(), "a", true)
		require.NoError(t, err)
		assert.True(t, r.Success)
		assert.Len(t, lab.History().Results(""), 1, "a dry run is not remembered")
		_, err = lab.Run(t.Context(), "c", false)
		assert.ErrorIs(t, err, gameday.ErrUnknown)
		assert.EqualError(t, err, `gameday: unknown experiment "c"; registered: a, b`)
	})
}

func TestRegisterTakesAllOrNone(t *testing.T) {
	lab := gameday.NewLab(nil)
	err := lab.Register(play("a", 0, true, nil), nil, &experiment.Experiment{Name: "no hypothesis"}, &experiment.Experiment{})
	for _, want := range []string{"experiment 1 is nil", `experiment "no hypothesis" has no hypothesis`, "experiment: Name"} {
		assert.ErrorContains(t, err, want)
	}
	assert.Equal(t, []string{}, lab.Names())
	_, err = lab.Run(t.Context(), "a", false)
	assert.EqualError(t, err, `gameday: unknown experiment "a"; registered: none`)
}

func TestStatus(t *testing.T) {
	in := chaos.NewInjector(1, nil)
	lab := newLab(t, &gameday.LabOptions{Injector: in}, play("good", 0, true, nil), play("bad", 0, false, nil))
	doc, err := json.Marshal(lab.Status(gameday.Query{IncludeResults: true, Experiment: "unknown"}))
	require.NoError(t, err)
	assert.JSONEq(t, `{"active_faults":[],"registered_experiments":2,"experiments":["bad","good"],"results":[],"total_runs":0,"success_rate":0,"cut_off":[]}`, string(doc))

	require.NoError(t, in.Register(chaos.Rule{Name: "slow", Target: "db", When: when.Prob(0.25), Fault: fault.Delay(time.Second)}))
	require.NoError(t, in.Register(chaos.Rule{Name: "cut", Target: "db", When: when.Nth(3), Fault: fault.Partition()}))
	for _, name := range []string{"good", "bad", "good"} {
		_, err := lab.Run(t.Context(), name, false)
		require.NoError(t, err)
	}
	s := lab.Status(gameday.Query{})
	assert.Equal(t, []gameday.ActiveFault{{Name: "slow", FaultType: "latency", Probability: 0.25, InForce: true}, {Name: "cut", FaultType: "network_partition", Probability: 1, InForce: true}}, s.ActiveFaults)
	assert.Nil(t, s.Results)
	assert.Equal(t, 3, s.TotalRuns)
	assert.InDelta(t, 2.0/3, s.SuccessRate, 1e-12)
	doc, err = json.Marshal(s)
	require.NoError(t, err)
	assert.NotContains(t, string(doc), "results", "only when asked for")
	s = lab.Status(gameday.Query{IncludeResults: true, Experiment: "bad"})
	assert.Len(t, s.Results, 1)
	assert.Equal(t, 1, s.TotalRuns)
	assert.Zero(t, s.SuccessRate)
}

func TestAnInvalidRunIsNotRemembered(t *testing.T) {
	h := gameday.NewHistory(0)
	e := play("spoilt", 0, true, nil)
	lab := newLab(t, &gameday.LabOptions{History: h}, e)
	e.Hypothesis = nil // after it was registered
	_, err := lab.Run(t.Context(), "spoilt", false)
	var wrong *experiment.FieldError
	assert.ErrorAs(t, err, &wrong)
	assert.Empty(t, h.Results(""))
}
