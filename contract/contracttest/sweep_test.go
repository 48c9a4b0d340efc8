package contracttest_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/contract/search"
)

func TestChildSweep(t *testing.T) {
	onlyInChild(t)
	contracttest.Sweep(t, lying(t), keepsNothing(contracttest.SweepOptions{}))
}

// keepsNothing are options of sweeps that fail on purpose.
func keepsNothing(o contracttest.SweepOptions) *contracttest.SweepOptions {
	o.Search.Dir = "-"
	return &o
}

func TestChildSweepOfLowSeverity(t *testing.T) {
	onlyInChild(t)
	contracttest.Sweep(t, lying(t), keepsNothing(contracttest.SweepOptions{FailOn: contract.Critical}))
}

func TestChildSweepInRealTime(t *testing.T) {
	onlyInChild(t)
	contracttest.Sweep(t, lying(t), keepsNothing(contracttest.SweepOptions{RealTime: true}))
}

// A sweep needs no options and fails with a subtest per defect.
func TestSweepFailsWithASubtestPerDefect(t *testing.T) {
	out, failed := child(t, "^TestChildSweep$")
	assert.True(t, failed)
	assert.Contains(t, out, "--- FAIL: TestChildSweep/clock_fails ", out)
	assert.Contains(t, out, "breaks says.noon (high): ")
	assert.Contains(t, out, "covered    all ")
	assert.NotContains(t, out, "not complete")

	out, failed = child(t, "^TestChildSweepOfLowSeverity$")
	assert.False(t, failed, out)
	assert.Contains(t, out, "--- PASS: TestChildSweepOfLowSeverity/clock_fails ", out)

	out, failed = child(t, "^TestChildSweepInRealTime$")
	assert.True(t, failed)
	assert.Contains(t, out, "Budget is no bound", "in real time runs are not free:\n"+out)
}

// Hours of delay take no time, and a sweep that finds nothing passes.
func TestSweepThatFindsNothing(t *testing.T) {
	m := lying(t)
	m.Invariants, m.Scenarios = m.Invariants[1:], nil
	r := contracttest.Sweep(t, m, &contracttest.SweepOptions{Search: search.Options{Depth: 3}})
	assert.Empty(t, r.Defects)
	assert.Empty(t, r.Stopped)
	assert.Contains(t, r.Covered(), "no set of these breaks answers")
	assert.True(t, contracttest.AssertRepeatable(t, m, nil))
}

// counting is an agent that answers otherwise each time.
func counting(t testing.TB) *contract.Matrix {
	var n atomic.Int64
	m := lying(t)
	changeWorld(m, func(w *contract.World) {
		w.Agent = func(context.Context, string, chaos.ToolRegistry) (string, error) {
			return fmt.Sprint("answer ", n.Add(1)), nil
		}
	})
	m.Invariants, m.Scenarios = m.Invariants[1:], []contract.Scenario{contract.Calm()}
	return m
}

func TestChildAssertRepeatable(t *testing.T) {
	onlyInChild(t)
	t.Log("repeatable:", contracttest.AssertRepeatable(t, counting(t), nil, "of the agent"))
}

func TestAssertRepeatableNamesTheDifference(t *testing.T) {
	out, failed := child(t, "^TestChildAssertRepeatable$")
	assert.True(t, failed)
	assert.Contains(t, out, "two runs without faults differ: prompt 1, answer: answer ")
	assert.Contains(t, out, "of the agent")
	assert.Contains(t, out, "repeatable: false")
}

// Run reports whether two runs were the same, where that costs nothing.
func TestRunSaysWhetherRunsRepeat(t *testing.T) {
	m := lying(t)
	m.Invariants = m.Invariants[1:]
	r := contracttest.Run(t, m, nil)
	assert.Equal(t, []string{"yes", ""}, []string{r.Repeatable, r.Difference})
	r = contracttest.Run(t, m, &contracttest.Options{RealTime: true})
	assert.Empty(t, r.Repeatable, "in real time it is not tried")
	m.Trials = 2
	for i, want := range []string{"yes", ""} { // the first shard alone asks
		r = contracttest.Run(t, m, &contracttest.Options{Shard: contract.Shard{Index: i + 1, Count: 2}})
		assert.Equal(t, want, r.Repeatable)
	}
	m.Trials = 0
	r = contracttest.Run(t, counting(t), nil)
	require.Equal(t, "no", r.Repeatable)
	assert.True(t, strings.HasPrefix(r.Difference, "prompt 1, answer: answer "), r.Difference)
}

