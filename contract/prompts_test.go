package contract_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// verdicts is an invariant that says of each prompt what the map has for it.
func verdicts(id string, by map[string]error) contract.Invariant {
	inv := holds(id, contract.High)
	inv.Check = func(_ context.Context, o *contract.Observation) error { return by[o.Prompt] }
	return inv
}

// TestPromptsAfterABrokenOneAreNotSent: they cost money and decide nothing more.
func TestPromptsAfterABrokenOneAreNotSent(t *testing.T) {
	all := []string{"a", "b", "c"}
	undecided := fmt.Errorf("%w: who knows", contract.ErrUndecided)
	for _, tc := range []struct {
		reason   string
		verdicts map[string]error
		change   func(*contract.Matrix)
		asked    []string
		state    contract.CellState
		prompt   string // of the evidence
	}{
		{"all hold", nil, nil, all, contract.Held, "c"},
		{"the first breaks", map[string]error{"a": errDown}, nil, all[:1], contract.Broken, "a"},
		{"the second breaks", map[string]error{"b": errDown}, nil, all[:2], contract.Broken, "b"},
		{"the last breaks", map[string]error{"c": errDown}, nil, all, contract.Broken, "c"},
		{"what is undecided may yet break", map[string]error{"a": undecided, "b": errDown}, nil, all[:2], contract.Broken, "b"},
		{"or not", map[string]error{"a": undecided}, nil, all, contract.Inconclusive, "a"},
		{"all are asked on demand", map[string]error{"a": errDown}, func(m *contract.Matrix) { m.ShareObservations = true }, all, contract.Broken, "a"},
	} {
		for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
			o.Keep = contract.KeepAll
			var asked []string
			m := matrix(t, func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
				asked = append(asked, prompt)
				return "", nil
			}, func(m *contract.Matrix) {
				m.Prompts, m.Invariants = all, []contract.Invariant{verdicts("told", tc.verdicts)}
				if tc.change != nil {
					tc.change(m)
				}
			})
			whole := run(t, m, o).Cells[0]
			assert.Equal(t, tc.asked, asked, "%s in %s", tc.reason, name)
			assert.Equal(t, tc.state, whole.State, tc.reason)
			assert.Equal(t, tc.prompt, whole.Evidence.Prompt, tc.reason)
			asked = nil
			alone, err := m.RunCell(t.Context(), whole.Cell, o)
			require.NoError(t, err)
			assert.Equal(t, tc.asked, asked, "RunCell, %s", tc.reason)
			assert.Equal(t, plain(t, whole), plain(t, alone), tc.reason)
		}
	}
}

// TestChecksBetweenPromptsAreOutsideOfTheBubble: they may do what they like, and
// the agent's clock stands still meanwhile.
func TestChecksBetweenPromptsAreOutsideOfTheBubble(t *testing.T) {
	judge := make(chan string) // made outside: a judge that the process shares
	go func() {
		for range judge {
		}
	}()
	defer close(judge)
	var times []time.Duration
	var start time.Time
	m := matrix(t, func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		if start.IsZero() {
			start = time.Now()
		}
		times = append(times, time.Since(start))
		time.Sleep(time.Hour)
		return "", nil
	}, func(m *contract.Matrix) {
		m.Prompts = []string{"a", "b", "c"}
		m.Invariants[0].Check = func(ctx context.Context, o *contract.Observation) error {
			assert.NotEqual(t, 2000, time.Now().UTC().Year(), "the year of a bubble")
			assert.NoError(t, ctx.Err())
			judge <- o.Response
			return nil
		}
	})
	assert.Equal(t, contract.Held, run(t, m, virtual(t)).Cells[0].State)
	assert.Equal(t, []time.Duration{0, time.Hour, 2 * time.Hour}, times)
}

