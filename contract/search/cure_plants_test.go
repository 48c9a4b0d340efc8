package search

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/habits"
)

// A plant is a part of an agent that lacks known habits: it does one thing with tools of its own, and breaks one invariant.
type plant struct {
	name  string
	lacks []string // the names of the habits that mend it; nil: none does
	tools func(*ledger, string) []chaos.ToolFunc
	// does is what the agent does. It calls its tools by their last names.
	does func(call func(tool string) (string, error)) string
	// fails is the trigger and the fault of the tool that it has.
	fails string
	when  chaos.When
	fault chaos.Fault
	holds func(l *ledger, target string, said string, o *contract.Observation) bool
}

// A ledger is what the tools of a world did.
type ledger struct {
	mu   sync.Mutex
	done map[string]int // how often a tool had its effect
	keys map[string]bool
	read map[string]int
}

func (l *ledger) effect(tool, key string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" && l.keys[tool+key] {
		return `done`
	}
	l.keys[tool+key] = true
	l.done[tool]++
	return `done`
}

// inputOf is the schema of the tools of a plant: no other plant's tools take its argument.
func inputOf(name string) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{"order%c":{"type":"string"},"id":{"type":"string"}},"required":["order%[1]c"]}`, name[1])
}

// writer is a tool with an effect; key is where its idempotency key is, or "".
func writer(l *ledger, name, key string) chaos.ToolFunc {
	return chaos.Func(chaos.Tool{Name: name, Effect: chaos.EffectDone, IdempotencyKey: key, InputSchema: inputOf(name)},
		func(_ context.Context, in struct{ ID string }) (map[string]string, error) {
			return map[string]string{"receipt": l.effect(name, in.ID)}, nil
		})
}

// reader is a tool that changes nothing; of says of which tool it shows the effect.
func reader(l *ledger, name, of string) chaos.ToolFunc {
	return chaos.Func(chaos.Tool{Name: name, Effect: chaos.EffectNone, InputSchema: inputOf(name),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"price":{"type":"integer"}},"required":["price"]}`)},
		func(context.Context, struct{}) (map[string]int, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.read[name]++
			return map[string]int{"price": 7, "done": l.done[of]}, nil
		})
}

func onlyWriter(l *ledger, p string) []chaos.ToolFunc {
	return []chaos.ToolFunc{writer(l, p+"pay", "")}
}
func keyedWriter(l *ledger, p string) []chaos.ToolFunc {
	return []chaos.ToolFunc{writer(l, p+"pay", "/id")}
}
func onlyReader(l *ledger, p string) []chaos.ToolFunc {
	return []chaos.ToolFunc{reader(l, p+"get", "")}
}
func both(l *ledger, p string) []chaos.ToolFunc {
	return []chaos.ToolFunc{writer(l, p+"pay", ""), reader(l, p+"get", p+"pay")}
}

// pays tries to pay so many times, and says what it has a receipt of.
func pays(tries int) func(func(string) (string, error)) string {
	return func(call func(string) (string, error)) string {
		for range tries {
			if out, err := call("pay"); err == nil && (strings.Contains(out, "receipt") || strings.Contains(out, `"done":true`)) {
				return "paid"
			}
		}
		return "failed"
	}
}

// looksUp tries to read so many times, and says what it read.
func looksUp(tries int) func(func(string) (string, error)) string {
	return func(call func(string) (string, error)) string {
		for range tries {
			if out, err := call("get"); err == nil {
				return out
			}
		}
		return "failed"
	}
}

func paidOnce(l *ledger, target, said string, _ *contract.Observation) bool {
	return l.done[target+"pay"] == 1 && said == "paid"
}

func right(_ *ledger, _, said string, _ *contract.Observation) bool {
	return strings.Contains(said, `"price":7`)
}

func called(o *contract.Observation, target string) (n int) {
	for _, e := range o.Events {
		if e.Target == target {
			n++
		}
	}
	return n
}

var errForbidden = errors.New("permission denied")