// An agent that draws only where a tool fails looks repeatable in calm runs. Trials under
// faults tell: one that comes out otherwise under the same faults shows it. Where the faults
// differ from trial to trial, and the agent does not draw, it is repeatable.
func TestRunSaysWhetherTrialsUnderFaultsRepeat(t *testing.T) {
	matrix := func(repeats bool, w chaos.When) *contract.Matrix {
		m := lying(t)
		made := m.NewWorld
		var n atomic.Int64
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := made(ctx)
			w.Agent = func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				_, err := tools.CallTool(ctx, "clock", []byte(`{"zone":"here"}`))
				_, other := tools.CallTool(ctx, "clock", []byte(`{"zone":"there"}`))
				if err == nil || other == nil || !repeats && n.Add(1)%3 > 0 {
					return "fine", nil
				}
				return "bad", nil
			}
			return w, err
		}
		m.Invariants = []contract.Invariant{invariant.Contains("fine", contract.Low, "fine")}
		m.Scenarios = []contract.Scenario{contract.Under("down", chaos.Rule{Target: "clock", When: w, Fault: fault.Fail(fault.ErrUnavailable)})}
		m.Trials = 20
		return m
	}
	o := &contracttest.Options{FailOn: contract.Critical, Dir: "-"}
	r := contracttest.Run(t, matrix(false, nil), o)
	assert.Equal(t, "no", r.Repeatable)
	assert.Regexp(t, `^trial \d+ of down/fine, run again: (broken, then held|held, then broken)$`, r.Difference)
	r = contracttest.Run(t, matrix(true, when.Prob(.5)), o)
	assert.Equal(t, []string{"yes", ""}, []string{r.Repeatable, r.Difference})
	require.Len(t, r.Fields, 1)
	assert.Positive(t, r.Fields[0].Held)
	assert.Less(t, r.Fields[0].Held, r.Fields[0].Decided)
}

// afterFailure is an agent of two tools that asks again when a tool fails, and what it says then
// is up to chance, if it draws at all. Its answers are the same in calm runs.
func afterFailure(t *testing.T, draws func(contract.CellContext) string) *contract.Matrix {
	m := lying(t)
	changeWorld(m, func(w *contract.World) {
		w.Agent = func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			if _, err := tools.CallTool(ctx, "clock", []byte(`{}`)); err == nil {
				return "fine", nil
			}
			c, _ := contract.CellOf(ctx)
			return "fine, although the clock failed" + draws(c), nil
		}
	})
	m.Invariants = []contract.Invariant{invariant.Contains("fine", contract.Low, "fine")}
	m.Scenarios = []contract.Scenario{contract.Calm(),
		contract.Under("down", chaos.Rule{Target: "clock", Fault: fault.Fail(fault.ErrUnavailable)})}
	return m
}

// That calm runs were the same says nothing of an agent under faults. So cells under faults are
// run again, and the report says how many runs met the same.
func TestRunCountsTheRunsThatMetTheSame(t *testing.T) {
	var n atomic.Int64
	for _, row := range []struct {
		reason     string
		draws      func(contract.CellContext) string
		trials     int
		repeatable string
		difference string
		runs       int // under faults, that were like an earlier one
		distinct   int // trials of the field under faults
		note       string
	}{
		{reason: "one that does not draw", draws: func(contract.CellContext) string { return "" }, trials: 1, repeatable: "yes", runs: 7, distinct: 1,
			note: "The agent was not seen to differ in 7 runs under faults that repeated an earlier one."},
		{reason: "its trials are copies", draws: func(contract.CellContext) string { return "" }, trials: 3, repeatable: "yes", runs: 7, distinct: 1,
			note: "The agent was not seen to differ in 7 runs under faults that repeated an earlier one. " +
				"In 2 of 2 fields some trials are copies, which intervals of fields, promised rates and pass^k count once."},
		{reason: "one that draws by its seed repeats each trial, and its trials are no copies",
			draws: func(c contract.CellContext) string { return fmt.Sprint(c.Trial) }, trials: 3, repeatable: "yes", runs: 1, distinct: 3,
			note: "The agent was not seen to differ in 1 run under faults that repeated an earlier one. " +
				"In 1 of 2 fields some trials are copies, which intervals of fields, promised rates and pass^k count once."},
		{reason: "one that draws after a failure alone", draws: func(contract.CellContext) string { return fmt.Sprint(n.Add(1)) }, trials: 1,
			repeatable: "no", difference: "trial 1 of down/fine, run again: under the same faults the agent did not do the same", distinct: 1},
		{reason: "the same in three trials", draws: func(contract.CellContext) string { return fmt.Sprint(n.Add(1)) }, trials: 3,
			repeatable: "no", difference: "trial 1 of down/fine, run again: under the same faults the agent did not do the same", distinct: 3},
	} {
		m := afterFailure(t, row.draws)
		m.Trials = row.trials
		r := contracttest.Run(t, m, nil)
		assert.Equal(t, []string{row.repeatable, row.difference}, []string{r.Repeatable, r.Difference}, row.reason)
		assert.Equal(t, row.runs, r.RepeatedRuns(), row.reason)
		_, decided := r.Fields[1].Counted()
		assert.Equal(t, row.distinct, decided, row.reason)
		var text bytes.Buffer
		require.NoError(t, report.Text(&text, r, &report.TextOptions{Width: 1000}))
		if row.note == "" {
			assert.NotContains(t, text.String(), "not seen to differ", row.reason)
		} else {
			assert.Contains(t, text.String(), row.note+"\n", row.reason)
		}
	}
}

