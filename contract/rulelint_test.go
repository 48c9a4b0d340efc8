package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// clockAndBell is a registry of two tools.
func clockAndBell(t testing.TB) chaos.ToolRegistry {
	t.Helper()
	noon := func(context.Context, struct{}) (string, error) { return "noon", nil }
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, noon), chaos.Func(chaos.Tool{Name: "bell"}, noon))
	require.NoError(t, err)
	return tools
}

// calling is an agent that calls the clock n times, and again after a failure if it
// retries.
func calling(n int, retries bool) contract.Agent {
	return func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		for range n {
			_, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
			if err != nil && retries {
				_, _ = tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
			}
		}
		return "done", nil
	}
}

func down(name, target string, w chaos.When) chaos.Rule {
	return chaos.Rule{Name: name, Target: target, When: w, Fault: fault.Fail(fault.ErrUnavailable)}
}

// odd is a trigger that describes nothing.
type odd struct{}

func (odd) Match(chaos.Call) bool { return false }

// ruleMatrix has one scenario with the rules, after a calm one.
func ruleMatrix(t testing.TB, agent contract.Agent, rules ...chaos.Rule) *contract.Matrix {
	return matrix(t, agent, func(m *contract.Matrix) {
		tools := clockAndBell(t)
		m.NewWorld = func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: agent, Tools: tools}, nil
		}
		m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "s", Rules: rules})
	})
}

