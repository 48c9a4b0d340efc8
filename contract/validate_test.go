package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

func TestValidate(t *testing.T) {
	rule := func(r chaos.Rule) func(*contract.Matrix) {
		return func(m *contract.Matrix) {
			m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "bad", Rules: []chaos.Rule{r}})
		}
	}
	inv := func(change func(*contract.Invariant)) func(*contract.Matrix) {
		return func(m *contract.Matrix) { change(&m.Invariants[0]) }
	}
	for _, tc := range []struct {
		reason string
		change func(*contract.Matrix)
		want   string
	}{
		{"there must be a world", func(m *contract.Matrix) { m.NewWorld = nil },
			"contract: NewWorld is missing, and so is World; allowed: exactly one of NewWorld and World"},
		{"each scenario needs one", func(m *contract.Matrix) {
			m.NewWorld = nil
			m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "own", NewWorld: fresh(t, tellsTime)})
		}, "contract: Scenarios[0].NewWorld is missing, and the matrix has neither NewWorld nor World; allowed: a function, or worlds of the matrix"},
		{"a reset without a shared world", func(m *contract.Matrix) {
			m.Scenarios[0].NewWorld, m.NewWorld = m.NewWorld, nil
			m.Reset = func(context.Context) error { return nil }
		}, "contract: Reset is set without World; allowed: only with World: a fresh world needs no reset"},
		{"a baseline for each prompt", func(m *contract.Matrix) {
			m.Scenarios[0].Prompts, m.Scenarios[0].Baselines = []string{"a", "b"}, []string{"A"}
		}, "contract: Scenarios[0].Baselines is a list of 1; allowed: as many as its Prompts, which are 2, or none"},
		{"baselines are those of the scenario's own prompts", func(m *contract.Matrix) { m.Scenarios[0].Baselines = []string{"A"} },
			"contract: Scenarios[0].Baselines is a list of 1; allowed: as many as its Prompts, which are 0, or none"},
		{"an unknown layer", func(m *contract.Matrix) { m.Scenarios[0].Layer = "tools" },
			`contract: Scenarios[0].Layer is "tools"; allowed: a layer of package chaos, or empty`},
		{"two kinds of worlds contradict each other", func(m *contract.Matrix) { m.World = &contract.World{Agent: tellsTime} },
			"contract: NewWorld is set, and so is World; allowed: exactly one of NewWorld and World"},
		{"a reset of a fresh world would never run", func(m *contract.Matrix) { m.Reset = func(context.Context) error { return nil } },
			"contract: Reset is set without World; allowed: only with World: a fresh world needs no reset"},
		{"a shared world needs an agent", func(m *contract.Matrix) { m.NewWorld, m.World = nil, &contract.World{} },
			"contract: World.Agent is nil; allowed: an agent"},
		{"no scenario, no cell: an empty matrix is no pass", func(m *contract.Matrix) { m.Scenarios = nil },
			"contract: Scenarios is empty; allowed: at least one, such as Calm()"},
		{"no invariant, no cell", func(m *contract.Matrix) { m.Invariants = nil },
			"contract: Invariants is empty; allowed: at least one"},
		{"nothing to ask", func(m *contract.Matrix) { m.Prompts = nil },
			`contract: Prompts is empty, and invariant "held" has no probes; allowed: at least one, or probes in every invariant, or prompts in every scenario`},
		{"trials are counted", func(m *contract.Matrix) { m.Trials = -1 },
			"contract: Trials is -1; allowed: 1 or more, or 0 for 1"},
		{"a time-out has passed before it began", func(m *contract.Matrix) { m.Timeout = -time.Second },
			"contract: Timeout is -1s; allowed: a duration of 0 (none) or more"},
		{"a point needs a name", func(m *contract.Matrix) { m.Points = []string{"model", ""} },
			`contract: Points[1] is ""; allowed: the name of an injection point`},
		{"a subtest's name cannot hold a slash", func(m *contract.Matrix) { m.Scenarios[0].Name = "a/b" },
			`contract: Scenarios[0].Name is "a/b"; allowed: one or more letters, digits, '.', '_' and '-'`},
		{"nor be empty", inv(func(i *contract.Invariant) { i.Name = "" }),
			`contract: Invariants[0].Name is ""; allowed: one or more letters, digits, '.', '_' and '-'`},
		{"two scenarios of one name are one subtest", func(m *contract.Matrix) { m.Scenarios = append(m.Scenarios, contract.Calm()) },
			`contract: Scenarios[1].Name is "calm"; allowed: a name of its own: number 0 has this one`},
		{"two invariants of one name are one subtest", func(m *contract.Matrix) { m.Invariants = append(m.Invariants, m.Invariants[0]) },
			`contract: Invariants[1].Name is "held"; allowed: a name of its own: number 0 has this one`},
		{"a severity nobody chose is not low", inv(func(i *contract.Invariant) { i.Severity = 0 }),
			`contract: Invariants[0].Severity is Severity(0); allowed: Critical, High, Medium or Low`},
		{"an unknown severity is not critical", inv(func(i *contract.Invariant) { i.Severity = 9 }),
			`contract: Invariants[0].Severity is Severity(9); allowed: Critical, High, Medium or Low`},
		{"an invariant without a check holds always", inv(func(i *contract.Invariant) { i.Check = nil }),
			`contract: Invariants[0].Check is nil; allowed: a function`},
		{"a constructor's problem is told instead", inv(func(i *contract.Invariant) { i.Check, i.Err = nil, errors.New("invariant: no word") }),
			`contract: Invariants[0] is "held": invariant: no word`},
		{"an unknown Applies", inv(func(i *contract.Invariant) { i.Applies = 5 }),
			`contract: Invariants[0].Applies is 5; allowed: Always, ToolFaults, LLMFaults, AnyFault, NoFault`},
		{"unknown Needs", inv(func(i *contract.Invariant) { i.Needs = 16 }),
			`contract: Invariants[0].Needs is 16; allowed: a combination of NeedBaseline, NeedState, NeedResults and NeedCalm`},
		{"a baseline that nobody compares with", inv(func(i *contract.Invariant) { i.Baseline = "noon" }),
			`contract: Invariants[0].Baseline is "noon"; allowed: a baseline only with NeedBaseline in Needs`},
		{"an invariant that is never asked", inv(func(i *contract.Invariant) { i.Applies = contract.ToolFaults }),
			`contract: Invariants[0].Applies is "ToolFaults"; allowed: a value that holds in at least one scenario: this invariant would never be asked`},
		{"a rule without a fault", rule(chaos.Rule{Target: "clock"}),
			`contract: Scenarios[1].Rules: chaos: rule "#0": Fault: is missing; allowed: a fault, such as fault.Fail(err)`},
		{"a rule with a broken glob", rule(chaos.Rule{Name: "r", Target: "[", Fault: fails{}}),
			`contract: Scenarios[1].Rules: chaos: rule "r": Target`},
	} {
		m := matrix(t, tellsTime, tc.change)
		err := m.Validate()
		require.Error(t, err, tc.reason)
		assert.Contains(t, err.Error(), tc.want, tc.reason)
		var field *contract.FieldError
		assert.ErrorAs(t, err, &field, tc.reason)
		assert.Empty(t, m.Cells(), "%s: an invalid matrix has no cells", tc.reason)
		_, runErr := m.Run(t.Context(), nil)
		assert.EqualError(t, runErr, err.Error(), "%s: Run says the same", tc.reason)
	}
	assert.NoError(t, matrix(t, tellsTime).Validate(), "the matrix that the rows change is valid")
}