// TestRunCountsTheRunsOfRepeat: whether the agent repeats itself is found out in calm runs,
// which the report counts, and the agent sees under that name. A budget is for the cells.
func TestRunCountsTheRunsOfRepeat(t *testing.T) {
	for _, tc := range []struct {
		why        string
		budget     contract.Budget
		calm       int
		repeatable string
	}{
		{"no budget", contract.Budget{}, 2, "yes"},
		{"a budget with room", contract.Budget{Trials: 10}, 2, "yes"},
		{"a budget for the cells alone", contract.Budget{Trials: 2}, 0, ""},
		{"a budget for one run more", contract.Budget{Trials: 3}, 1, ""},
		{"a cost that the cells have spent", contract.Budget{Cost: 2, CostOf: func(*contract.CellReport) float64 { return 1 }}, 0, ""},
	} {
		var mu sync.Mutex
		asked := map[string]int{}
		t.Run(tc.why, func(t *testing.T) {
			m := lying(t)
			m.Scenarios, m.Trials = m.Scenarios[:1], 1
			changeWorld(m, func(w *contract.World) {
				agent := w.Agent
				w.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
					cell, _ := contract.CellOf(ctx)
					mu.Lock()
					asked[cell.Scenario]++
					mu.Unlock()
					return agent(ctx, prompt, tools)
				}
			})
			r := contracttest.Run(t, m, &contracttest.Options{Sequential: true, Budget: tc.budget})
			assert.Equal(t, tc.calm, r.CalmRuns)
			assert.Equal(t, tc.repeatable, r.Repeatable)
		})
		want := map[string]int{"calm": 2, "(calm)": tc.calm}
		if tc.calm == 0 {
			delete(want, "(calm)")
		}
		assert.Equal(t, want, asked, tc.why)
	}
}

// Eleven minutes of delay take no time, and a scan needs no options.
func TestScanInVirtualTime(t *testing.T) {
	m := lying(t)
	m.Scenarios = nil
	r := contracttest.Scan(t, m, search.Delay("clock"), nil)
	require.Len(t, r.Limits, 2)
	require.NotNil(t, r.Limits[1].Held)
	assert.Equal(t, search.Delay("clock").To, *r.Limits[1].Held)
	r = contracttest.Scan(t, m, search.Burst("clock", fault.Fail(fault.ErrUnavailable)), nil)
	require.NotNil(t, r.Limits[0].Broke)
	assert.EqualValues(t, 1, *r.Limits[0].Broke)
	assert.EqualValues(t, 0, *r.Limits[0].Held)
}

func TestChildScanMisspelt(t *testing.T) {
	onlyInChild(t)
	contracttest.Scan(t, lying(t), search.Burst("clok", fault.Fail(fault.ErrUnavailable)), nil)
}

func TestChildScanInASharedWorld(t *testing.T) {
	onlyInChild(t)
	contracttest.Scan(t, &contract.Matrix{World: &contract.World{}}, search.Delay("clock"), nil)
}

func TestChildScanThatIsCut(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.Trials = 200
	contracttest.Scan(t, m, search.Delay("clock"), nil)
}

// A scan that shows nothing is no pass.
func TestScanFails(t *testing.T) {
	for _, row := range []struct{ run, want string }{
		{"^TestChildScanMisspelt$", "the scan shows nothing of says.noon"},
		{"^TestChildScanInASharedWorld$", "Budget is no bound"},
		{"^TestChildScanThatIsCut$", "the scan is not complete: the "},
	} {
		out, failed := child(t, row.run)
		assert.True(t, failed, out)
		assert.Contains(t, out, row.want)
	}
}