// TestWarningsAboutRules: what package lint finds, and what the calm runs show. All
// that is warned of is true, and where it is not known there is no warning.
func TestWarningsAboutRules(t *testing.T) {
	onlyStormy := func(m *contract.Matrix) { m.Scenarios = m.Scenarios[1:] }
	for _, tc := range []struct {
		why    string
		agent  contract.Agent
		rules  []chaos.Rule
		change func(*contract.Matrix)
		want   []string
	}{
		{"a trigger that matches no call at all", calling(2, false), []chaos.Rule{down("r", "clock", when.All(when.First(1), when.After(5)))}, nil,
			[]string{"Rule r of scenario s: the trigger matches no call."}},
		{"a text by which a model knows the test", calling(2, false),
			[]chaos.Rule{{Name: "r", Target: "clock", Fault: fault.Fail(errors.New("Injected fault"))}}, nil,
			[]string{`Rule r of scenario s: the text "Injected fault" contains "Injected", by which a model may know that this is a test.`}},
		{"the third call of two", calling(2, false), []chaos.Rule{down("r", "clock", when.Nth(3))}, nil,
			[]string{"Rule r of scenario s can never match: in 1 calm run the agent called clock twice at most."}},
		{"the second of two", calling(2, false), []chaos.Rule{down("r", "clock", when.Nth(2))}, nil, nil},
		{"the second of one, over three trials", calling(1, false), []chaos.Rule{down("r", "clock", when.After(1))},
			func(m *contract.Matrix) { m.Trials = 3 },
			[]string{"Rule r of scenario s can never match: in 3 calm runs the agent called clock once at most."}},
		{"calls count over all prompts of a run", calling(2, false), []chaos.Rule{down("r", "clock", when.Nth(3)), down("q", "clock", when.Nth(5))},
			func(m *contract.Matrix) { m.Prompts = []string{"a", "b"} },
			[]string{"Rule q of scenario s matched no call: in 1 calm run the agent called clock 4 times at most."}},
		{"a tool that is not called", calling(2, false), []chaos.Rule{down("r", "bell", nil)}, nil,
			[]string{"Rule r of scenario s can never match: in 1 calm run the agent did not call bell."}},
		{"a glob over tools that are not called", calling(2, false), []chaos.Rule{down("r", "b*", nil)}, nil,
			[]string{"Rule r of scenario s can never match: in 1 calm run the agent called no target of b*."}},
		{"a glob over one that is called too rarely", calling(2, false), []chaos.Rule{down("r", "{clock,bell}", when.Every(3))}, nil,
			[]string{"Rule r of scenario s can never match: in 1 calm run the agent called any one target of {clock,bell} twice at most."}},
		{"a retry that another rule brings about", calling(2, true), []chaos.Rule{down("first", "clock", when.First(1)), down("third", "clock", when.Nth(3))}, nil, nil},
		{"no retry, though another rule matches", calling(2, false), []chaos.Rule{down("first", "clock", when.First(1)), down("third", "clock", when.Nth(3))}, nil,
			[]string{"Rule third of scenario s matched no call: in 1 calm run the agent called clock twice at most."}},
		{"two rules that both come too late", calling(1, false), []chaos.Rule{down("second", "clock", when.Nth(2)), down("third", "clock", when.Nth(3))}, nil,
			[]string{"Rule second of scenario s can never match: in 1 calm run the agent called clock once at most.",
				"Rule third of scenario s can never match: in 1 calm run the agent called clock once at most."}},
		{"chance may match", calling(1, false), []chaos.Rule{down("r", "clock", when.Prob(1e-9))}, nil, nil},
		{"a trigger of the user's own may match", calling(1, false), []chaos.Rule{down("r", "clock", odd{})}, nil, nil},
		{"the calls of a group count together", calling(1, false),
			[]chaos.Rule{{Name: "r", Target: "{clock,bell}", Group: "g", When: when.Nth(2), Fault: fault.Partition()}}, nil, nil},
		{"there is no calm run", calling(1, false), []chaos.Rule{down("r", "clock", when.Nth(2))}, onlyStormy, nil},
		{"there is one, for a baseline", calling(1, false), []chaos.Rule{down("r", "clock", when.Nth(2))}, func(m *contract.Matrix) {
			onlyStormy(m)
			m.Invariants[0].Needs = contract.NeedBaseline
		}, []string{"Rule r of scenario s can never match: in 1 calm run the agent called clock once at most."}},
		{"there are two, of the state probe", calling(1, false), []chaos.Rule{down("r", "clock", when.Nth(2))}, func(m *contract.Matrix) {
			onlyStormy(m)
			m.NewWorld, m.World = nil, &contract.World{Agent: calling(1, false), Tools: clockAndBell(t)}
		}, []string{"Rule r of scenario s can never match: in 2 calm runs the agent called clock once at most."}},
		{"the probe sends one prompt of two", calling(1, false), []chaos.Rule{down("r", "clock", when.Nth(3))}, func(m *contract.Matrix) {
			onlyStormy(m)
			m.Prompts = []string{"a", "b"}
			m.NewWorld, m.World = nil, &contract.World{Agent: calling(1, false), Tools: clockAndBell(t)}
		}, nil},
		{"the calm cell ended with its first prompt", calling(1, false), []chaos.Rule{down("r", "clock", when.Nth(3))}, func(m *contract.Matrix) {
			m.Prompts, m.Invariants[0] = []string{"a", "b"}, contains("held", contract.Low, "never said")
		}, nil},
		{"another prompt list of the scenario has no calm run", calling(1, false), []chaos.Rule{down("r", "clock", when.Nth(3))}, func(m *contract.Matrix) {
			probed := holds("probed", contract.Low)
			probed.Probes, probed.Applies = []string{"c", "d"}, contract.AnyFault
			m.Invariants = append(m.Invariants, probed)
		}, nil},
		{"the longest of its prompt lists counts", calling(1, false), []chaos.Rule{down("r", "clock", when.Nth(3))}, func(m *contract.Matrix) {
			probed := holds("probed", contract.Low)
			probed.Probes = []string{"c", "d"}
			m.Invariants = append(m.Invariants, probed)
		}, []string{"Rule r of scenario s can never match: in 2 calm runs the agent called clock twice at most."}},
	} {
		for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
			m := ruleMatrix(t, tc.agent, tc.rules...)
			if tc.change != nil {
				tc.change(m)
			}
			if m.World != nil && name == "bubbles" {
				continue
			}
			assert.Equal(t, tc.want, run(t, m, o).Warnings, "%s in %s", tc.why, name)
		}
	}
}

// TestWarningsAboutCallsOfLanes: each lane counts its own calls.
func TestWarningsAboutCallsOfLanes(t *testing.T) {
	agent := func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		for _, lane := range []string{"a", "b"} {
			if _, err := calling(2, false)(chaos.WithLane(ctx, lane), prompt, tools); err != nil {
				return "", err
			}
		}
		return "done", nil
	}
	r := run(t, ruleMatrix(t, agent, down("r", "clock", when.Nth(3))), nil)
	assert.Equal(t, []string{"Rule r of scenario s can never match: in 1 calm run the agent called clock twice at most in one lane."}, r.Warnings)
}

// TestCallsByAnotherNameAreNotMissed: rules match a point by its alias too, which
// no event has.
func TestCallsByAnotherNameAreNotMissed(t *testing.T) {
	model := chaos.WrapWith("api#small", func(context.Context, string) (string, error) { return "hello", nil }, &chaos.WrapOptions[string]{Alias: "api"})
	agent := func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		_, err := model(ctx, prompt)
		return "done", errors.Join(err, ctx.Err())
	}
	points := func(m *contract.Matrix) *contract.Matrix {
		m.Points = []string{"api", "api#small"}
		m.Invariants[0].JudgesErrors = true
		return m
	}
	for _, w := range []chaos.When{nil, when.Nth(1), when.Nth(2)} {
		r := run(t, points(ruleMatrix(t, agent, down("r", "api", w))), nil)
		assert.Empty(t, r.Warnings, "how often it is called is not known")
	}
	r := run(t, points(ruleMatrix(t, agent, down("r", "clock", nil))), nil)
	assert.Equal(t, []string{"Rule r of scenario s can never match: in 1 calm run the agent did not call clock."}, r.Warnings,
		"a tool has no other name")
}

