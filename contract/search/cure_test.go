package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// looker is a plant that reads once, under a fault of the first read.
func looker(does func(call func(string) (string, error)) string) plant {
	return plant{name: "looker", tools: onlyReader, does: does, fails: "get", when: when.First(1),
		fault: fault.Fail(fault.ErrUnavailable), holds: right}
}

// trusting is a plant that tries twice to pay, and whose first reply is lost.
func trusting(succeeded func(said string, err error) bool) plant {
	return plant{name: "trusting", tools: onlyWriter, fails: "pay", when: when.First(1), fault: fault.LoseReply(),
		does: func(call func(string) (string, error)) string {
			for range 2 {
				if succeeded(call("pay")) {
					return "paid"
				}
			}
			return "failed"
		},
		holds: func(l *ledger, target, said string, _ *contract.Observation) bool {
			return said != "gave up" && (l.done[target+"pay"] == 1) == (said == "paid")
		}}
}

// twoTools is an agent that reads the receipt of one tool, and takes any result of another for a success. The first reply
// of each is lost in a scenario.
func twoTools() *contract.Matrix {
	m := lacking(plant{name: "two", fails: "pay", when: when.First(1), fault: fault.LoseReply(),
		tools: func(l *ledger, p string) []chaos.ToolFunc {
			return []chaos.ToolFunc{writer(l, p+"pay", ""), writer(l, p+"ship", "")}
		},
		does: func(call func(string) (string, error)) (all string) {
			for _, tool := range []string{"pay", "ship"} {
				for range 2 {
					if out, err := call(tool); err == nil {
						if tool == "ship" || strings.Contains(out, "receipt") {
							all += tool
						}
						break
					}
				}
			}
			return all
		},
		holds: func(l *ledger, target, said string, _ *contract.Observation) bool {
			for _, tool := range []string{"pay", "ship"} {
				if n := l.done[target+tool]; n > 1 || n == 0 && strings.Contains(said, tool) {
					return false
				}
			}
			return true
		}})
	m.Scenarios = append(m.Scenarios, contract.Under("s1", chaos.Rule{Target: "t0.ship", When: when.First(1), Fault: fault.LoseReply()}))
	return m
}

// theCure is that of the only defect of a matrix.
func theCure(t *testing.T, m *contract.Matrix, budget Budget) (*contract.Report, *contract.Cure) {
	t.Helper()
	r := cured(t, m, budget)
	require.Len(t, r.Defects, 1)
	return r, r.Defects[0].Cure
}

// fourReads is an agent that reads a catalogue twice, then a price, and then what it does not use. The third read meets
// a fault. What the agent says of the price is up to answer, which may read the catalogue again.
func fourReads(f chaos.Fault, answer func(said string, err error, again func()) string) *contract.Matrix {
	p := looker(nil)
	p.when, p.fault = when.Nth(3), f
	p.holds = func(_ *ledger, _, said string, o *contract.Observation) bool {
		return said != "free" && called(o, "t0.get") <= 4 && o.Elapsed < 1100*time.Millisecond // no time for retries
	}
	m := lacking(p)
	world := m.NewWorld
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := world(ctx)
		w.Agent = func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			get := func(what string) (string, error) {
				out, err := tools.CallTool(ctx, "t0.get", fmt.Appendf(nil, `{"order0":%q}`, what))
				return string(out), err
			}
			again := func() { _, _ = get("catalogue") }
			again()
			again()
			said, err := get("price")
			said = answer(said, err, again)
			_, _ = get("greeting")
			return said, nil
		}
		return w, err
	}
	return m
}