// plants are those of the test, in all their variants.
func plants() (all []plant) {
	add := func(p plant, name string, lacks ...string) {
		p.name, p.lacks = fmt.Sprintf("%s %d", name, len(all)), lacks
		all = append(all, p)
	}
	bad := map[string]any{"cost": "?"}
	for v := range 2 {
		add(plant{tools: keyedWriter, does: pays(2), fails: "pay", when: []chaos.When{when.First(1), nil}[v],
			fault: []chaos.Fault{fault.LoseReplyAfter(time.Second), fault.Duplicate()}[v], holds: paidOnce}, "key", "idempotency-key")
		add(plant{tools: both, does: pays(2 + v), fails: "pay", when: when.First(1), fault: fault.LoseReplyAfter(time.Second), holds: paidOnce},
			"look", "look-before-repeat")
		add(plant{tools: onlyReader, does: looksUp(1 + v), fails: "get", when: when.First(1 + 2*v), fault: fault.Fail(fault.ErrUnavailable), holds: right},
			"retry", "bounded-retries")
		add(plant{tools: onlyReader, does: looksUp(2), fails: "get", when: when.First(1), fault: fault.Delay(time.Duration(60+v*100) * time.Second),
			holds: func(_ *ledger, _, said string, o *contract.Observation) bool {
				return strings.Contains(said, `"price":7`) && o.Elapsed < 50*time.Second
			}}, "deadline", "deadline")
		add(plant{tools: onlyReader, does: looksUp(2), fails: "get", when: when.First(1), fault: []chaos.Fault{fault.Replace(bad), fault.Replace("oops")}[v],
			holds: right}, "schema", "result-schema")
		add(plant{tools: both, fails: "pay", fault: fault.Fail(errForbidden), does: func(call func(string) (string, error)) string {
			out, err := call("pay")
			if err == nil && strings.Contains(out, "receipt") {
				return "paid"
			}
			for range 8 + v {
				_, _ = call("get")
			}
			return "failed"
		}, holds: func(l *ledger, target, said string, _ *contract.Observation) bool {
			return l.read[target+"get"] <= 5 && (said == "paid") == (l.done[target+"pay"] == 1)
		}}, "memory", "remembered-reads")
		add(plant{tools: onlyWriter, does: pays(6 + v), fails: "pay", fault: fault.Fail(errForbidden),
			holds: func(l *ledger, target, said string, o *contract.Observation) bool {
				return called(o, target+"pay") <= 2 && (said == "paid") == (l.done[target+"pay"] == 1)
			}}, "stop", "stop-when-permanent")
		add(plant{tools: onlyWriter, fails: "pay", when: when.First(1), fault: fault.Delay(time.Duration(3+v) * time.Second),
			does: func(call func(string) (string, error)) string {
				first := make(chan bool, 2)
				pay := func() { _, err := call("pay"); first <- err == nil }
				go pay()
				paid := false
				select {
				case paid = <-first:
				case <-time.After(time.Second):
					go pay()
					one, other := <-first, <-first
					paid = one || other
				}
				return map[bool]string{true: "paid", false: "failed"}[paid]
			}, holds: func(l *ledger, target, said string, _ *contract.Observation) bool {
				return l.done[target+"pay"] == map[string]int{"paid": 1}[said]
			}}, "single", "one-at-a-time")
		add(plant{tools: onlyWriter, fails: "pay", fault: fault.Fail([]error{errForbidden, fault.ErrUnavailable}[v]),
			does: func(call func(string) (string, error)) string {
				if out, _ := call("pay"); strings.Contains(out, `"error"`) {
					return "failed"
				}
				return "paid"
			}, holds: func(l *ledger, target, said string, _ *contract.Observation) bool {
				return (said == "paid") == (l.done[target+"pay"] == 1)
			}}, "told", "failures-told")
	}
	for v := range 3 {
		add(plant{tools: onlyReader, does: looksUp(1), fails: "get", when: when.First(1 + v), fault: fault.Replace(bad), holds: right},
			"schema and retry", "result-schema", "bounded-retries")
		add(plant{tools: keyedWriter, does: pays(1), fails: "pay", when: when.First(1 + v), fault: fault.Timeout(time.Second), holds: paidOnce},
			"key and retry", "idempotency-key", "bounded-retries")
		add(plant{tools: keyedWriter, fails: "pay", fault: fault.Fail(errForbidden), does: func(call func(string) (string, error)) string {
			for range 1 + v {
				_, _ = call("pay")
			}
			return "paid" // whatever happened
		}, holds: func(l *ledger, target, said string, _ *contract.Observation) bool { return l.done[target+"pay"] > 0 }}, "claims")
		add(plant{tools: onlyReader, does: looksUp(2), fails: "get", when: when.First(1), fault: fault.Replace(map[string]int{"price": 8 + v}), holds: right},
			"believes")
	}
	return all
}

