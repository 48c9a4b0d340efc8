package gameday_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/shakedown-go/shakedown/internal/golden"
)

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
	for _, want := range []string{"experiment 1 is nil", `experiment "no hypothesis": experiment: Hypothesis`, "experiment: Name"} {
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

func TestGameDayReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := play("lost for good", 0, false, nil)
		probe := &lost.Hypothesis.Probes[0]
		checks := 0
		probe.Run = func(context.Context) (any, error) { checks++; return checks == 1, nil }
		lab := newLab(t, nil, play("orders survive", 90*time.Second, true, nil), play("cache loss", 250*time.Millisecond, false, nil),
			play("worker dies", time.Second, true, errors.New("no such worker")), lost)
		r, err := (&gameday.GameDay{Name: "October"}).Run(t.Context(), lab)
		require.NoError(t, err)
		var text bytes.Buffer
		require.NoError(t, r.WriteText(&text))
		golden.Equal(t, "report.txt", text.Bytes())
		doc, err := json.MarshalIndent(r, "", "  ")
		require.NoError(t, err)
		golden.Equal(t, "report.json", append(doc, '\n'))
		assert.Len(t, lab.History().Results(""), 4)
	})
}

func TestACancelledGameDayBeginsNoFurtherExperiment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab := newLab(t, nil, play("a", time.Second, false, nil), play("b", time.Second, true, nil))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		r, err := (&gameday.GameDay{Experiments: []string{"a", "b"}}).Run(ctx, lab)
		require.NoError(t, err)
		assert.Contains(t, *r.Entries[0].Result.Error, "context deadline exceeded")
		assert.Equal(t, "not run: context deadline exceeded", r.Entries[1].Problem)
		assert.Equal(t, []int{2, 1}, []int{r.Planned, r.Run})
	})
}

func TestGameDaysThatCannotBe(t *testing.T) {
	lab := newLab(t, nil, play("a", 0, true, nil))
	_, err := (&gameday.GameDay{Experiments: []string{"x", "a", "y"}}).Run(t.Context(), lab)
	assert.ErrorIs(t, err, gameday.ErrUnknown)
	assert.ErrorContains(t, err, `Experiments[0]: gameday: unknown experiment "x"`)
	assert.ErrorContains(t, err, `Experiments[2]`)
	assert.Empty(t, lab.History().Results(""), "nothing has run")
	_, err = (&gameday.GameDay{}).Run(t.Context(), gameday.NewLab(nil))
	assert.Error(t, err)
	_, err = (&gameday.GameDay{}).Run(t.Context(), nil)
	assert.Error(t, err)
}

// A crash in the middle of a game day loses no finished result: at the moment of
// each step, what is on the disk has all results that were there before it.
func TestACrashInAGameDayLosesNoFinishedResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	history := open(t, path, 0)
	var steps []map[string]bool // what a process that died here would find
	look := func(name string) *experiment.Experiment {
		e := play(name, 0, true, nil)
		e.Method = append(e.Method, experiment.Activity{Name: "crash", Run: func(context.Context) (any, error) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			copied := filepath.Join(t.TempDir(), "copy")
			require.NoError(t, os.WriteFile(copied, append(data, "torn"...), 0o600))
			found := make(map[string]bool)
			h := open(t, copied, 0)
			for _, r := range h.Results("") {
				found[r.Name] = true
			}
			steps = append(steps, found)
			return nil, h.Close()
		}})
		return e
	}
	lab := newLab(t, &gameday.LabOptions{History: history}, look("a"), look("b"), look("c"))
	r, err := (&gameday.GameDay{}).Run(t.Context(), lab)
	require.NoError(t, err)
	assert.Equal(t, 3, r.Succeeded)
	require.NoError(t, history.Close())
	var got [][]string
	for _, found := range steps {
		got = append(got, slices.Sorted(maps.Keys(found)))
	}
	assert.Equal(t, [][]string{nil, {"a"}, {"a", "b"}}, got)
}

func TestAHistoryThatCannotBeWrittenIsReported(t *testing.T) {
	history := open(t, filepath.Join(t.TempDir(), "history"), 0)
	require.NoError(t, history.Close())
	r, err := (&gameday.GameDay{}).Run(t.Context(), newLab(t, &gameday.LabOptions{History: history}, play("a", 0, true, nil)))
	require.NoError(t, err)
	assert.Equal(t, 1, r.Succeeded)
	assert.Equal(t, "gameday: history: it is closed", r.Entries[0].Problem)
}