func TestCureOfWhatHabitsCannotMend(t *testing.T) {
	tests := []struct {
		name, why string
		m         func() *contract.Matrix
		budget    Budget
		cut       bool
	}{
		{name: "the agent has the tools from elsewhere", why: "no habit tried: its calls do not pass World.Tools",
			m: func() *contract.Matrix {
				m := lacking(looker(looksUp(1)))
				world := m.NewWorld
				m.NewWorld = func(ctx context.Context) (*contract.World, error) {
					w, err := world(ctx)
					agent := w.Agent
					own := chaos.WrapRegistry(w.Tools, chaos.FromContext(ctx))
					w.Agent = func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
						return agent(ctx, prompt, own)
					}
					return w, err
				}
				return m
			}},
		{name: "the prompt is another one", why: "no habit here mends it", m: func() *contract.Matrix {
			m := lacking(looker(looksUp(1)))
			m.Scenarios[1] = contract.Scenario{Name: "loud", Rewrite: strings.ToUpper}
			m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
				if o.Prompt != "go" {
					return errors.New("it obeyed a loud prompt")
				}
				return nil
			}
			return m
		}},
		{name: "a habit keeps the fault away", m: func() *contract.Matrix {
			p := looker(func(call func(string) (string, error)) string {
				_, _ = call("get")
				said, _ := call("get")
				return said
			})
			p.when, p.fault = when.Nth(2), fault.Replace(map[string]int{"price": 8})
			return lacking(p)
		}, why: "no habit here is known to mend it: under remembering equal reads its faults were undelivered in 2 of 2 cells"},
		{name: "a habit moves the fault to a call that does not matter", m: func() *contract.Matrix {
			return fourReads(fault.Replace(map[string]int{"price": 0}), func(said string, _ error, _ func()) string {
				return map[bool]string{true: "free", false: said}[strings.Contains(said, `"price":0`)]
			})
		}, why: "no habit here mends it"},
		{name: "where it does, the failures that another hides are those of the right call", m: func() *contract.Matrix {
			return fourReads(fault.LoseReply(), func(said string, err error, again func()) string {
				switch {
				case errors.Is(err, fault.ErrUnavailable), err == nil && !strings.Contains(said, "error"):
					return "fine"
				case err != nil, strings.Contains(said, "unavailable"):
					return "free"
				}
				again()
				return "fine"
			})
		}, why: "under telling a tool's failure in a fixed form and remembering equal reads its cells hold, but fine-0 where its calls only fail breaks"},
		{name: "a habit breaks what held", m: func() *contract.Matrix {
			m := lacking(looker(looksUp(1)))
			m.Invariants = append(m.Invariants, contract.Invariant{Name: "one-read", Severity: contract.Low,
				Needs: contract.NeedState, Check: func(_ context.Context, o *contract.Observation) error {
					if n := called(o, "t0.get"); n > 1 {
						return fmt.Errorf("%d reads", n)
					}
					return nil
				}})
			return m
		}, why: "under bounded retries with back-off its cells hold, but s0/one-read/1 breaks"},
		{name: "a habit only hides the failure", m: func() *contract.Matrix {
			return lacking(trusting(func(_ string, err error) bool { return err == nil }))
		}, why: "under telling a tool's failure in a fixed form its cells hold, but fine-0 where its calls only fail breaks"},
		{name: "it hides the failure, and nothing held that it could break", m: func() *contract.Matrix {
			m := lacking(trusting(func(_ string, err error) bool { return err == nil }))
			m.Scenarios = m.Scenarios[1:]
			return m
		}, why: "under telling a tool's failure in a fixed form its cells hold, but fine-0 where its calls only fail breaks"},
		{name: "it hides one that another reason broke before", m: func() *contract.Matrix {
			p := trusting(func(_ string, err error) bool { return err == nil })
			does := p.does
			p.does = func(call func(string) (string, error)) string {
				gaveUp := false
				said := does(func(tool string) (string, error) {
					out, err := call(tool)
					gaveUp = gaveUp || err != nil && !errors.Is(err, fault.ErrTimeout)
					return out, err
				})
				return map[bool]string{true: "gave up", false: said}[gaveUp]
			}
			return lacking(p)
		}, why: "under telling a tool's failure in a fixed form its cells hold, but fine-0 where its calls only fail breaks for another reason"},
		{name: "it hides a time-out alone", m: func() *contract.Matrix {
			return lacking(trusting(func(said string, err error) bool { return err == nil && !strings.Contains(said, "unavailable") }))
		}, why: "under telling a tool's failure in a fixed form its cells hold, but fine-0 where its calls time out before the work breaks"},
		{name: "it hides failures of one of the defect's tools", m: twoTools,
			why: "under telling a tool's failure in a fixed form its cells hold, but fine-0 where its calls only fail breaks"},
		{name: "of the other scenario's", m: func() *contract.Matrix {
			m := twoTools()
			slices.Reverse(m.Scenarios)
			return m
		}, why: "under telling a tool's failure in a fixed form its cells hold, but fine-0 where its calls only fail breaks"},
		{name: "a habit breaks a copy, of a fault that draws", m: func() *contract.Matrix {
			m := lacking(looker(looksUp(1)))
			m.Trials = 8
			m.Invariants[0].Scenarios = []string{"calm", "s0"}
			m.Invariants = append(m.Invariants, contract.Invariant{Name: "in-time", Severity: contract.Low,
				Check: func(_ context.Context, o *contract.Observation) error {
					if o.Elapsed > 8*time.Second {
						return errors.New("late")
					}
					return nil
				}})
			m.Scenarios = append(m.Scenarios, contract.Under("slow", m.Scenarios[1].Rules[0],
				chaos.Rule{Target: "t0.get", When: when.After(1), Fault: fault.Exponential(10 * time.Second)}))
			return m
		}, why: "under bounded retries with back-off its cells hold, but slow/in-time/2 breaks"},
		{name: "what was undecided breaks", m: func() *contract.Matrix {
			m := lacking(looker(looksUp(1)))
			m.Invariants = append(m.Invariants, contract.Invariant{Name: "one-read", Severity: contract.Low,
				Needs: contract.NeedState, Check: func(_ context.Context, o *contract.Observation) error {
					if n := called(o, "t0.get"); n > 1 {
						return fmt.Errorf("%d reads", n)
					}
					return contract.ErrUndecided
				}})
			return m
		}, why: "under bounded retries with back-off its cells hold, but s0/one-read/1 breaks"},
		{name: "the budget ends first", why: "not searched to its end", m: func() *contract.Matrix { return lacking(looker(looksUp(1))) },
			budget: Budget{Runs: 3}, cut: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.budget.Runs == 0 {
				test.budget.Runs = 1000
			}
			r, c := theCure(t, test.m(), test.budget)
			assert.Empty(t, c.Habits)
			assert.Equal(t, test.why, c.Why)
			assert.Equal(t, test.cut, c.Cut)
			assert.Equal(t, test.cut, r.CureSearch.Stopped != "", r.CureSearch.Stopped)
			assert.LessOrEqual(t, r.CureSearch.Runs, test.budget.Runs)
			if r.Cure != nil {
				assert.Empty(t, r.Cure.Habits)
			}
		})
	}
}