// TestCallsThatDidNotEndAreNotMissed: the log of a run does not have them. Each world
// has a tool of its own, so that an agent waits for its own call.
func TestCallsThatDidNotEndAreNotMissed(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	world := func(context.Context) (*contract.World, error) {
		begun := make(chan struct{}, 9)
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(context.Context, struct{}) (string, error) {
			begun <- struct{}{}
			<-release
			return "noon", nil
		}))
		agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			go func() { _, _ = tools.CallTool(ctx, "clock", json.RawMessage(`{}`)) }()
			<-begun
			return "done", nil
		}
		return &contract.World{Agent: agent, Tools: tools}, err
	}
	m := ruleMatrix(t, nil, down("r", "clock", when.Nth(2)))
	m.NewWorld = world
	assert.Empty(t, run(t, m, nil).Warnings)
}

// TestNoWarningsAboutCallsOfAPartialRun: the cells that are missing may show more.
func TestNoWarningsAboutCallsOfAPartialRun(t *testing.T) {
	m := ruleMatrix(t, calling(1, false), down("r", "clock", when.Nth(2)))
	r := run(t, m, &contract.RunOptions{Harness: contract.Harness{Around: func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) {
		if c.Scenario == "calm" {
			run(nil)
		}
	}}})
	assert.Empty(t, r.Warnings)
}

// TestWarningThatARuleCanNeverMatchIsRight: for a scenario of one rule that counts,
// it is there exactly if no call of the agent matches, by asking the trigger itself.
func TestWarningThatARuleCanNeverMatchIsRight(t *testing.T) {
	n := rapid.IntRange(1, 5)
	leaf := rapid.Custom(func(t *rapid.T) chaos.When {
		a, b := n.Draw(t, "a"), n.Draw(t, "b")
		return rapid.SampledFrom([]chaos.When{when.Always(), when.Nth(a, b), when.First(a), when.After(a), when.Every(a),
			when.Burst(a, b), when.Intermittent(a, b), when.Late(a + 2), when.Mid(a + 2)}).Draw(t, "leaf")
	})
	trigger := rapid.Custom(func(t *rapid.T) chaos.When {
		x, y := leaf.Draw(t, "x"), leaf.Draw(t, "y")
		return rapid.SampledFrom([]chaos.When{x, when.All(x, y), when.Any(x, y), when.Not(x),
			when.Stages(when.Stage{Calls: n.Draw(t, "calls"), When: x}, when.Stage{When: y})}).Draw(t, "trigger")
	})
	rapid.Check(t, func(rt *rapid.T) {
		w, calls, retries := trigger.Draw(rt, "when"), n.Draw(rt, "calls"), rapid.Bool().Draw(rt, "retries")
		matches := false
		for ordinal := range calls {
			matches = matches || w.Match(chaos.Call{Target: "clock", Ordinal: uint64(ordinal)})
		}
		matrix := ruleMatrix(t, calling(calls, retries), down("r", "clock", w))
		matrix.Scenarios[1].AllowUndelivered = true
		r, err := matrix.Run(t.Context(), &contract.RunOptions{Workers: 1})
		if err != nil {
			rt.Fatal(err)
		}
		warned := slices.ContainsFunc(r.Warnings, func(text string) bool {
			return strings.Contains(text, "can never match") || strings.Contains(text, "the trigger matches no call")
		})
		if warned == matches || matches != (r.Faults[0].Delivered > 0) {
			rt.Fatalf("warned %v of %v; it matches %v, delivered %d", warned, w.(chaos.Described).Describe(), matches, r.Faults[0].Delivered)
		}
	})
}

// TestRuleThatMatchesInACellIsNotWarnedOf: an agent that behaves otherwise in later
// runs refutes what its calm runs show, for the other rules too.
func TestRuleThatMatchesInACellIsNotWarnedOf(t *testing.T) {
	runs := 0
	agent := func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		runs++ // the calm cell is the first
		return calling(runs, false)(ctx, prompt, tools)
	}
	m := ruleMatrix(t, agent, down("second", "clock", when.Nth(2)), down("third", "clock", when.Nth(3)))
	assert.Equal(t, []string{"Rule third of scenario s matched no call: in 1 calm run the agent called clock once at most."},
		run(t, m, &contract.RunOptions{Workers: 1}).Warnings)
}