// TestChecksThatFailBetweenPromptsAreTheCellsResult, and end it.
func TestChecksThatFailBetweenPromptsAreTheCellsResult(t *testing.T) {
	t.Parallel() // it waits for watchdogs
	block := make(chan struct{})
	defer close(block)
	for _, tc := range []struct {
		reason    string
		check     func(ctx context.Context) error
		why       string
		abandoned bool
	}{
		{"a panic", func(context.Context) error { panic("boom") }, "the check of the invariant failed: panic: boom", false},
		{"a hang", func(context.Context) error { <-block; return nil },
			"the watchdog gave up after 500ms of real time, while the invariant was checking", true},
		{"one that ends with its context", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			"the watchdog gave up after 500ms of real time, while the invariant was checking", false},
	} {
		for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
			asked := 0
			m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) {
				asked++
				return "", nil
			}, func(m *contract.Matrix) {
				m.Prompts = []string{"a", "b"}
				m.Invariants[0].Check = func(ctx context.Context, _ *contract.Observation) error { return tc.check(ctx) }
			})
			if tc.reason != "a panic" {
				o.Watchdog = 500 * time.Millisecond
			}
			c := run(t, m, o).Cells[0]
			assert.Equal(t, contract.Inconclusive, c.State, "%s in %s", tc.reason, name)
			assert.Equal(t, tc.why, c.Why, tc.reason)
			assert.Equal(t, tc.abandoned, c.Abandoned, tc.reason)
			assert.False(t, c.Undecided, "%s: it did not say so", tc.reason)
			assert.Equal(t, 1, asked, tc.reason)
		}
	}
}

// TestCheckThatEndsWithTheRunDecidesNothing: its error may be a consequence.
func TestCheckThatEndsWithTheRunDecidesNothing(t *testing.T) {
	for name, o := range map[string]*contract.RunOptions{"real time": {}, "bubbles": virtual(t)} {
		for _, prompts := range [][]string{{"a"}, {"a", "b"}} { // after the cell, and between its prompts
			ctx, cancel := context.WithCancel(t.Context())
			asked := 0
			m := matrix(t, func(context.Context, string, chaos.ToolRegistry) (string, error) { asked++; return "", nil }, func(m *contract.Matrix) {
				m.Prompts = prompts
				m.Invariants[0].Check = func(ctx context.Context, _ *contract.Observation) error {
					cancel()
					<-ctx.Done()
					return ctx.Err()
				}
			})
			r, err := m.Run(ctx, o)
			require.ErrorIs(t, err, context.Canceled, name)
			assert.Equal(t, contract.Inconclusive, r.Cells[0].State, name)
			assert.Equal(t, 1, asked, name)
			cancel()
		}
	}
}

// TestDeliveriesOfABrokenCellEndWithTheBreak: a later fault cannot
// be the cause, whether or not the later prompts are sent.
func TestDeliveriesOfABrokenCellEndWithTheBreak(t *testing.T) {
	for _, tc := range []struct {
		reason    string
		breaks    string
		state     contract.CellState
		delivered int
	}{
		{"under the fault", "b", contract.Broken, 1},
		{"before the fault", "a", contract.Undelivered, 0},
		{"after it", "c", contract.Broken, 1},
		{"not at all", "", contract.Held, 1},
	} {
		for _, askAll := range []bool{false, true} {
			m := matrix(t, func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				_, _ = tellsTime(ctx, prompt, tools)
				return prompt, nil
			}, func(m *contract.Matrix) {
				m.ShareObservations, m.Prompts = askAll, []string{"a", "b", "c"}
				m.Scenarios = []contract.Scenario{{Name: "second", Rules: []chaos.Rule{{Target: "clock", When: ordinal(1), Fault: fails{}}}}}
				m.Invariants = []contract.Invariant{verdicts("told", map[string]error{tc.breaks: errDown})}
			})
			c := run(t, m, nil).Cells[0]
			assert.Equal(t, tc.state, c.State, tc.reason)
			assert.Equal(t, tc.breaks != "", c.Violated, tc.reason)
			assert.Equal(t, tc.delivered, c.Delivered, tc.reason)
		}
	}
}