// Nobody has tried whether the agent repeats itself: its two cells break in six more runs, or no habit is tried.
func TestCureOfAnAgentThatBreaksNowAndThen(t *testing.T) {
	for _, test := range []struct {
		repeatable string
		breaks     int64 // how often more
		tried      bool
	}{{"", 5, false}, {"", 1000, true}, {"yes", 1000, true}} {
		m, left := lacking(looker(looksUp(1))), &atomic.Int64{}
		world := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := world(ctx)
			agent := w.Agent
			w.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				said, err := agent(ctx, prompt, tools)
				if said == "failed" && left.Add(-1) < 0 {
					said = `{"price":7}`
				}
				return said, err
			}
			return w, err
		}
		o := &Options{Run: contract.RunOptions{Harness: bubbled(t)}, Budget: Budget{Runs: 1000}}
		left.Store(1000)
		r, err := m.Run(t.Context(), &o.Run)
		require.NoError(t, err)
		require.NoError(t, Explain(t.Context(), m, r, o))
		r.Repeatable = test.repeatable
		left.Store(test.breaks)
		require.NoError(t, Cure(t.Context(), m, r, o))
		require.Len(t, r.Defects, 1)
		c := r.Defects[0].Cure
		assert.Equal(t, test.tried, len(c.Habits) > 0, c.Why)
		if !test.tried {
			assert.Equal(t, "no habit tried: without habits s0/fine-0/1 did not break again", c.Why)
		}
	}
}