// A matrix without any world has one problem, not one for each scenario besides.
func TestNoWorldAtAllIsOneProblem(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.NewWorld, m.Scenarios = nil, append(m.Scenarios, stormy())
	})
	assert.EqualError(t, m.Validate(), "contract: NewWorld is missing, and so is World; allowed: exactly one of NewWorld and World")
}

func TestValidateJoinsAllProblems(t *testing.T) {
	m := &contract.Matrix{
		Trials: -1, Timeout: -1,
		Scenarios:  []contract.Scenario{{Name: "", Rules: []chaos.Rule{{Target: "x"}, {Target: "", Fault: fails{}, Limit: -1}}}},
		Invariants: []contract.Invariant{{Name: "a"}, {Name: "a", Severity: contract.Low}},
	}
	err := m.Validate()
	for _, part := range []string{"NewWorld", "Trials", "Timeout", "Scenarios[0].Name", `rule "#0": Fault`, `rule "#1": Target`, `rule "#1": Limit`,
		"Invariants[0].Severity", "Invariants[0].Check", "Invariants[1].Name", "Invariants[1].Check", "Prompts"} {
		assert.ErrorContains(t, err, part)
	}
}

func TestNilMatrix(t *testing.T) {
	var m *contract.Matrix
	assert.EqualError(t, m.Validate(), "contract: Matrix is nil; allowed: a matrix")
	assert.Empty(t, m.Cells())
	_, err := m.Run(t.Context(), nil)
	assert.Error(t, err)
	_, err = m.RunCell(t.Context(), contract.Cell{}, nil)
	assert.Error(t, err)
	_, err = (&contract.Matrix{}).Run(t.Context(), nil)
	assert.Error(t, err, "the zero matrix")
}

