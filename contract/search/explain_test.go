package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// errDown is what faults of these tests fail with.
var errDown = errors.New("down")

// A script is an agent of a test: it calls tools by name with a number.
type script func(call func(tool string, n int) error) string

// scripted is a matrix of an agent whose answer breaks the invariant if it is not "ok".
// Its tools are a to e, of which d does work.
func scripted(s script, scenarios ...contract.Scenario) *contract.Matrix {
	return &contract.Matrix{
		Prompts: []string{"go"}, Scenarios: scenarios, Seed: 7,
		NewWorld: func(context.Context) (*contract.World, error) {
			done := []int{}
			var tools []chaos.ToolFunc
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				tool := chaos.Tool{Name: name, Effect: chaos.EffectNone}
				if name == "d" {
					tool.Effect, tool.IdempotencyKey = chaos.EffectDone, "/id"
				}
				tools = append(tools, chaos.Func(tool, func(_ context.Context, in map[string]any) (int, error) {
					if name == "d" {
						done = append(done, int(in["n"].(float64)))
					}
					return int(in["n"].(float64)), nil
				}))
			}
			r, err := chaos.NewRegistry(tools...)
			return &contract.World{Tools: r, State: func(context.Context) (any, error) { return len(done), nil },
				Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
					return s(func(tool string, n int) error {
						_, err := tools.CallTool(ctx, tool, fmt.Appendf(nil, `{"n":%d}`, n))
						return err
					}), nil
				}}, err
		},
		Invariants: []contract.Invariant{
			{Name: "fine", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
				if o.Response != "ok" {
					return errors.New(o.Response)
				}
				return nil
			}},
			{Name: "once", Severity: contract.Critical, Needs: contract.NeedState,
				Check: func(_ context.Context, o *contract.Observation) error {
					if n := o.After.(int); n > 1 {
						return fmt.Errorf("the work was done %d times", n)
					}
					return nil
				}},
		},
	}
}

// setAgent gives the worlds of a matrix another agent.
func setAgent(m *contract.Matrix, agent contract.Agent) {
	world := m.NewWorld
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := world(ctx)
		w.Agent = agent
		return w, err
	}
}

// bubbled gives the runs a bubble of virtual time.
func bubbled(t *testing.T) contract.Harness {
	bubble := func(run func()) (err error) {
		defer func() {
			if v := recover(); v != nil { // goroutines were left behind
				err = fmt.Errorf("%v", v)
			}
		}()
		synctest.Test(t, func(*testing.T) { run() })
		return nil
	}
	return contract.Harness{
		Calm:   bubble,
		Around: func(_ contract.Cell, run func(contract.Bubble) *contract.CellReport) { run(bubble) },
		Rerun:  "rerun {scenario}/{invariant}/{trial}",
	}
}

// explained runs a matrix and explains what broke.
func explained(t *testing.T, m *contract.Matrix, o *Options) *contract.Report {
	t.Helper()
	run := contract.RunOptions{Harness: bubbled(t), Workers: o.Run.Workers}
	r, err := m.Run(t.Context(), &run)
	require.NoError(t, err)
	o.Run.Harness.Calm = run.Harness.Calm
	if !o.Budget.Set() {
		o.Budget.Runs = 2000
	}
	require.NoError(t, Explain(t.Context(), m, r, o))
	return r
}

// sentences are those of all defects, with what they break.
func sentences(r *contract.Report) (all []string) {
	for _, d := range r.Defects {
		s := d.Sentence
		for _, b := range d.Breaks {
			if !strings.HasSuffix(s, " → "+b.Invariant) { // at other targets
				s += " → " + b.Invariant
			}
		}
		all = append(all, s)
	}
	return all
}

func fails(target string, at chaos.When) chaos.Rule {
	return chaos.Rule{Target: target, When: at, Fault: fault.Fail(errDown)}
}

// each calls a to c with 1 to n, and returns which calls failed.
func each(call func(string, int) error, n int) map[string]bool {
	failed := map[string]bool{}
	for i := 1; i <= n; i++ {
		for _, tool := range []string{"a", "b", "c"} {
			if call(tool, i) != nil {
				failed[fmt.Sprint(tool, i)] = true
			}
		}
	}
	return failed
}

// breaksWith breaks when all these calls fail.
func breaksWith(n int, calls ...string) script {
	return func(call func(string, int) error) string {
		failed := each(call, n)
		for _, c := range calls {
			if !failed[c] {
				return "ok"
			}
		}
		return "bad"
	}
}