// A habit is tried up to the first cell in which it does not hold. Of a defect that none mends the others count as well.
func TestCureCountsWhereTheNearestHolds(t *testing.T) {
	for _, lastsFirst := range []bool{false, true} {
		m := lacking(looker(looksUp(1)))
		m.Scenarios = append(m.Scenarios, contract.Under("lasts", chaos.Rule{Target: "t0.get", Fault: fault.Fail(fault.ErrUnavailable)}))
		if lastsFirst {
			slices.Reverse(m.Scenarios)
		}
		_, c := theCure(t, m, Budget{Runs: 1000})
		assert.Equal(t, "no habit here mends it", c.Why)
		require.Len(t, c.Nearest, 1)
		assert.Equal(t, "bounded-retries", c.Nearest[0].Name)
		assert.Equal(t, []int{2, 4}, []int{c.Held, c.Cells})
		for _, p := range c.Places {
			assert.Equal(t, map[string]int{"s0": 2, "lasts": 0}[p.Scenario], p.Held, p.Scenario)
		}
	}
}

// What is tried is what is named: habits act on no tool that no world lists, and on those of a scenario's own worlds
// as these declare them.
func TestCureNamesWhereItsHabitsAct(t *testing.T) {
	key := plants()[0]
	scenarioWorlds, unlisted := lacking(key), lacking(key)
	scenarioWorlds.Scenarios[1].NewWorld = scenarioWorlds.NewWorld
	scenarioWorlds.NewWorld = lacking(looker(looksUp(1))).NewWorld
	scenarioWorlds.Invariants[0].Scenarios = []string{"s0"}
	world := unlisted.NewWorld
	unlisted.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := world(ctx)
		w.Tools = hiding{w.Tools}
		return w, err
	}
	_, c := theCure(t, scenarioWorlds, Budget{Runs: 1000})
	assert.Equal(t, []contract.CureHabit{{Name: "idempotency-key", Does: "an idempotency key", Tools: []string{"t0.pay"}}}, c.Habits, c.Why)
	r, c := theCure(t, unlisted, Budget{Runs: 1000})
	assert.Equal(t, "no habit tried: none here can act on its tools", c.Why)
	assert.Len(t, r.CureSearch.Abstained, len(habits.All()))
}

// Habits are tried on the tools of the defect, where another tool is slow by right, and two that do nothing alone too.
func TestCureFindsWhatIsRightOnTheToolOfTheDefectAlone(t *testing.T) {
	deadline, key := plants()[3], plants()[19]
	require.Equal(t, "deadline 3", deadline.name)
	require.Equal(t, "key and retry 19", key.name)
	slow := func(tools func(*ledger, string) []chaos.ToolFunc) func(*ledger, string) []chaos.ToolFunc {
		return func(l *ledger, prefix string) []chaos.ToolFunc {
			return append(tools(l, prefix), chaos.Func(chaos.Tool{Name: prefix + "train", Effect: chaos.EffectDone, InputSchema: inputOf(prefix)},
				func(ctx context.Context, _ struct{}) (string, error) {
					return "trained", chaos.Sleep(ctx, 15*time.Second)
				}))
		}
	}
	for _, p := range []plant{deadline, key} {
		does, tools := p.does, p.tools
		p.tools, p.does = slow(tools), func(call func(string) (string, error)) string {
			if out, _ := call("train"); !strings.Contains(out, "trained") {
				return "not trained"
			}
			return does(call)
		}
		_, c := theCure(t, lacking(p), Budget{Runs: 1000})
		assert.ElementsMatch(t, p.lacks, namesOf(c), c.Why)
		for _, h := range c.Habits {
			assert.Equal(t, []string{"t0." + p.fails}, h.Tools, h.Name)
		}
	}
}

