package contract_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

func TestVerdicts(t *testing.T) {
	untouched := func(context.Context, string, chaos.ToolRegistry) (string, error) { return "noon, surely", nil }
	storm := func(change ...func(*contract.Scenario)) func(*contract.Matrix) {
		return func(m *contract.Matrix) {
			s := stormy()
			for _, c := range change {
				c(&s)
			}
			m.Scenarios = append(m.Scenarios, s)
		}
	}
	allow := func(s *contract.Scenario) { s.AllowUndelivered = true }
	invariant := func(inv contract.Invariant) func(*contract.Matrix) {
		return func(m *contract.Matrix) { m.Invariants = []contract.Invariant{inv} }
	}
	unsure := holds("unsure", contract.Critical)
	unsure.Check = func(context.Context, *contract.Observation) error { return contract.ErrUndecided }
	for _, tc := range []struct {
		reason  string
		agent   contract.Agent
		changes []func(*contract.Matrix)
		verdict scoring.Verdict
		why     string
		states  []contract.CellState
	}{
		{"all held", tellsTime, nil, scoring.Pass, "no critical invariant broke; 1 of 1 decided cell held", []contract.CellState{contract.Held}},
		{"a high one broke under a fault: no fail", tellsTime, []func(*contract.Matrix){storm()}, scoring.Pass,
			"no critical invariant broke; 1 of 2 decided cells held", []contract.CellState{contract.Held, contract.Broken}},
		{"a critical one broke under a fault", tellsTime, []func(*contract.Matrix){invariant(holds("c", contract.Critical)), storm()}, scoring.Fail,
			`critical invariant "c" broke in scenario "stormy"`, []contract.CellState{contract.Held, contract.Broken}},
		{"no fault was delivered: nothing was shown", untouched, []func(*contract.Matrix){storm()}, scoring.Inconclusive,
			`no fault was delivered in scenario "stormy"`, []contract.CellState{contract.Held, contract.Undelivered}},
		{"unless the scenario allows that", untouched, []func(*contract.Matrix){storm(allow)}, scoring.Pass,
			"no critical invariant broke; 1 of 1 decided cell held", []contract.CellState{contract.Held, contract.Undelivered}},
		{"a critical one that broke without any fault fails all the same", untouched,
			[]func(*contract.Matrix){invariant(contains("c", contract.Critical, "midnight")), storm(allow), func(m *contract.Matrix) { m.Scenarios = m.Scenarios[1:] }},
			scoring.Fail, `critical invariant "c" broke in scenario "stormy"`, []contract.CellState{contract.Undelivered}},
		{"a fault that changed nothing was not delivered", tellsTime, []func(*contract.Matrix){func(m *contract.Matrix) {
			m.Scenarios = []contract.Scenario{{Name: "idle", Rules: []chaos.Rule{{Target: "clock", Fault: idles{}}}}}
		}}, scoring.Inconclusive, `no cell was decided; no fault was delivered in scenario "idle"`, []contract.CellState{contract.Undelivered}},
		{"a check that cannot tell", tellsTime, []func(*contract.Matrix){invariant(unsure)}, scoring.Inconclusive,
			"no cell was decided; 1 cell inconclusive, allowed 0", []contract.CellState{contract.Inconclusive}},
		{"a check that cannot tell, and no fault either", untouched, []func(*contract.Matrix){invariant(unsure), storm(allow)}, scoring.Inconclusive,
			"no cell was decided; 2 cells inconclusive, allowed 0", []contract.CellState{contract.Inconclusive, contract.Inconclusive}},
	} {
		r := run(t, matrix(t, tc.agent, tc.changes...), nil)
		assert.Equal(t, tc.verdict, r.Score.Verdict, tc.reason)
		assert.Equal(t, tc.why, r.Score.Why, tc.reason)
		assert.Equal(t, tc.states, states(r), tc.reason)
	}
}

func TestUndeliveredCells(t *testing.T) {
	untouched := func(context.Context, string, chaos.ToolRegistry) (string, error) { return "noon, surely", nil }
	for _, tc := range []struct {
		reason      string
		agent       contract.Agent
		rule        chaos.Rule
		inv         contract.Invariant
		broke       bool
		why         string
		undelivered int
	}{
		{"no call", untouched, chaos.Rule{Target: "clock", Fault: fails{}}, holds("i", contract.High), false, "no fault was delivered: the agent made no call", 0},
		{"another call", tellsTime, chaos.Rule{Target: "clock", Fault: fails{}, When: ordinal(7)}, holds("i", contract.High), false,
			"no fault was delivered: the agent made 1 call, and no rule matched one", 0},
		{"no effect", tellsTime, chaos.Rule{Target: "clock", Fault: idles{}}, holds("i", contract.High), false, "no fault was delivered: 1 injected and changed nothing", 1},
		{"broken all the same, and that is why", untouched, chaos.Rule{Target: "clock", Fault: fails{}}, contains("i", contract.High, "midnight"), true, `no "midnight" in the answer`, 0},
	} {
		m := matrix(t, tc.agent, func(m *contract.Matrix) {
			m.Scenarios = []contract.Scenario{{Name: "s", Rules: []chaos.Rule{tc.rule}}}
			m.Invariants = []contract.Invariant{tc.inv}
		})
		c := run(t, m, nil).Cells[0]
		assert.Equal(t, contract.Undelivered, c.State, tc.reason)
		assert.Equal(t, tc.broke, c.Violated, tc.reason)
		assert.Equal(t, tc.why, c.Why, tc.reason)
		assert.Equal(t, tc.undelivered, c.Undelivered, tc.reason)
		assert.Zero(t, c.Delivered, tc.reason)
		assert.Equal(t, tc.broke, c.Evidence != nil, "%s: a broken one keeps its evidence", tc.reason)
	}
}