func TestKnownCulprits(t *testing.T) {
	all := contract.Under("all", fails("*", nil))
	for _, tc := range []struct {
		name      string
		agent     script
		scenario  contract.Scenario
		sentences []string
	}{
		{"one of many", breaksWith(5, "b3"), all, []string{"b fails → fine"}},
		{"two of many, at two targets", breaksWith(5, "a2", "c4"), all, []string{"a fails, then c fails → fine"}},
		{"without any fault", func(func(string, int) error) string { return "bad" }, contract.Calm(),
			[]string{"without any fault → fine"}},
		{"under faults, but without them too",
			func(call func(string, int) error) string { each(call, 2); return "bad" },
			all, []string{"without any fault → fine"}},
		{"tries in a row", func(call func(string, int) error) string {
			for range 3 {
				if call("a", 1) == nil {
					return "ok"
				}
			}
			return "bad"
		}, all, []string{"a fails 3 times in a row → fine"}},
		{"less is delivered: after a failure of a the agent does not call b",
			func(call func(string, int) error) string {
				if call("a", 1) != nil {
					return "ok"
				}
				if call("b", 1) != nil {
					return "bad"
				}
				return "ok"
			}, contract.Under("b", fails("b", nil), fails("a", when.Nth(9))), []string{"b fails → fine"}},
		{"coordinates slide: lifting the first failure makes the second call another one",
			func(call func(string, int) error) string {
				first := call("a", 1)
				second := call("a", map[bool]int{true: 1, false: 2}[first != nil])
				if second != nil {
					return "bad"
				}
				return "ok"
			}, all, []string{"a fails twice in a row → fine"}},
		{"not monotone: a second failure saves it, a third breaks it again", func(call func(string, int) error) string {
			f := each(call, 1)
			if f["a1"] && (!f["b1"] || f["c1"]) {
				return "bad"
			}
			return "ok"
		}, all, []string{"a fails → fine"}},
		{"two rules on one call", breaksWith(3, "b2"),
			contract.Under("two", fails("b", nil),
				chaos.Rule{Name: "slow", Target: "*", Fault: fault.Delay(time.Second)}),
			[]string{"b fails → fine"}},
		{"a group with one trigger", breaksWith(4, "a3", "b3"), contract.Under("group",
			chaos.Rule{Target: "a", When: when.After(4), Fault: fault.Fail(errDown), Group: "g"},
			chaos.Rule{Target: "b", When: when.After(4), Fault: fault.Fail(errDown), Group: "g"}),
			[]string{"a fails, then b fails → fine"}},
		{"a limit", breaksWith(5, "c2"), contract.Under("limit",
			chaos.Rule{Target: "c", Fault: fault.Fail(errDown), Limit: 3}), []string{"c fails → fine"}},
		{"a fault with memory: earlier calls come with it", breaksWith(5, "a4"), contract.Under("budget",
			chaos.Rule{Target: "a", Fault: fault.CallBudget(3, time.Hour)}), []string{"a fails → fine"}},
		{"work that is done twice", func(call func(string, int) error) string {
			if call("d", 1) != nil {
				_ = call("d", 1)
			}
			return "ok"
		}, contract.Under("lost", chaos.Rule{Target: "d", When: when.First(1), Fault: fault.LoseReply()}),
			[]string{"d does its work and its reply is lost → once"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := explained(t, scripted(tc.agent, tc.scenario), &Options{})
			assert.Equal(t, tc.sentences, sentences(r))
			for _, d := range r.Defects {
				assert.False(t, d.Cut)
				assert.Empty(t, d.Difference)
				assert.NotEmpty(t, d.Rerun)
			}
		})
	}
}

func TestCallsOfSeveralLanes(t *testing.T) {
	m := scripted(nil, contract.Under("all", fails("*", nil)))
	setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		bad := "ok"
		for _, lane := range []string{"left", "right"} {
			_, err := tools.CallTool(chaos.WithLane(ctx, lane), "a", []byte(`{"n":1}`))
			if err != nil && lane == "right" {
				bad = "bad"
			}
		}
		return bad, nil
	})
	r := explained(t, m, &Options{})
	require.Equal(t, []string{"a fails → fine"}, sentences(r))
	assert.Equal(t, "right", r.Defects[0].Deliveries[0].Lane)
}