// TestUndecidedCellsAreCounted apart from those that are inconclusive for
// another reason: only an ErrUndecided of the check itself counts.
func TestUndecidedCellsAreCounted(t *testing.T) {
	undecided := fmt.Errorf("%w: the answer is in prose; a judge would decide it", contract.ErrUndecided)
	shrugs := verdicts("shrugs", map[string]error{"p": undecided})
	needy := holds("needy", contract.Low)
	needy.Needs = contract.NeedState
	panics := holds("panics", contract.Low)
	panics.Check = func(context.Context, *contract.Observation) error { panic("boom") }
	breaks := verdicts("breaks", map[string]error{"p": errors.Join(errDown)})
	for _, keep := range []contract.KeepPolicy{contract.KeepBroken, contract.KeepCounts} {
		var mu sync.Mutex
		var told []string
		m := matrix(t, tellsTime, func(m *contract.Matrix) {
			m.Prompts, m.Trials = []string{"p"}, 2
			m.Invariants = append(m.Invariants, shrugs, needy, panics, breaks)
		})
		r := run(t, m, &contract.RunOptions{Keep: keep, OnCell: func(c *contract.CellReport) {
			mu.Lock()
			defer mu.Unlock()
			if c.Undecided {
				told = append(told, c.Cell.String()+" "+c.Why)
			}
		}})
		slices.Sort(told)
		assert.Equal(t, []string{"calm/shrugs/1 " + undecided.Error(), "calm/shrugs/2 " + undecided.Error()}, told)
		assert.Equal(t, 2, r.Undecided)
		assert.Equal(t, 6, r.Score.Inconclusive, "with those that lack the state, and those that failed")
	}
}

// echo answers with the prompt.
func echo(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
	return "re " + prompt, nil
}

// sees is an invariant that notes something of each observation.
func sees(all *[]string, name string, what func(*contract.Observation) string) contract.Invariant {
	inv := holds(name, contract.Low)
	inv.Check = func(_ context.Context, o *contract.Observation) error {
		*all = append(*all, o.Cell.Scenario+" "+what(o))
		return nil
	}
	return inv
}

func prompt(o *contract.Observation) string { return o.Prompt }

// TestScenarioPrompts: a scenario's prompts replace those of the matrix, and no probes.
func TestScenarioPrompts(t *testing.T) {
	var seen []string
	probing := sees(&seen, "probing", prompt)
	probing.Probes = []string{"probe"}
	m := matrix(t, echo, func(m *contract.Matrix) {
		m.Prompts = []string{"a", "b"}
		m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "own", Prompts: []string{"c"}})
		m.Invariants = []contract.Invariant{sees(&seen, "asking", prompt), probing}
	})
	run(t, m, &contract.RunOptions{Workers: 1})
	assert.Equal(t, []string{"calm a", "calm b", "calm probe", "own c", "own probe"}, seen)

	seen, m.Prompts, m.Scenarios = nil, nil, m.Scenarios[1:]
	run(t, m, &contract.RunOptions{Workers: 1})
	assert.Equal(t, []string{"own c", "own probe"}, seen, "the matrix needs none if each scenario has some")

	seen, m.NewWorld, m.World, m.Invariants = nil, nil, &contract.World{Agent: func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
		seen = append(seen, prompt)
		return "", nil
	}}, []contract.Invariant{holds("held", contract.High)}
	assert.True(t, run(t, m, nil).StateProbed)
	assert.Equal(t, []string{"c", "c", "c"}, seen, "the state probe sends what the scenario in the shared world sends")
}

// TestScenarioBaselines: a known answer costs no calm run.
func TestScenarioBaselines(t *testing.T) {
	baseline := func(o *contract.Observation) string { return o.Prompt + "=" + o.Baseline }
	for _, tc := range []struct {
		why      string
		scenario contract.Scenario
		change   func(*contract.Invariant)
		want     []string
		calm     int
	}{
		{"known", contract.Scenario{Prompts: []string{"a", "b"}, Baselines: []string{"A", "B"}}, nil, []string{"s a=A", "s b=B"}, 0},
		{"an empty answer is one", contract.Scenario{Prompts: []string{"a"}, Baselines: []string{""}}, nil, []string{"s a="}, 0},
		{"not known", contract.Scenario{Prompts: []string{"a"}}, nil, []string{"s a=re a"}, 1},
		{"the invariant has its own", contract.Scenario{Prompts: []string{"a"}, Baselines: []string{"A"}},
			func(i *contract.Invariant) { i.Baseline = "mine" }, []string{"s a=mine"}, 0},
		{"the invariant leaves it to the scenario", contract.Scenario{Prompts: []string{"a"}, Baselines: []string{"A"}},
			func(i *contract.Invariant) { i.Baseline = "auto" }, []string{"s a=A"}, 0},
		{"a probe is no prompt of the scenario", contract.Scenario{Prompts: []string{"a"}, Baselines: []string{"A"}},
			func(i *contract.Invariant) { i.Probes = []string{"a"} }, []string{"s a=re a"}, 1},
		{"a calm run that is needed all the same", contract.Scenario{Prompts: []string{"a"}, Baselines: []string{"A"}},
			func(i *contract.Invariant) { i.Needs |= contract.NeedCalm }, []string{"s a=A"}, 1},
	} {
		var seen []string
		inv := sees(&seen, "i", baseline)
		inv.Needs = contract.NeedBaseline
		if tc.change != nil {
			tc.change(&inv)
		}
		tc.scenario.Name = "s"
		m := matrix(t, echo, func(m *contract.Matrix) {
			m.Prompts, m.Invariants, m.Scenarios = nil, []contract.Invariant{inv}, []contract.Scenario{tc.scenario}
		})
		r := run(t, m, nil)
		assert.Equal(t, tc.want, seen, tc.why)
		assert.Equal(t, tc.calm, r.CalmRuns, tc.why)
		alone, err := m.RunCell(t.Context(), m.Cells()[0], nil)
		require.NoError(t, err)
		r = run(t, m, &contract.RunOptions{Keep: contract.KeepAll})
		assert.Equal(t, r.Cells[0].Evidence.Baseline, alone.Evidence.Baseline, tc.why)
	}
}

