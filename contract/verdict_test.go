package contract_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
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
	unsure := undecides(contract.Critical)
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
	assert.Equal(t, scoring.Inconclusive, r.Score.Verdict, "the others may break")
	assert.Equal(t, "nothing broke in 1 of 4 cells", r.Score.Why)
	assert.True(t, r.Partial())
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

// The report counts the deliveries of every rule. An answer counts once, however
// many invariants judged it.
func TestFaultsAreCountedPerRule(t *testing.T) {
	holds := func(context.Context, *contract.Observation) error { return nil }
	matrix := &contract.Matrix{
		NewWorld: fresh(t, tellsTime),
		Prompts:  []string{"What time is it?", "And now?"},
		Invariants: []contract.Invariant{
			{Name: "a", Severity: contract.High, JudgesErrors: true, Check: holds},
			{Name: "b", Severity: contract.High, JudgesErrors: true, Check: holds},
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "storm", Rules: []chaos.Rule{
				{Name: "down", Target: "clock", Fault: fails{}},
				{Name: "idle", Target: "clock", When: ordinal(0), Fault: idles{}},
				{Name: "late", Target: "clock", When: ordinal(9), Fault: fails{}},
			}},
			{Name: "lull", AllowUndelivered: true, Rules: []chaos.Rule{{Name: "idle", Target: "clock", When: ordinal(1), Fault: idles{}}}},
		},
		Trials: 3,
	}
	for _, tt := range []struct {
		share bool
		runs  int
	}{{false, 6}, {true, 3}} {
		matrix.ShareObservations = tt.share
		r, err := matrix.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepCounts, Workers: 3})
		require.NoError(t, err)
		for i := range r.Faults {
			acted := r.Faults[i].Delivered+r.Faults[i].Undelivered > 0
			assert.Equal(t, acted, r.Faults[i].Fault != "", "known by its events alone: these faults do not describe themselves")
			r.Faults[i].Fault = ""
		}
		assert.Equal(t, []contract.FaultCount{
			{Scenario: "storm", Rule: "down", Target: "clock", Cells: tt.runs, Delivered: 2 * tt.runs},
			{Scenario: "storm", Rule: "idle", Target: "clock"},
			{Scenario: "storm", Rule: "late", Target: "clock"},
			{Scenario: "lull", Rule: "idle", Target: "clock", Undelivered: tt.runs},
		}, r.Faults, "share: %v; the idle rule of the storm is masked by the failure", tt.share)
	}
}

var errMiss = errors.New("tape: no answer to request 3")

// unsound is a world whose Err is errMiss once its agent has got one of the prompts.
func unsound(agent contract.Agent, prompts ...string) func(context.Context) (*contract.World, error) {
	return func(context.Context) (*contract.World, error) {
		var missed atomic.Bool
		return &contract.World{
			Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				if slices.Contains(prompts, prompt) {
					missed.Store(true)
				}
				return agent(ctx, prompt, tools)
			},
			Err: func() error {
				if missed.Load() {
					return errMiss
				}
				return nil
			},
		}, nil
	}
}

// TestWorldErr: an answer that does not count decides nothing, whatever it is. The
// answers before it count.
func TestWorldErr(t *testing.T) {
	says := func(answer string, err error) contract.Agent {
		return func(context.Context, string, chaos.ToolRegistry) (string, error) { return answer, err }
	}
	breaksAt := func(prompt string) contract.Invariant {
		return verdicts("at-"+prompt, map[string]error{prompt: errors.New("broken")})
	}
	judging := contains("noon", contract.High, "noon")
	judging.JudgesErrors = true
	for _, tc := range []struct {
		why   string
		world func(context.Context) (*contract.World, error)
		inv   contract.Invariant
		all   bool // ShareObservations
		state contract.CellState
		text  string
	}{
		{"the check would hold", unsound(says("noon", nil), "b"), judging, false, contract.Inconclusive, errMiss.Error()},
		{"the check would break", unsound(says("ten", nil), "a"), judging, false, contract.Inconclusive, errMiss.Error()},
		{"the agent failed", unsound(says("", errDown), "a"), holds("held", contract.High), false, contract.Inconclusive, errMiss.Error()},
		{"the agent panicked", unsound(func(context.Context, string, chaos.ToolRegistry) (string, error) { panic("boom") }, "a"),
			holds("held", contract.High), false, contract.Inconclusive, errMiss.Error()},
		{"all answers count", unsound(says("noon", nil)), judging, false, contract.Held, ""},
		{"an earlier answer broke it, and the later prompt was not sent", unsound(says("", nil), "b"), breaksAt("a"), false, contract.Broken, "broken"},
		{"an earlier answer broke it, and the later prompt was sent", unsound(says("", nil), "b"), breaksAt("a"), true, contract.Broken, "broken"},
		{"the answer that would break it does not count", unsound(says("", nil), "b"), breaksAt("b"), true, contract.Inconclusive, errMiss.Error()},
		{"Err panics", func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: says("noon", nil), Err: func() error { panic("boom") }}, nil
		}, judging, false, contract.Inconclusive, "asking World.Err: panic: boom"},
		{"Err ends its goroutine", func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: says("noon", nil), Err: func() error { runtime.Goexit(); return nil }}, nil
		}, judging, false, contract.Inconclusive, "asking World.Err: " + contract.ErrFailNow.Error()},
		{"Err never returns", func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: says("noon", nil), Err: func() error { select {} }}, nil
		}, judging, false, contract.Inconclusive, "no end after 720h0m0s of virtual time, while asking World.Err"},
		{"the agent left a goroutine behind", unsound(func(context.Context, string, chaos.ToolRegistry) (string, error) {
			go func() { select {} }()
			return "noon", nil
		}, "a"), judging, false, contract.Inconclusive, errMiss.Error()},
	} {
		r := run(t, matrix(t, nil, func(m *contract.Matrix) {
			m.NewWorld, m.Prompts, m.Invariants, m.ShareObservations = tc.world, []string{"a", "b"}, []contract.Invariant{tc.inv}, tc.all
		}), virtual(t))
		assert.Equal(t, tc.state, r.Cells[0].State, tc.why)
		assert.Equal(t, tc.text, r.Cells[0].Why, tc.why)
		assert.False(t, r.Cells[0].Undecided, "%s: no check said so", tc.why)
	}
}