// TestCallsOfStreams: of the streams that are slow and cut, the cut of the second one is
// what breaks the agent, which needs all items of it.
func TestCallsOfStreams(t *testing.T) {
	m := scripted(nil, contract.Under("streams",
		chaos.Rule{Name: "slow", Target: "tokens", Fault: fault.SlowItems(time.Second)},
		chaos.Rule{Name: "cut", Target: "tokens", Fault: fault.CutAfter(2)}))
	m.Points = []string{"tokens"}
	tokens := chaos.WrapStream("tokens", func(_ context.Context, n int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range 3 {
				if !yield(n+i, nil) {
					return
				}
			}
		}
	})
	setAgent(m, func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		answer := "ok"
		for stream := range 3 {
			got := 0
			for _, err := range tokens(ctx, stream) {
				if err == nil {
					got++
				}
			}
			if stream == 1 && got < 3 {
				answer = "bad"
			}
		}
		return answer, nil
	})
	r := explained(t, m, &Options{})
	require.Equal(t, []string{"tokens fails on call 2 → fine"}, sentences(r),
		"a plain failure, the milder one, breaks it too; without a key all calls are equal")
	require.Len(t, r.Defects[0].Deliveries, 1)
	assert.EqualValues(t, 1, r.Defects[0].Deliveries[0].Ordinal)
}

func TestSeveralPromptsAndProbes(t *testing.T) {
	m := scripted(breaksWith(2, "b2"), contract.Under("all", fails("b", nil)))
	m.Prompts = []string{"first", "second"}
	m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
		if o.Prompt == "second" && o.Response != "ok" {
			return errors.New("bad")
		}
		return nil
	}
	probed := m.Invariants[0]
	probed.Name, probed.Probes, probed.Severity = "probed", []string{"second"}, contract.Low
	m.Invariants = append(m.Invariants, probed)
	r := explained(t, m, &Options{})
	require.Equal(t, []string{"b fails → fine → probed"}, sentences(r))
	assert.Len(t, r.Defects[0].Deliveries, 1)
}

// A fact goes with the evidence for it.
func TestFacts(t *testing.T) {
	twice := func(again, retry bool) script {
		return func(call func(string, int) error) string {
			if call("d", 1) != nil && retry {
				_ = call("d", map[bool]int{true: 1, false: 2}[again])
			}
			return "ok"
		}
	}
	lost := contract.Under("lost", chaos.Rule{Target: "d", When: when.First(1), Fault: fault.LoseReply()})
	facts := func(m *contract.Matrix) string {
		r := explained(t, m, &Options{})
		require.Len(t, r.Defects, 1)
		return strings.Join(r.Defects[0].Facts, "; ")
	}
	got := facts(scripted(twice(true, true), lost))
	for _, want := range []string{
		"when it only fails, or times out before the work, it holds",
		"the agent tries twice",
		"d is called again with equal arguments after its work was done",
		"2 of 2 calls of d without the idempotency key that the tool declares (/id)",
		"the answer is word for word that of the calm run",
	} {
		assert.Contains(t, got, want)
	}
	assert.NotContains(t, facts(scripted(twice(false, true), lost)), "equal arguments")
	assert.NotContains(t, got, "audit")

	audited := scripted(twice(true, true), lost)
	inner := audited.NewWorld
	audited.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := inner(ctx)
		w.Tools = doubling{w.Tools.(*chaos.Registry)}
		return w, err
	}
	assert.Contains(t, facts(audited), "d: an audit found that it doubles")

	keyed := scripted(twice(true, true), lost)
	world := keyed.NewWorld
	keyed.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := world(ctx)
		agent := w.Agent
		w.Agent = func(ctx context.Context, p string, tools chaos.ToolRegistry) (string, error) {
			return agent(ctx, p, withKey{tools})
		}
		return w, err
	}
	assert.NotContains(t, facts(keyed), "idempotency key")

	bad := func(call func(string, int) error) string {
		first, second := call("a", 1), error(nil)
		if first != nil {
			second = call("a", 1)
		}
		return map[bool]string{true: "bad", false: "ok"}[second != nil]
	}
	got = facts(scripted(bad, contract.Under("all", fails("a", nil))))
	assert.Contains(t, got, "with one of the two it holds")
	assert.Contains(t, got, "the agent tries twice")
	assert.NotContains(t, got, "word for word", "the answer is another one")
	worse := func(call func(string, int) error) string { // with one it breaks too, for another reason
		a, b := call("a", 1), call("a", 1)
		switch {
		case a != nil && b != nil:
			return "bad"
		case a != nil || b != nil:
			return "odd"
		}
		return "ok"
	}
	r := explained(t, scripted(worse, contract.Under("all", fails("a", nil))), &Options{})
	assert.Equal(t, []string{"a fails on call 2 → fine", "a fails on call 1 → fine"}, sentences(r))
	assert.Contains(t, r.Defects[0].Facts,
		"not all faults of the cell are needed: with fewer of them it breaks too, for another reason")
	assert.NotContains(t, fmt.Sprint(r.Defects), "it holds")
	assert.Contains(t, facts(scripted(breaksWith(3, "b1"), contract.Under("all", fails("b", nil)))),
		"it is decided at call 1 of b: it breaks without the 2 faults after that too")
	assert.NotContains(t, facts(scripted(breaksWith(3, "b3"), contract.Under("all", fails("b", nil)))), "decided")
}