// TestScenarioLayer: what is broken besides the rules counts as a rule of its layer, for
// Applies alone.
func TestScenarioLayer(t *testing.T) {
	applying := func(s contract.Scenario) (names []string) {
		m := matrix(t, tellsTime, func(m *contract.Matrix) {
			s.Name, m.Invariants = "s", nil
			m.Scenarios = []contract.Scenario{s, contract.Calm(), {Name: "tool", Layer: chaos.LayerTool}, {Name: "llm", Layer: chaos.LayerLLM}}
			for a := contract.Always; a <= contract.NoFault; a++ {
				inv := holds(a.String(), contract.Low)
				inv.Applies, inv.JudgesErrors = a, true
				m.Invariants = append(m.Invariants, inv)
			}
		})
		for _, c := range run(t, m, nil).Cells {
			if c.Cell.Scenario == "s" {
				assert.Equal(t, contract.Held, c.State, "%v: %s", c.Cell, c.Why)
				assert.Equal(t, s.Layer, c.Layer)
				names = append(names, c.Cell.Invariant)
			}
		}
		return names
	}
	for _, tc := range []struct {
		why      string
		scenario contract.Scenario
		want     []string
	}{
		{"nothing is broken", contract.Scenario{}, []string{"Always", "NoFault"}},
		{"tools", contract.Scenario{Layer: chaos.LayerTool}, []string{"Always", "ToolFaults", "AnyFault"}},
		{"models", contract.Scenario{Layer: chaos.LayerLLM}, []string{"Always", "LLMFaults", "AnyFault"}},
		{"something else", contract.Scenario{Layer: chaos.LayerStream}, []string{"Always", "AnyFault"}},
		{"models, beside a rule for tools", contract.Scenario{Layer: chaos.LayerLLM, Rules: stormy().Rules},
			[]string{"Always", "ToolFaults", "LLMFaults", "AnyFault"}},
		{"other words", contract.Scenario{Rewrite: func(s string) string { return s + "!" }}, []string{"Always", "AnyFault"}},
	} {
		assert.Equal(t, tc.want, applying(tc.scenario), tc.why)
	}
}

// TestRewrite: the agent gets other words, in prompts and probes; a baseline is still an
// answer to the original.
func TestRewrite(t *testing.T) {
	var seen []string
	what := func(o *contract.Observation) string {
		return *o.Original + ">" + o.Prompt + ">" + o.Response + "~" + o.Baseline
	}
	asking, probing := sees(&seen, "asking", what), sees(&seen, "probing", what)
	asking.Needs, probing.Needs, probing.Probes = contract.NeedBaseline, contract.NeedBaseline, []string{"p"}
	m := matrix(t, echo, func(m *contract.Matrix) {
		m.Prompts, m.Invariants = []string{"a", "b"}, []contract.Invariant{asking, probing}
		m.Scenarios = []contract.Scenario{{Name: "loud", Rewrite: func(s string) string { return s + "!" }}}
	})
	r := run(t, m, &contract.RunOptions{Workers: 1})
	assert.Equal(t, []string{"loud a>a!>re a!~re a", "loud b>b!>re b!~re b", "loud p>p!>re p!~re p"}, seen)
	assert.Equal(t, 2, r.Cells[0].Delivered)
	assert.Equal(t, 2, r.Cells[0].Rewritten)
	assert.Equal(t, 2, r.CalmRuns)
}