// A fault on a look that the agent makes by a habit in its own code reaches the agent.
func TestCureOfAnAgentThatHasAHabit(t *testing.T) {
	slow := plants()[3]
	require.Equal(t, "deadline 3", slow.name)
	slow.tools, slow.does = both, pays(1)
	m := lacking(slow)
	world := m.NewWorld
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		w, err := world(ctx)
		agent := w.Agent
		w.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
			return agent(ctx, prompt, habits.Around(habits.LookFirst(nil))(tools))
		}
		return w, err
	}
	m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
		if o.Elapsed > 50*time.Second {
			return errors.New("late")
		}
		return nil
	}
	_, c := theCure(t, m, Budget{Runs: 1000})
	assert.Equal(t, []string{"deadline"}, namesOf(c), c.Why)
}

// Whatever number of runs ends a search, it says so unless it says what the whole search does.
func TestCureThatIsCutSaysSo(t *testing.T) {
	three := looker(looksUp(1)) // it lacks three habits
	three.when, three.fault = nil, nil
	m := lacking(three)
	m.Scenarios[1].Rules = []chaos.Rule{
		{Name: "bad", Target: "t0.get", When: when.First(1), Fault: fault.Replace("oops")},
		{Name: "slow", Target: "t0.get", When: when.Nth(2), Fault: fault.Delay(100 * time.Second)},
	}
	m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
		if !strings.Contains(o.Response, "price") || o.Elapsed > 50*time.Second || strings.Contains(o.Response, "oops") {
			return errors.New(o.Response)
		}
		return nil
	}
	r, whole := theCure(t, m, Budget{Runs: 1000})
	t.Log(r.CureSearch.Runs, whole)
	cut := 0
	for runs := 1; runs < r.CureSearch.Runs; runs++ {
		got, c := theCure(t, m, Budget{Runs: runs})
		require.NotNil(t, got.Cure, runs)
		assert.True(t, got.Cure.Cut || got.Cure.Defects == 1, runs)
		assert.True(t, c.Cut || assert.ObjectsAreEqual(whole.Habits, c.Habits), "%d runs: %v", runs, c)
		if c.Cut && len(c.Habits) > 0 {
			cut++
		}
	}
	assert.Positive(t, cut, "habits were being left out")
}

// An invariant that compares with the run without faults sees one under the same habits, as when the matrix runs so.
func TestCureComparesUnderTheSameHabits(t *testing.T) {
	look := plants()[1]
	require.Equal(t, "look 1", look.name)
	m := lacking(look)
	m.Invariants = append(m.Invariants, contract.Invariant{Name: "calls-as-calm", Severity: contract.Low, Needs: contract.NeedCalm,
		Check: func(_ context.Context, o *contract.Observation) error {
			if n := len(o.Calm.Events) + 2; len(o.Events) > n {
				return fmt.Errorf("%d calls, and %d are allowed", len(o.Events), n)
			}
			return nil
		}})
	_, c := theCure(t, m, Budget{Runs: 1000})
	assert.Equal(t, look.lacks, namesOf(c), c.Why)
}

// A hiding registry lists no tools.
type hiding struct{ chaos.ToolRegistry }

func (hiding) Tools(context.Context) ([]chaos.Tool, error) { return nil, nil }

// Under a habit that answers at once an agent that polls would stand still in virtual time. Such a run decides nothing,
// and the search goes on.
func TestCureOfAnAgentThatPolls(t *testing.T) {
	p := looker(func(call func(string) (string, error)) string {
		said := ""
		for began := time.Now(); time.Since(began) < time.Second; {
			out, err := call("get")
			if err != nil {
				return "failed"
			}
			said = out
		}
		return said
	})
	p.tools = func(l *ledger, prefix string) []chaos.ToolFunc {
		return []chaos.ToolFunc{chaos.Func(chaos.Tool{Name: prefix + "get", Effect: chaos.EffectNone, InputSchema: inputOf(prefix)},
			func(context.Context, struct{}) (map[string]int, error) {
				time.Sleep(100 * time.Millisecond)
				return map[string]int{"price": 7}, nil
			})}
	}
	p.when = when.Nth(2)
	_, c := theCure(t, lacking(p), Budget{Runs: 1000})
	assert.Equal(t, []string{"bounded-retries"}, namesOf(c), c.Why)
}