// TestWorldErrEvidence: a report shows the answer that did not count.
func TestWorldErrEvidence(t *testing.T) {
	agent := func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
		return "re " + prompt, nil
	}
	r := run(t, matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.Prompts = unsound(agent, "b"), []string{"a", "b", "c"}
	}), nil)
	assert.Equal(t, "re b", r.Cells[0].Evidence.Response)
}

// TestWorldErrWithSharedObservations: a run that several invariants judge is lost for
// all that no earlier answer broke. Those with other prompts have another run.
func TestWorldErrWithSharedObservations(t *testing.T) {
	agent := func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) { return prompt, nil }
	first, probing := contains("wants-b", contract.High, "b"), holds("probing", contract.High)
	probing.Probes = []string{"c"}
	r := run(t, matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.Prompts, m.ShareObservations = unsound(agent, "b"), []string{"a", "b"}, true
		m.Invariants = []contract.Invariant{first, holds("held", contract.High), probing}
	}), nil)
	assert.Equal(t, []contract.CellState{contract.Broken, contract.Inconclusive, contract.Held}, states(r))
}

// TestWorldErrInACalmRun: what did not count is no baseline.
func TestWorldErrInACalmRun(t *testing.T) {
	agent := func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) { return prompt, nil }
	for _, tc := range []struct {
		why     string
		prompts []string
		state   contract.CellState
		text    string
	}{
		{"its prompt did not count", []string{"b"}, contract.Inconclusive, "contract: undecided: no baseline: " + errMiss.Error()},
		{"a later prompt did not count", []string{"a", "b"}, contract.Inconclusive, "contract: undecided: no baseline: " + errMiss.Error()},
		{"all counted", []string{"a", "c"}, contract.Held, ""},
	} {
		inv := holds("same", contract.High)
		inv.Needs = contract.NeedBaseline
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.Prompts, m.Invariants = tc.prompts, []contract.Invariant{inv}
			m.NewWorld = func(ctx context.Context) (*contract.World, error) {
				if c, _ := contract.CellOf(ctx); c.Trial > 0 { // its cells have sound worlds
					return &contract.World{Agent: agent}, nil
				}
				return unsound(agent, "b")(ctx)
			}
		})
		r := run(t, m, nil)
		assert.Equal(t, tc.state, r.Cells[0].State, tc.why)
		assert.Equal(t, tc.text, r.Cells[0].Why, tc.why)
	}
}

// TestWorldErrInTheStateProbe: two runs that did not count are not compared.
func TestWorldErrInTheStateProbe(t *testing.T) {
	n := 0
	r := run(t, matrix(t, nil, func(m *contract.Matrix) {
		m.NewWorld, m.World = nil, &contract.World{
			Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) { return "noon", nil },
			Err:   func() error { n++; return errMiss },
		}
	}), nil)
	assert.Equal(t, []contract.CellState{contract.Inconclusive}, states(r))
	assert.Equal(t, []string{"The state probe found out nothing, because World.Err reported an error: " + errMiss.Error()}, r.Warnings)
	assert.Equal(t, 3, n, "asked after each answer: two of the probe, one of the cell")
}