func TestRunOptionsAreChecked(t *testing.T) {
	m := matrix(t, tellsTime)
	_, err := m.Run(t.Context(), &contract.RunOptions{Workers: -1, Watchdog: -time.Second, Keep: 9})
	for _, want := range []string{
		"contract: RunOptions.Workers is -1; allowed: 1 or more, or 0 for GOMAXPROCS",
		"contract: RunOptions.Watchdog is -1s; allowed: a duration above 0, or 0 for five minutes",
		"contract: RunOptions.Keep is 9; allowed: KeepBroken, KeepAll, KeepNone or KeepCounts",
	} {
		assert.ErrorContains(t, err, want)
	}
	var none context.Context
	_, err = m.Run(none, nil)
	assert.EqualError(t, err, "contract: ctx is nil; allowed: a context")
	for _, o := range []*contract.RunOptions{nil, {}} {
		assert.Equal(t, []contract.CellState{contract.Held}, states(run(t, m, o)), "nil and zero options work")
	}
}

// TestToolFaultsNeedTools covers what can be found only with a world, and
// before the agent is called even once.
func TestToolFaultsNeedTools(t *testing.T) {
	const supply = "faults on tools need an explicit list of callables or a tool registry: supply World.Tools " +
		"(chaos.NewRegistry makes one of Go functions), or declare wrapped functions, streams and transports in Matrix.Points"
	storm := func(targets ...string) contract.Scenario {
		s := contract.Scenario{Name: "storm"}
		for _, target := range targets {
			s.Rules = append(s.Rules, chaos.Rule{Target: target, Fault: fails{}})
		}
		return s
	}
	for _, tc := range []struct {
		reason   string
		tools    chaos.ToolRegistry
		points   []string
		scenario contract.Scenario
		want     []string // nil: valid
	}{
		{"no registry at all", nil, nil, storm("clock"), []string{`rule "clock:contract_test.fails": Target is "clock": matches no known injection point`, "known: none", supply}},
		{"no registry, and a point of another name", nil, []string{"model"}, storm("clock"), []string{"known: model", supply}},
		{"a declared point needs no registry", nil, []string{"model"}, storm("mod*"), nil},
		{"a tool of the registry", clock(t), nil, storm("clock"), nil},
		{"a glob over the registry", clock(t), nil, storm("*"), nil},
		{"the listing of the registry is a point", clock(t), nil, storm(chaos.ListTarget), nil},
		{"a misspelt tool", clock(t), []string{"model"}, storm("clcok"), []string{`Target is "clcok": matches no known injection point`, "known: model, tools/list, clock"}},
		{"every problem at once", clock(t), nil, storm("a", "clock", "b"), []string{`Target is "a"`, `Target is "b"`}},
	} {
		asked := 0
		m := matrix(t, nil, func(m *contract.Matrix) {
			m.Scenarios = append(m.Scenarios, tc.scenario)
			m.Points, m.StrictPoints = tc.points, tc.tools != nil // without tools it makes no difference
			m.NewWorld = func(context.Context) (*contract.World, error) {
				return &contract.World{Tools: tc.tools, Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
					asked++
					return "", nil
				}}, nil
			}
		})
		require.NoError(t, m.Validate(), "%s: found only with a world", tc.reason)
		r, err := m.Run(t.Context(), &contract.RunOptions{Workers: 1})
		if tc.want == nil {
			assert.NoError(t, err, tc.reason)
			assert.Positive(t, asked, tc.reason)
			continue
		}
		assert.Nil(t, r, tc.reason)
		assert.Zero(t, asked, "%s: before the agent is called even once", tc.reason)
		for _, want := range tc.want {
			assert.ErrorContains(t, err, want, tc.reason)
		}
		var rule *chaos.RuleError
		assert.ErrorAs(t, err, &rule, tc.reason)
		_, err = m.RunCell(t.Context(), contract.Cell{Scenario: "storm", Invariant: "held", Trial: 1}, nil)
		assert.Error(t, err, "%s: so for one cell", tc.reason)
	}
}