// curedInOrder is cured by one worker, which takes the draws of an agent in order.
func curedInOrder(t *testing.T, m *contract.Matrix) *contract.Report {
	t.Helper()
	run := contract.RunOptions{Harness: bubbled(t), Workers: 1}
	r, err := m.Run(t.Context(), &run)
	require.NoError(t, err)
	o := &Options{Run: run, Budget: Budget{Runs: 5000}}
	require.NoError(t, Explain(t.Context(), m, r, o))
	require.NoError(t, Cure(t.Context(), m, r, o))
	return r
}

// An agent that does not repeat itself is mended only if none of many runs breaks. One worker takes the draws in order.
func TestCureOfARandomAgent(t *testing.T) {
	for name, mends := range map[string]bool{"gives up now and then": true, "claims now and then": false} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			draw := rand.New(rand.NewPCG(36, 1))
			p := looker(func(call func(string) (string, error)) string {
				mu.Lock()
				careless, mood := draw.IntN(10) < 6, draw.IntN(1000)
				mu.Unlock()
				if careless && !mends {
					_, _ = call("get")
					return fmt.Sprint("made up ", mood)
				}
				return fmt.Sprint(looksUp(map[bool]int{true: 1, false: 2}[careless])(call), " ", mood)
			})
			m := lacking(p)
			m.Trials = 12
			if !mends {
				m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
					if strings.HasPrefix(o.Response, "made up") && len(o.Events) > 0 && o.Events[0].Delivered {
						return errors.New("it made that up")
					}
					return nil
				}
			}
			r := curedInOrder(t, m)
			require.NotEmpty(t, r.Defects)
			c := r.Defects[0].Cure
			if !mends {
				assert.Empty(t, c.Habits, "%v", c)
				assert.Contains(t, c.Why, "no habit here mends it")
				return
			}
			assert.Equal(t, []string{"bounded-retries"}, namesOf(c), c.Why)
			assert.True(t, c.Random)
			assert.Equal(t, c.Cells, c.Held)
			assert.Greater(t, c.Held, 5, "a few runs say nothing")
		})
	}
}

// Of an agent that does not repeat itself habits must not hide a failure either, nor break more often what breaks now
// and then, within a promised rate.
func TestCureOfARandomAgentThatTrusts(t *testing.T) {
	draw, moods := rand.New(rand.NewPCG(36, 2)), rand.New(rand.NewPCG(36, 4)) // each agent has its own
	lost := trusting(func(_ string, err error) bool { return err == nil })
	does, holds := lost.does, lost.holds
	lost.does = func(call func(string) (string, error)) string { return fmt.Sprint(does(call), " ", draw.IntN(1000)) }
	lost.holds = func(l *ledger, target, said string, o *contract.Observation) bool {
		verdict, _, _ := strings.Cut(said, " ")
		return holds(l, target, verdict, o)
	}
	down := plant{name: "silent", tools: onlyWriter, fails: "pay", fault: fault.Fail(fault.ErrUnavailable),
		does: func(call func(string) (string, error)) string { // it does not tell most failures
			said, mood := "paid", moods.IntN(1000)
			if _, err := call("pay"); err != nil && mood >= 300 {
				said = "hello"
			}
			return fmt.Sprint(said, " ", mood)
		},
		holds: func(_ *ledger, _, said string, _ *contract.Observation) bool {
			return !strings.HasPrefix(said, "hello")
		}}
	promised := lacking(down)
	promised.Invariants = append(promised.Invariants, contract.Invariant{Name: "true", Severity: contract.High, AtLeast: .5,
		Needs: contract.NeedState, Check: func(_ context.Context, o *contract.Observation) error {
			if o.After.(*ledger).done["t0.pay"] == 0 && strings.HasPrefix(o.Response, "paid") {
				return errors.New("it was not paid")
			}
			return nil
		}})
	for why, m := range map[string]*contract.Matrix{
		"fine-0 where its calls only fail breaks more often": lacking(lost), "s0/true breaks more often": promised,
	} {
		m.Trials = 12
		r := curedInOrder(t, m)
		require.Len(t, r.Defects, 1)
		assert.Equal(t, "under telling a tool's failure in a fixed form its cells hold, but "+why, r.Defects[0].Cure.Why)
		assert.Nil(t, r.Cure)
	}
}