func TestFilteredCells(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) { m.Scenarios = append(m.Scenarios, stormy()); m.Trials = 2 })
	only := func(want string) *contract.RunOptions {
		return &contract.RunOptions{Harness: contract.Harness{Around: func(c contract.Cell, cell func(contract.Bubble) *contract.CellReport) {
			if c.String() == want {
				r := cell(nil)
				assert.Equal(t, want, r.Cell.String(), "Around sees the report of its cell")
			}
		}}}
	}
	r := run(t, m, only("calm/held/2"))
	assert.True(t, r.Filtered)
	assert.Equal(t, []contract.CellState{contract.NotRun, contract.Held, contract.NotRun, contract.NotRun}, states(r))
	assert.Equal(t, scoring.Pass, r.Score.Verdict, "the verdict looks at those that ran")
	assert.Equal(t, 3, r.Score.NotRun)
	assert.False(t, run(t, m, nil).Filtered)

	r, err := m.Run(t.Context(), only("nothing"))
	require.ErrorIs(t, err, scoring.ErrNoneRan)
	require.NotNil(t, r)
	assert.True(t, r.Filtered)
	assert.NotEqual(t, scoring.Pass, r.Score.Verdict)
}

func TestAroundMayCallItsCellOnlyOnce(t *testing.T) {
	asked := 0
	m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) { asked++; return "", nil })
	r := run(t, m, &contract.RunOptions{Harness: contract.Harness{Around: func(_ contract.Cell, cell func(contract.Bubble) *contract.CellReport) {
		first := cell(nil)
		assert.Equal(t, first, cell(nil), "a second call is the same result")
	}}})
	assert.Equal(t, 1, asked)
	assert.Len(t, r.Cells, 1)
}

// TestAroundThatDoesNotWait leaves its cells to goroutines: one runs its cell in
// time, one when the cell is over.
func TestAroundThatDoesNotWait(t *testing.T) {
	asked := 0
	m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) { asked++; return "", nil }, func(m *contract.Matrix) { m.Trials = 4 })
	entered := make(chan func() *contract.CellReport, 4)
	r := run(t, m, &contract.RunOptions{Workers: 1, Harness: contract.Harness{Around: func(c contract.Cell, cell func(contract.Bubble) *contract.CellReport) {
		begun := make(chan struct{})
		call := func() *contract.CellReport {
			return cell(func(run func()) error { close(begun); return bubble(t)(run) })
		}
		if c.Trial%2 == 0 {
			entered <- call
			return
		}
		go call()
		<-begun
	}}})
	assert.Equal(t, []contract.CellState{contract.Held, contract.NotRun, contract.Held, contract.NotRun}, states(r))
	assert.Equal(t, contract.NotRun, (<-entered)().State, "too late: it does not run any more")
	assert.Equal(t, 2, asked)
}

func TestBubblesThatDoNotRunTheCellOnce(t *testing.T) {
	for _, tc := range []struct {
		reason string
		bubble contract.Bubble
		want   contract.CellState
		why    string
	}{
		{"the cell was not run: no vacuous pass", func(func()) error { return nil }, contract.Inconclusive, "the bubble did not run the cell to its end"},
		{"it panics", func(func()) error { panic("boom") }, contract.Inconclusive, "the bubble failed: panic: boom"},
		{"it fails before the cell", func(func()) error { return errDown }, contract.Inconclusive, "the bubble did not run the cell: the clock is down"},
		{"a cell runs once", func(run func()) error { return bubble(t)(func() { run(); run() }) }, contract.Held, ""},
	} {
		m := matrix(t, tellsTime)
		r := run(t, m, &contract.RunOptions{Harness: contract.Harness{Around: func(_ contract.Cell, cell func(contract.Bubble) *contract.CellReport) { cell(tc.bubble) }}})
		assert.Equal(t, tc.want, r.Cells[0].State, tc.reason)
		assert.Equal(t, tc.why, r.Cells[0].Why, tc.reason)
		assert.False(t, r.Cells[0].Abandoned, tc.reason)
	}
}

// A bubble that begins after its cell was judged calls no agent.
func TestBubblesThatBeginTooLate(t *testing.T) {
	asked := 0
	var late func()
	m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) { asked++; return "", nil })
	r := run(t, m, &contract.RunOptions{Harness: contract.Harness{Around: func(_ contract.Cell, cell func(contract.Bubble) *contract.CellReport) {
		cell(func(run func()) error { late = run; return nil })
	}}})
	assert.Equal(t, []contract.CellState{contract.Inconclusive}, states(r))
	_ = bubble(t)(late)
	assert.Zero(t, asked)
}