// lacking is the matrix of an agent that has plants, one after the other; each has its scenario. Several share one world.
func lacking(of ...plant) *contract.Matrix {
	prefix := func(i int) string { return fmt.Sprintf("t%d.", i) }
	m := &contract.Matrix{Seed: 3, Trials: 2, Prompts: []string{"go"}, Scenarios: []contract.Scenario{contract.Calm()},
		NewWorld: func(context.Context) (*contract.World, error) {
			l := &ledger{done: map[string]int{}, keys: map[string]bool{}, read: map[string]int{}}
			var tools []chaos.ToolFunc
			for i, p := range of {
				tools = append(tools, p.tools(l, prefix(i))...)
			}
			r, err := chaos.NewRegistry(tools...)
			return &contract.World{Tools: r, State: func(context.Context) (any, error) { return l, nil },
				Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
					var said []string
					for i, p := range of {
						said = append(said, p.does(func(tool string) (string, error) {
							out, err := tools.CallTool(ctx, prefix(i)+tool, fmt.Appendf(nil, `{"order%d":"7"}`, i))
							return string(out), err
						}))
					}
					return strings.Join(said, "\n"), nil
				}}, err
		}}
	for i, p := range of {
		m.Invariants = append(m.Invariants, contract.Invariant{Name: fmt.Sprintf("fine-%d", i), Severity: contract.High,
			Needs: contract.NeedState, Check: func(_ context.Context, o *contract.Observation) error {
				said := strings.Split(o.Response, "\n")[i]
				if !p.holds(o.After.(*ledger), prefix(i), said, o) {
					return fmt.Errorf("%s: %s", p.name, said)
				}
				return nil
			}})
		m.Scenarios = append(m.Scenarios, contract.Under(fmt.Sprintf("s%d", i), chaos.Rule{Target: prefix(i) + p.fails, When: p.when, Fault: p.fault}))
	}
	return m
}

// cured runs a matrix in virtual time, and has it explained and its defects mended.
func cured(t *testing.T, m *contract.Matrix, budget Budget) *contract.Report {
	t.Helper()
	r, err := m.Run(t.Context(), &contract.RunOptions{Harness: bubbled(t)})
	require.NoError(t, err)
	o := &Options{Run: contract.RunOptions{Harness: bubbled(t)}, Budget: Budget{Runs: 5000}}
	require.NoError(t, Explain(t.Context(), m, r, o))
	o.Budget = budget
	require.NoError(t, Cure(t.Context(), m, r, o))
	return r
}

func namesOf(c *contract.Cure) (names []string) {
	for _, h := range c.Habits {
		names = append(names, h.Name)
	}
	slices.Sort(names)
	return names
}

func TestTheRightHabitComesFirst(t *testing.T) {
	all := plants()
	require.Len(t, all, 30)
	right, explained, runs := 0, 0, 0
	for _, p := range all {
		r := cured(t, lacking(p), Budget{Runs: 5000})
		require.Len(t, r.Defects, 1, p.name)
		c := r.Defects[0].Cure
		want := slices.Sorted(slices.Values(p.lacks))
		if slices.Equal(namesOf(c), want) {
			right++
		} else {
			t.Logf("%s: lacks %v, got %v (%s) nearest %v; %s", p.name, want, namesOf(c), c.Why, c.Nearest, r.Defects[0].Sentence)
		}
		explained, runs = explained+r.SearchRuns, runs+r.CureSearch.Runs
	}
	t.Logf("%d of %d agents have the habits first that they lack; %d runs for that, beside %d that explain", right, len(all), runs, explained)
	assert.GreaterOrEqual(t, 10*right, 9*len(all))
}

var matrices = flag.Int("cures", 40, "the `number` of agents in which TestNoCureIsFalse looks for a false cure")