// TestRewriteDelivers: a text that changed is a delivered fault, and none else.
func TestRewriteDelivers(t *testing.T) {
	loud := func(s string) string { return s + "!" }
	same := func(s string) string { return s }
	second := func(s string) string {
		if s == "b" {
			return ""
		}
		return s
	}
	breaks := holds("held", contract.High)
	breaks.Check = func(context.Context, *contract.Observation) error { return errors.New("broken") }
	unmatched := []chaos.Rule{{Target: "clock", When: ordinal(7), Fault: fails{}}}
	for _, tc := range []struct {
		why      string
		scenario contract.Scenario
		inv      contract.Invariant
		state    contract.CellState
		text     string
		n        int
	}{
		{"each prompt changed", contract.Scenario{Rewrite: loud}, holds("held", contract.High), contract.Held, "", 2},
		{"one became empty", contract.Scenario{Rewrite: second}, holds("held", contract.High), contract.Held, "", 1},
		{"none changed", contract.Scenario{Rewrite: same}, holds("held", contract.High), contract.Undelivered,
			"no fault was delivered: Rewrite changed no prompt", 0},
		{"broken up to the prompt that broke it", contract.Scenario{Rewrite: loud}, breaks, contract.Broken, "broken", 1},
		{"broken at a prompt that did not change", contract.Scenario{Rewrite: second}, breaks, contract.Undelivered, "broken", 0},
		{"a rule matched nothing, and the prompt changed", contract.Scenario{Rewrite: loud, Rules: unmatched}, holds("held", contract.High), contract.Held, "", 2},
		{"neither", contract.Scenario{Rewrite: same, Rules: unmatched}, holds("held", contract.High), contract.Undelivered,
			"no fault was delivered: Rewrite changed no prompt, and no rule's fault changed anything", 0},
		{"it panics", contract.Scenario{Rewrite: func(string) string { panic("boom") }}, holds("held", contract.High), contract.Inconclusive,
			"rewriting the prompt: panic: boom", 0},
		{"it panics later, and the invariant had broken", contract.Scenario{Rewrite: func(s string) string {
			if s == "b" {
				panic("boom")
			}
			return s + "!"
		}}, breaks, contract.Broken, "broken", 1},
		{"it never returns", contract.Scenario{Rewrite: func(string) string { select {} }}, holds("held", contract.High), contract.Inconclusive,
			"no end after 720h0m0s of virtual time, while rewriting the prompt", 0},
	} {
		tc.scenario.Name = "words"
		m := matrix(t, tellsTime, func(m *contract.Matrix) {
			m.Prompts, m.Invariants = []string{"a", "b"}, []contract.Invariant{tc.inv}
			m.Scenarios = []contract.Scenario{tc.scenario, contract.Calm()}
		})
		for _, all := range []bool{false, true} {
			m.ShareObservations = all
			r := run(t, m, virtual(t))
			c := r.Cells[0]
			assert.Equal(t, tc.state, c.State, tc.why)
			assert.Equal(t, tc.text, c.Why, tc.why)
			assert.Equal(t, tc.n, c.Delivered, tc.why)
			assert.Equal(t, tc.n, c.Rewritten, tc.why)
			assert.NotEqual(t, contract.Inconclusive, r.Cells[1].State, "%s: the other scenario goes on", tc.why)
			alone, err := m.RunCell(t.Context(), c.Cell, virtual(t))
			require.NoError(t, err)
			assert.Equal(t, [3]string{c.State.String(), c.Why, fmt.Sprint(c.Delivered)},
				[3]string{alone.State.String(), alone.Why, fmt.Sprint(alone.Delivered)}, tc.why)
		}
	}
	r := run(t, matrix(t, echo, func(m *contract.Matrix) {
		m.Scenarios = []contract.Scenario{{Name: "same", Rewrite: same}}
	}), nil)
	assert.Contains(t, r.Score.Why, `no fault was delivered in scenario "same"`, "nothing was tested")
}
