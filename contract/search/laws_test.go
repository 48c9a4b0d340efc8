package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

// many is a matrix with several defects, whose agent gives way to others now and then.
func many() *contract.Matrix {
	return scripted(func(call func(string, int) error) string {
		for range rand.IntN(3) {
			runtime.Gosched()
		}
		f := each(call, 3)
		if call("d", 1) != nil {
			_ = call("d", 1)
		}
		switch {
		case f["a1"] && f["c2"]:
			return "bad: a and c"
		case f["b3"]:
			return "bad: b"
		}
		return "ok"
	}, contract.Calm(), contract.Under("all", fails("*", nil)), contract.Under("b", fails("b", nil)),
		contract.Under("lost", chaos.Rule{Target: "d", Fault: fault.LoseReply()}),
		contract.Under("half", chaos.Rule{Target: "*", When: prob(.5), Fault: fault.Fail(errDown)}))
}

// prob matches a share of the calls.
type prob float64

func (p prob) Match(c chaos.Call) bool { return c.Draw(0) < float64(p) }

// bytesOf are the defects of a report, without what was measured.
func bytesOf(t require.TestingT, r *contract.Report) string {
	text, err := json.Marshal(r.Defects)
	require.NoError(t, err)
	return fmt.Sprintf("%s %d %s", text, r.SearchRuns, r.SearchStopped)
}

func TestSameDefectsAtAnyNumberOfWorkers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		budget := rapid.SampledFrom([]int{1, 3, 10, 25, 2000}).Draw(rt, "budget")
		first := ""
		for _, workers := range []int{1, 2, 8, 64} {
			m := many()
			m.Seed, m.Trials = seed, 2
			o := &Options{Budget: Budget{Runs: budget}}
			o.Run.Workers = workers
			r := explained(t, m, o)
			if got := bytesOf(rt, r); first == "" {
				first = got
			} else if first != got {
				rt.Fatalf("at %d workers\n%s\nnot\n%s", workers, got, first)
			}
			if r.SearchRuns > budget {
				rt.Fatalf("%d runs of %d", r.SearchRuns, budget)
			}
		}
	})
}

func TestACutSearchSaysSo(t *testing.T) {
	m := scripted(breaksWith(5, "b3", "c5"), contract.Under("all", fails("*", nil)))
	o := &Options{Budget: Budget{Runs: 4}}
	r := explained(t, m, o)
	require.Len(t, r.Defects, 1)
	assert.True(t, r.Defects[0].Cut)
	assert.Contains(t, r.SearchStopped, "the 4 runs of the budget were made")
	one := explained(t, many(), &Options{Budget: Budget{Runs: 1}})
	assert.Contains(t, one.SearchStopped, "the 1 run of the budget was made")
	whole := explained(t, scripted(breaksWith(5, "b3", "c5"), contract.Under("all", fails("*", nil))), &Options{})
	assert.False(t, whole.Defects[0].Cut)
	assert.Len(t, whole.Defects[0].Deliveries, 2)
	assert.Equal(t, whole.Cells[0].Cell, r.Cells[0].Cell)

	none := explained(t, scripted(breaksWith(5, "b3"), contract.Under("all", fails("*", nil))),
		&Options{Budget: Budget{Time: time.Nanosecond}})
	require.Len(t, none.Defects, 1)
	assert.True(t, none.Defects[0].Cut)
	assert.Contains(t, none.SearchStopped, "the time of 1ns was over")
}