func TestTargetErrorsOfAllScenariosAreJoined(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.StrictPoints = true
		for _, name := range []string{"one", "two"} {
			m.Scenarios = append(m.Scenarios, contract.Scenario{Name: name, Rules: []chaos.Rule{{Target: name, Fault: fails{}}}})
		}
	})
	_, err := m.Run(t.Context(), nil)
	assert.ErrorContains(t, err, "contract: Scenarios[1].Rules")
	assert.ErrorContains(t, err, "contract: Scenarios[2].Rules")
}

// listing is a registry whose listing fails in some way.
type listing struct {
	chaos.ToolRegistry
	list func(context.Context) ([]chaos.Tool, error)
}

func (l listing) Tools(ctx context.Context) ([]chaos.Tool, error) { return l.list(ctx) }

// What user code returned, or panicked with, can be matched.
func TestFirstWorldFails(t *testing.T) {
	tools := func(list func(context.Context) ([]chaos.Tool, error)) func(context.Context) (*contract.World, error) {
		return func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: tellsTime, Tools: listing{list: list}}, nil
		}
	}
	for _, tc := range []struct {
		reason string
		fresh  func(context.Context) (*contract.World, error)
		want   string
		is     error // nil: none of the user's
	}{
		{"no world", func(context.Context) (*contract.World, error) { return nil, errDown }, "making the world: the clock is down", errDown},
		{"a nil world", func(context.Context) (*contract.World, error) { return nil, nil }, "making the world: it is nil", nil},
		{"a world without an agent", func(context.Context) (*contract.World, error) { return &contract.World{}, nil }, "making the world: it has no agent", nil},
		{"a panic", func(context.Context) (*contract.World, error) { panic(errDown) }, "making the world: panic: the clock is down", errDown},
		{"the end of its goroutine", func(context.Context) (*contract.World, error) { runtime.Goexit(); return nil, nil }, "making the world: ", contract.ErrFailNow},
		{"the listing fails", tools(func(context.Context) ([]chaos.Tool, error) { return nil, errDown }), "listing the tools: the clock is down", errDown},
		{"the listing panics", tools(func(context.Context) ([]chaos.Tool, error) { panic(errDown) }), "listing the tools: panic: the clock is down", errDown},
	} {
		m := matrix(t, nil, func(m *contract.Matrix) { m.NewWorld = tc.fresh })
		for _, o := range []*contract.RunOptions{nil, virtual(t)} {
			r, err := m.Run(t.Context(), o)
			assert.Nil(t, r, tc.reason)
			_, alone := m.RunCell(t.Context(), m.Cells()[0], o)
			for _, err := range []error{err, alone} {
				assert.ErrorContains(t, err, "contract: the first world: "+tc.want, tc.reason)
				if tc.is != nil {
					assert.ErrorIs(t, err, tc.is, tc.reason)
				}
				var p *contract.PanicError
				assert.Equal(t, strings.Contains(tc.want, "panic: "), errors.As(err, &p), tc.reason)
			}
		}
	}
}

func TestHugeMatrixNeedsNoListToBeChecked(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) { m.Trials = 1_000_000_000 })
	assert.NoError(t, m.Validate())
	c, err := m.RunCell(t.Context(), contract.Cell{Scenario: "calm", Invariant: "held", Trial: 1_000_000_000}, nil)
	require.NoError(t, err)
	assert.Equal(t, contract.Held, c.State)
}

func TestCellsOfJSON(t *testing.T) {
	text, err := json.Marshal(contract.Cell{Scenario: "calm", Invariant: "held", Trial: 2})
	require.NoError(t, err)
	assert.JSONEq(t, `{"scenario":"calm","invariant":"held","trial":2}`, string(text))
}

func TestAMatrixOfAbsurdSizeIsRefused(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) { m.Trials = math.MaxInt })
	assert.ErrorContains(t, m.Validate(), fmt.Sprintf("Trials is %d; allowed: at most", math.MaxInt))
}

// A target of an invariant that matches no tool and no declared point gives a warning.
func TestInvariantsThatLookForNothingAreWarnedOf(t *testing.T) {
	m := matrix(t, tellsTime, func(m *contract.Matrix) {
		m.Points = []string{"mail.send"}
		m.Invariants[0].Targets = []string{"clock", "mail.*", "clokc"}
	})
	r := run(t, m, nil)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], `looks for calls of "clokc"`)
}