// The oracle of a false cure does not ask the search: it runs the whole matrix under the habits, and asks the plants.
func TestNoCureIsFalse(t *testing.T) {
	all := plants()
	mended := 0
	for seed := range uint64(*matrices) {
		draw := rand.New(rand.NewPCG(seed, 36))
		var of []plant
		for range 1 + draw.IntN(3) {
			of = append(of, all[draw.IntN(len(all))])
		}
		m := lacking(of...)
		m.Seed, m.Trials = seed, 1
		if draw.IntN(2) == 0 { // some calls fail that no plant is made for
			m.Scenarios = append(m.Scenarios, contract.Under("half", chaos.Rule{Target: "*", When: when.Prob(.4), Fault: fault.Fail(fault.ErrUnavailable)}))
			m.Trials = 3
		}
		r := cured(t, m, Budget{Runs: 5000})
		for i := range r.Defects {
			mended += falseCure(t, m, of, r, &r.Defects[i], r.Defects[i].Cure)
		}
		if r.Cure != nil {
			falseCure(t, m, of, r, nil, r.Cure)
		}
	}
	t.Logf("%d defects of %d agents are mended", mended, *matrices)
	assert.Greater(t, mended, *matrices/4)
}

// falseCure fails the test if a cure is false, and counts it.
func falseCure(t *testing.T, m *contract.Matrix, of []plant, before *contract.Report, d *contract.Defect, c *contract.Cure) int {
	t.Helper()
	if len(c.Habits) == 0 {
		return 0
	}
	after, err := m.Run(t.Context(), &contract.RunOptions{Harness: bubbled(t), Around: habits.Around(HabitsOf(c, nil)...), Keep: contract.KeepAll})
	require.NoError(t, err)
	what := fmt.Sprintf("seed %d, %v", m.Seed, c.Habits)
	for i, was := range before.Cells {
		is := after.Cells[i]
		switch {
		case !was.Violated:
			assert.False(t, is.Violated, "%s breaks %v, which held: %s", what, was.Cell, is.Why)
		case d == nil || slices.ContainsFunc(d.Breaks, func(b contract.Break) bool { return slices.Contains(b.Cells, was.Cell) }):
			if d == nil && !mendedTogether(before, was.Cell) {
				continue
			}
			if is.Delivered == 0 && was.Cell.Scenario == "half" { // with other arguments, draws are others
				is = byOrdinal(t, m, c, was)
			}
			assert.Equal(t, contract.Held, is.State, "%s does not mend %v: %s", what, was.Cell, is.Why)
			assert.Positive(t, is.Delivered, "%s: no fault was delivered in %v", what, was.Cell)
		}
	}
	if d == nil {
		return 0
	}
	for _, b := range d.Breaks {
		var k int
		_, err := fmt.Sscanf(b.Invariant, "fine-%d", &k)
		require.NoError(t, err)
		if len(b.Cells) == 0 || b.Cells[0].Scenario == "half" {
			continue // what mends it there, nobody has planted
		}
		for _, name := range of[k].lacks {
			assert.Contains(t, namesOf(c), name, "%s: %s", what, of[k].name)
		}
		assert.NotEmpty(t, of[k].lacks, "%s: nothing mends %s", what, of[k].name)
	}
	return 1
}

func mendedTogether(r *contract.Report, c contract.Cell) bool {
	return slices.ContainsFunc(r.Defects, func(d contract.Defect) bool {
		return len(d.Cure.Habits) > 0 && slices.ContainsFunc(d.Breaks, func(b contract.Break) bool { return slices.Contains(b.Cells, c) })
	})
}

// failedAt matches the calls of these numbers of their targets.
type failedAt map[string]bool

func (f failedAt) Match(c chaos.Call) bool { return f[fmt.Sprint(c.Target, c.Ordinal)] }

// byOrdinal runs a cell under habits with the failures that it had, told by the numbers of their calls.
func byOrdinal(t *testing.T, m *contract.Matrix, c *contract.Cure, was contract.CellReport) contract.CellReport {
	t.Helper()
	at := failedAt{}
	for _, e := range was.Observations()[0].Events {
		if e.Delivered {
			at[fmt.Sprint(e.Target, e.Ordinal)] = true
		}
	}
	require.NotEmpty(t, at)
	r, err := m.Runner(t.Context(), &contract.RunOptions{Harness: bubbled(t)})
	require.NoError(t, err)
	defer r.Close()
	result, err := r.RunAround(t.Context(), was.Cell, []chaos.Rule{{Name: "by number", Target: "*", When: at, Fault: fault.Fail(fault.ErrUnavailable)}},
		habits.Around(HabitsOf(c, nil)...))
	require.NoError(t, err)
	return result.Cells[slices.IndexFunc(result.Cells, func(r contract.CellReport) bool { return r.Cell == was.Cell })]
}