func TestExplainChangesNeitherCellsNorVerdict(t *testing.T) {
	m := many()
	r, err := m.Run(t.Context(), &contract.RunOptions{Harness: bubbled(t)})
	require.NoError(t, err)
	own := *r
	before, err := json.Marshal(own)
	require.NoError(t, err)
	o := &Options{Budget: Budget{Runs: 500}}
	o.Run.Harness.Calm = bubbled(t).Calm
	require.NoError(t, Explain(t.Context(), m, r, o))
	require.NotEmpty(t, r.Defects)
	own = *r
	own.Defects, own.SearchRuns, own.SearchElapsed, own.SearchStopped = nil, 0, 0, ""
	after, err := json.Marshal(own)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

func TestWithoutBrokenCellsNothingRuns(t *testing.T) {
	r := explained(t, scripted(func(func(string, int) error) string { return "ok" }, contract.Calm()), &Options{})
	assert.Empty(t, r.Defects)
	assert.Zero(t, r.SearchRuns)
}

// A report of another matrix is no evidence about this one.
func TestAReportOfAnotherMatrixIsRefused(t *testing.T) {
	all := contract.Under("all", fails("*", nil))
	r, err := scripted(breaksWith(3, "a1"), all).Run(t.Context(), &contract.RunOptions{Harness: bubbled(t)})
	require.NoError(t, err)
	other := scripted(breaksWith(3, "a1"), contract.Under("else", fails("*", nil)))
	other.Invariants[0].Name = "good"
	err = Explain(t.Context(), other, r, &Options{Budget: Budget{Runs: 9}, Dir: t.TempDir()})
	assert.ErrorContains(t, err, `r: scenario is "all"`)
	assert.ErrorContains(t, err, `r: invariant is "fine"`)
	assert.Empty(t, r.Defects, "nothing is said to break without any fault")
}

// Where a search ends in an error, what it did not run is not said to hold.
func TestASearchThatEndsEarlySaysOnlyWhatItRan(t *testing.T) {
	m := many()
	r, err := m.Run(t.Context(), &contract.RunOptions{Harness: bubbled(t)})
	require.NoError(t, err)
	for runs := 1; runs < 20; runs++ {
		left := runs
		o := &Options{Budget: Budget{Runs: 500}, Cost: func(*contract.Result) float64 { left--; return float64(left) }}
		o.Run = contract.RunOptions{Workers: 1, Harness: bubbled(t)}
		require.ErrorContains(t, Explain(t.Context(), m, r, o), `Cost is "-1"`)
		for _, d := range r.Defects {
			assert.NotContains(t, d.Sentence, "did not break again", "after %d runs", runs)
			assert.True(t, d.Cut || !strings.Contains(d.Sentence, "not searched"))
		}
	}
}

// A callback that panics ends the search with an error, as Cost does.
func TestProgressThatPanics(t *testing.T) {
	m := many()
	r, err := m.Run(t.Context(), &contract.RunOptions{Harness: bubbled(t)})
	require.NoError(t, err)
	o := &Options{Budget: Budget{Runs: 500}, OnProgress: func(Progress) { panic("no screen") }}
	o.Run.Harness = bubbled(t)
	assert.EqualError(t, Explain(t.Context(), m, r, o), "search: OnProgress panicked: no screen")
	assert.Contains(t, r.SearchStopped, "no screen")
}

func TestCellsThatDoNotBreakAgainAreListed(t *testing.T) {
	var runs atomic.Int64
	m := scripted(func(call func(string, int) error) string {
		each(call, 1)
		if runs.Add(1) <= 2 { // the cells of both invariants
			return "bad"
		}
		return "ok"
	}, contract.Under("all", fails("a", nil)))
	r := explained(t, m, &Options{})
	require.Equal(t, []string{"did not break again → fine"}, sentences(r))
	assert.Equal(t, "prompt 1, answer: bad, then ok", r.Defects[0].Difference)
	assert.NotEmpty(t, r.Defects[0].Breaks[0].Cells)
}

func TestMisbehavingAgentsUnderASearch(t *testing.T) {
	for name, misbehave := range map[string]func(context.Context){
		"panics":             func(context.Context) { panic("boom") },
		"hangs":              func(context.Context) { select {} },
		"ignores the end":    func(context.Context) { time.Sleep(90 * 24 * time.Hour) },
		"ends its goroutine": func(context.Context) { runtime.Goexit() },
		"leaks": func(context.Context) {
			go func() { select {} }()
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := scripted(nil, contract.Under("all", fails("a", nil)))
			m.Timeout = time.Minute
			setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				for range 3 {
					if _, err := tools.CallTool(ctx, "a", []byte(`{"n":1}`)); err == nil {
						return "ok", nil
					}
				}
				misbehave(ctx)
				return "ok", nil
			})
			r := explained(t, m, &Options{})
			require.NotEmpty(t, r.Defects)
			assert.Equal(t, "a fails 3 times in a row", r.Defects[0].Sentence)
		})
	}
}

func TestAFaultWithGoCodeIsReportedAndNotKept(t *testing.T) {
	dir := t.TempDir()
	rule := chaos.Rule{Target: "b", Fault: fault.Mutate("none", func(int) int { return -1 })}
	m := scripted(nil, contract.Under("all", rule))
	setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		got, _ := tools.CallTool(ctx, "b", []byte(`{"n":1}`))
		if string(got) == "-1" {
			return "bad", nil
		}
		return "ok", nil
	})
	r := explained(t, m, &Options{Dir: dir})
	require.Equal(t, []string{"b meets mutate → fine"}, sentences(r))
	assert.Contains(t, strings.Join(r.Defects[0].Facts, "; "), "not kept: ")
	files, err := filepath.Glob(filepath.Join(dir, "kept", "*"))
	require.NoError(t, err)
	assert.Empty(t, files)
}