// withKey gives every call an idempotency key.
type withKey struct{ chaos.ToolRegistry }

func (w withKey) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	return w.ToolRegistry.CallTool(ctx, name, json.RawMessage(strings.TrimSuffix(string(args), "}")+`,"id":"k"}`))
}

// Cells of a scenario that broke for one reason need not have one cause: trials have draws
// of their own. A cell that did not meet the faults of a defect is not counted with it.
func TestCellsThatMetOtherFaultsAreAnotherDefect(t *testing.T) {
	either := scripted(func(call func(string, int) error) string {
		f := each(call, 1)
		return map[bool]string{true: "bad", false: "ok"}[f["a1"] || f["b1"] || f["c1"]]
	}, contract.Under("half", chaos.Rule{Target: "{a,b,c}", When: when.Prob(.3), Fault: fault.Fail(errDown)}))
	either.Trials = 30
	r := explained(t, either, &Options{})
	require.Equal(t, []string{"a, c or b fails → fine"}, sentences(r))
	broken := 0
	for _, c := range r.Cells {
		if c.Violated {
			broken++
		}
	}
	for _, b := range r.Defects[0].Breaks {
		assert.Len(t, b.At, 1, "each target has its own cells")
		broken -= len(b.Cells)
	}
	assert.Zero(t, broken, "each broken cell is counted once")

	cut := explained(t, either, &Options{Budget: Budget{Runs: 4}})
	assert.Contains(t, sentences(cut), "not searched: the budget was used up → fine")
}

// Two rules of a scenario may break an agent at one target, for one kind of reason: each is a
// defect, with the cells that met it.
func TestCellsThatMetAnotherRuleAreAnotherDefect(t *testing.T) {
	m := scripted(func(call func(string, int) error) string {
		if call("d", 1) != nil {
			_ = call("d", 1)
		}
		return "ok"
	}, contract.Under("two",
		chaos.Rule{Name: "lost", Target: "d", When: when.Prob(.3), Fault: fault.LoseReply()},
		chaos.Rule{Name: "twice", Target: "d", When: when.Prob(.3), Fault: fault.Duplicate()}))
	m.Trials = 20
	r := explained(t, m, &Options{})
	assert.Equal(t, []string{"d is executed twice → once", "d does its work and its reply is lost → once"}, sentences(r))
}

// Cells that met other faults are not counted with a defect, also if there is no room to
// search them.
func TestCellsBeyondTheBoundsAreCounted(t *testing.T) {
	m := scripted(breaksWith(1, "a1"), contract.Under("half", fails("{a,b}", when.Prob(.5))))
	m.Trials = 30
	r, err := m.Run(t.Context(), &contract.RunOptions{Harness: bubbled(t)})
	require.NoError(t, err)
	e := &explainer{report: r}
	e.group()
	g := e.groups[0]
	all := len(g.cells)
	g.Smallest, g.Source = &runDigest{}, &source{}
	for _, h := range hitsOf(g.first.Observations()) {
		if h.Target == "b" {
			g.Hits = []hit{h}
		}
	}
	require.Len(t, g.Hits, 1, "this time b is taken for what broke it")
	e.groups = slices.Repeat(e.groups, maxGroups)
	assert.Empty(t, e.split([]*group{g}))
	assert.Positive(t, e.left)
	assert.Equal(t, all, e.left+len(g.cells))
}

// doubling declares that an audit found its tools to double.
type doubling struct{ *chaos.Registry }

func (d doubling) Known() []chaos.Tool {
	tools := d.Registry.Known()
	for i := range tools {
		tools[i].Audit = "it doubles"
	}
	return tools
}

func (d doubling) Tools(context.Context) ([]chaos.Tool, error) { return d.Known(), nil }