// Runs that break as often under habits are seldom taken for worse, and those that break much more often are.
func TestOftener(t *testing.T) {
	draw := rand.New(rand.NewPCG(36, 3))
	yes, no := &runDigest{States: []*judged{{Invariant: "i", Broke: true}}}, &runDigest{}
	nth := func(set habitSet, _ int) runRequest { return runRequest{Detail: len(set)} }
	broken := func(base, run *runDigest) (was, is bool) { return base.Broke(), run.Broke() }
	for _, row := range []struct{ without, under, least, most float64 }{
		{0, 0, 0, 0}, {1, 1, 0, 0}, {.1, .1, 0, .2}, {.3, .3, 0, .2}, {.5, .5, 0, .2}, {.6, .3, 0, .01},
		{0, .4, .95, 1}, {0, 1, 1, 1}, {.2, 1, .99, 1}, {.5, 1, .95, 1},
	} {
		refused := 0
		for range 1000 {
			ask := func(r runRequest) *runDigest {
				if draw.Float64() < []float64{row.without, row.under}[r.Detail] {
					return yes
				}
				return no
			}
			if (&curer{}).oftener(ask, nth, habitSet{{}}, broken) {
				refused++
			}
		}
		t.Log(row, refused)
		assert.GreaterOrEqual(t, float64(refused)/1000, row.least, "%v", row)
		assert.LessOrEqual(t, float64(refused)/1000, row.most, "%v", row)
	}
}

// Runs that are equal without habits are so under them: no pause is drawn by the trial.
func TestCureOfCopies(t *testing.T) {
	m := lacking(plant{name: "once", tools: keyedWriter, does: pays(1), fails: "pay", when: when.First(2),
		fault: fault.Timeout(time.Second), holds: paidOnce})
	m.Trials = 10
	r, c := theCure(t, m, Budget{Runs: 1000})
	require.Equal(t, []string{"bounded-retries", "idempotency-key"}, namesOf(c), c.Why)
	after, err := m.Run(t.Context(), &contract.RunOptions{Harness: bubbled(t), Around: habits.Around(HabitsOf(c, nil)...), Keep: contract.KeepAll})
	require.NoError(t, err)
	took := map[time.Duration]bool{}
	for i := range after.Cells {
		if r.Cells[i].Violated {
			took[after.Cells[i].Observations()[0].Elapsed] = true
		}
	}
	assert.Len(t, took, 1)
}

// In a world that all cells share, which is reset before each, runs under habits are made one at a time too.
func TestCureInASharedWorld(t *testing.T) {
	m := lacking(looker(looksUp(1)))
	w, err := m.NewWorld(t.Context())
	require.NoError(t, err)
	resets := 0
	m.NewWorld, m.World = nil, w
	m.Reset = func(context.Context) error { resets++; return nil }
	r, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	o := &Options{Budget: Budget{Runs: 500}, Habits: []*habits.Habit{habits.TellFailures(nil),
		habits.Retries(&habits.Options{Wait: time.Microsecond})}}
	require.NoError(t, Explain(t.Context(), m, r, o))
	before := resets
	require.NoError(t, Cure(t.Context(), m, r, o))
	require.Len(t, r.Defects, 1)
	assert.Equal(t, []string{"bounded-retries"}, namesOf(r.Defects[0].Cure), r.Defects[0].Cure.Why)
	assert.GreaterOrEqual(t, resets-before, r.CureSearch.Runs)
}