func TestKeptFilesOfTwoSearchesAtOnceAreWhole(t *testing.T) {
	dir := t.TempDir()
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			m := many()
			m.Scenarios = m.Scenarios[:4] // the last has a trigger of its own
			explained(t, m, &Options{Budget: Budget{Runs: 500}, Dir: dir})
			done <- nil
		}()
	}
	for range cap(done) {
		require.NoError(t, <-done)
	}
	kept := keptIn(t, dir)
	require.NotEmpty(t, kept)
	entries, err := os.ReadDir(filepath.Join(dir, "kept"))
	require.NoError(t, err)
	assert.Len(t, entries, len(kept), "no temporary file stays")
	for _, k := range kept {
		assert.Equal(t, StatusOngoing, rerun(t, k, many()), k.Sentence)
	}
}

// Who reads the folder while another process writes, or after it died, sees whole files.
func TestFilesThatAreNotWholeYetAreNoKeptFiles(t *testing.T) {
	dir := t.TempDir()
	explained(t, scripted(breaksWith(1, "a1"), contract.Under("all", fails("a", nil))), &Options{Dir: dir})
	kept := keptIn(t, dir)
	require.Len(t, kept, 1)
	written := make(chan error)
	go func() {
		var err error
		for i := range 100 {
			status := []Status{StatusOngoing, StatusResolved}[i%2]
			err = errors.Join(err, kept[0].SetStatus(dir, status))
		}
		written <- err
	}()
	for {
		select {
		case err := <-written:
			require.NoError(t, err)
			return
		default:
			all := keptIn(t, dir)
			require.Len(t, all, 1)
		}
	}
}

func TestAKeptDefectIsFoundByNumberOrNoMore(t *testing.T) {
	dir := t.TempDir()
	n := 1
	agent := func(call func(string, int) error) string {
		if n > 0 && call("a", n) != nil {
			return "bad"
		}
		return "ok"
	}
	m := scripted(agent, contract.Under("all", fails("a", nil)))
	explained(t, m, &Options{Dir: dir})
	run := func() Status {
		kept := keptIn(t, dir)
		require.Len(t, kept, 1)
		status, _, err := kept[0].Run(t.Context(), m, nil)
		require.NoError(t, err)
		return status
	}
	assert.Equal(t, StatusOngoing, run())
	n = 2
	assert.Equal(t, StatusOngoing, run(), "other arguments: it is the first call all the same")
	n = 0
	assert.Equal(t, StatusUnreached, run())
}

func TestGroupsAreBounded(t *testing.T) {
	r := &contract.Report{}
	for i := range 100 {
		for k := range 10 {
			r.Cells = append(r.Cells,
				contract.CellReport{Cell: contract.Cell{Scenario: fmt.Sprint("s", i), Invariant: "x", Trial: k + 1},
					Violated: true, Severity: contract.High, Why: strings.Repeat("x", k)})
		}
	}
	e := &explainer{report: r}
	e.group()
	assert.Len(t, e.groups, maxGroups)
	assert.Equal(t, 1000-maxGroups, e.left, "the rest is counted")
}

// Each broken cell is counted with one defect, whose faults break it and are all needed,
// whatever sets of failures break the agent.
func TestEachBrokenCellHasOneDefect(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		calls := rapid.SampledFrom([]string{"a1", "a2", "b1", "b2", "c1", "c2"})
		sets := rapid.SliceOfN(rapid.SliceOfNDistinct(calls, 1, 3, rapid.ID[string]), 1, 4).Draw(rt, "sets")
		bad := func(failed map[string]bool) bool {
			return slices.ContainsFunc(sets, func(set []string) bool {
				return !slices.ContainsFunc(set, func(c string) bool { return !failed[c] })
			})
		}
		m := scripted(func(call func(string, int) error) string {
			return map[bool]string{true: "bad", false: "ok"}[bad(each(call, 2))]
		}, contract.Under("some", fails("*", prob(rapid.SampledFrom([]float64{.2, .5, .8}).Draw(rt, "share")))))
		m.Trials = 15
		o := &Options{}
		o.Run.Workers = rapid.SampledFrom([]int{1, 8}).Draw(rt, "workers")
		r := explained(t, m, o)
		counted := map[contract.Cell]int{}
		for _, d := range r.Defects {
			failed := map[string]bool{}
			for _, h := range d.Deliveries {
				failed[fmt.Sprint(h.Target, h.Ordinal+1)] = true
			}
			require.True(rt, bad(failed), "%v breaks it", failed)
			for c := range failed {
				failed[c] = false
				require.False(rt, bad(failed), "without %s it holds: %v", c, failed)
				failed[c] = true
			}
			for _, b := range d.Breaks {
				for _, c := range b.Cells {
					counted[c]++
				}
			}
		}
		for _, c := range r.Cells {
			require.Equal(rt, c.Violated, counted[c.Cell] == 1, c.Cell)
		}
	})
}
