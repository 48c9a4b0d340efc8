package when_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// forwards is the chain as the papers have it: one step after the other from
// the first call of a block, with a state that is remembered.
func forwards(enter, leave float64, from chaos.Call, calls int) (down []bool) {
	state := false
	for n := range uint64(calls) {
		from.Key = 0
		u := from.At(n, n).Draw(when.DrawStep)
		switch {
		case n%when.Block == 0:
			state = u < enter/(enter+leave)
		case state:
			state = u < 1-leave
		default:
			state = u < enter
		}
		down = append(down, state)
	}
	return down
}

// Walking back finds the states that walking forwards passes through, whatever
// the arguments of the calls and whatever part of a combination asks.
func TestMarkovWalksBackToTheChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		probability := rapid.OneOf(rapid.Float64Range(0.0005, 1), rapid.SampledFrom([]float64{1, 0.5, 0.999, 1e-9}))
		enter, leave := probability.Draw(t, "enter"), probability.Draw(t, "leave")
		if enter == 1 && leave == 1 {
			leave = 0.5
		}
		cell := chaos.Call{Cell: rapid.String().Draw(t, "cell"), Lane: rapid.String().Draw(t, "lane"), Target: "t"}.
			Sub(rapid.IntRange(0, 3).Draw(t, "part"))
		calls := rapid.SampledFrom([]int{1, 20, 300, when.Block + 50}).Draw(t, "calls")
		w, want := when.Markov(enter, leave), forwards(enter, leave, cell, calls)
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, calls-1), 1, 30).Draw(t, "asked") {
			c := cell.At(rapid.Uint64().Draw(t, "occurrence"), uint64(n))
			c.Key = rapid.Uint64().Draw(t, "key")
			if got := w.Match(c); got != want[n] {
				t.Fatalf("call %d is down: %v; in the chain: %v", n, got, want[n])
			}
		}
	})
}

// chain counts what a trigger does over many cells.
func chain(w chaos.When) (rate, meanBurst, meanPause float64) {
	const cells, calls = 200, 250
	matched, bursts, pauses := 0, 0, 0
	for cell := range cells {
		last := false
		for n := range uint64(calls) {
			now := w.Match(chaos.Call{Cell: fmt.Sprint(cell), Target: "t", Ordinal: n, Occurrence: n})
			if now {
				matched++
			}
			if n > 0 && last && !now {
				bursts++
			}
			if n > 0 && !last && now {
				pauses++
			}
			last = now
		}
	}
	return float64(matched) / (cells * calls), float64(matched) / float64(bursts), float64(cells*calls-matched) / float64(pauses)
}

// The documented formulas hold.
func TestMarkovRates(t *testing.T) {
	for _, c := range []struct {
		why          string
		enter, leave float64
	}{
		{"the example of the documentation", 0.05, 0.45},
		{"rare and long", 0.01, 0.05},
		{"mostly down", 0.5, 0.1},
		{"independent calls: the steps forget at once", 0.3, 0.7},
		{"more turning than staying", 0.8, 0.6},
		{"bursts of exactly one call", 0.2, 1},
		{"pauses of exactly one call", 1, 0.3},
	} {
		t.Run(c.why, func(t *testing.T) {
			rate, burst, pause := chain(when.Markov(c.enter, c.leave))
			want := c.enter / (c.enter + c.leave)
			// The variance of a mean over a chain is that of independent calls times (1+λ)/(1-λ).
			lambda := 1 - c.enter - c.leave
			assert.InDelta(t, want, rate, 5*math.Sqrt(want*(1-want)/50_000*(1+lambda)/(1-lambda))+1e-9, "share")
			assert.InEpsilon(t, 1/c.leave, burst, 0.1, "mean burst")
			assert.InEpsilon(t, 1/c.enter, pause, 0.1, "mean pause")
		})
	}
}

// The first call already has the share of the long run.
func TestMarkovIsStationaryFromTheStart(t *testing.T) {
	const cells = 20_000
	for _, n := range []uint64{0, 1, 7, when.Block} {
		matched := 0.0
		for cell := range cells {
			if when.Markov(0.1, 0.3).Match(chaos.Call{Cell: fmt.Sprint(cell), Ordinal: n, Occurrence: n}) {
				matched++
			}
		}
		assert.InDelta(t, 0.25, matched/cells, 4*0.5/math.Sqrt(cells), "call %d", n)
	}
}

// With errors in both states the share is a mean of the two, weighted by how
// long each lasts.
func TestGilbertElliottRate(t *testing.T) {
	for _, c := range []struct{ enter, leave, good, bad float64 }{
		{0.05, 0.2, 0.01, 0.8}, {0.1, 0.1, 0.5, 0.5}, {0.3, 0.3, 0, 0.5}, {0.3, 0.1, 1, 0},
	} {
		rate, _, _ := chain(when.GilbertElliott(c.enter, c.leave, c.good, c.bad))
		want := (c.leave*c.good + c.enter*c.bad) / (c.enter + c.leave)
		assert.InDelta(t, want, rate, 0.02, "%+v", c)
	}
}

// A state that lasts nearly for ever costs a bounded walk.
func TestMarkovWalkIsBounded(t *testing.T) {
	w := when.Markov(1e-300, 1e-300)
	assert.NotPanics(t, func() { w.Match(chaos.Call{Ordinal: math.MaxUint64}) })
	for n := uint64(1); n < when.Block; n += 97 {
		assert.Equal(t, w.Match(chaos.Call{}), w.Match(chaos.Call{Ordinal: n}), "within a block nothing happens")
	}
}

// A dependency that several targets share goes down for all of them: in a
// group the chain runs over their calls as one sequence.
func TestMarkovInAGroup(t *testing.T) {
	rule := chaos.Rule{Name: "shared", Target: "{orders,stock}", Group: "database", When: when.Markov(0.1, 0.2), Fault: fault.Fail(fault.ErrUnavailable)}
	alternate := func(targets ...string) (pattern string) {
		p, err := chaos.NewPlan(3, rule)
		require.NoError(t, err)
		ctx := chaos.NewContext(context.Background(), p.Injector("cell", nil))
		for n := range 200 {
			if chaos.Point(ctx, targets[n%len(targets)]) != nil {
				pattern += "x"
			} else {
				pattern += "."
			}
		}
		return pattern
	}
	want := alternate("orders")
	assert.Contains(t, want, "xxxx", "bursts")
	assert.Equal(t, want, alternate("stock"))
	assert.Equal(t, want, alternate("orders", "stock"), "whichever target is called, the state is that of the group")
	assert.Equal(t, want, alternate("stock", "stock", "orders"))
	rule.Group = ""
	assert.NotEqual(t, alternate("orders"), alternate("stock"), "without a group each target has a chain of its own")
}

// sorted puts events in the order of their coordinates, which no scheduler can disturb.
func sorted(events []chaos.Event) []chaos.Event {
	slices.SortFunc(events, func(a, b chaos.Event) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Target, b.Target),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Occurrence, b.Occurrence))
	})
	return events
}

// A rule's draws stay where they are when other rules join it, before or after
// it, on its target or elsewhere, and when other targets are called.
func TestOthersMoveNoDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		watched := chaos.Rule{Name: "watched", Target: "orders", When: anyDrawing(t, "watched"), Fault: anyHarmless(t, "watched")}
		var before, after []chaos.Rule
		for i, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-v]{1,3}`), 0, 4, rapid.ID).Draw(t, "others") {
			r := chaos.Rule{Name: name, Target: rapid.SampledFrom([]string{"orders", "stock", "*"}).Draw(t, "target"),
				When: anyDrawing(t, name), Fault: anyHarmless(t, name)}
			if i%2 == 0 {
				before = append(before, r)
			} else {
				after = append(after, r)
			}
		}
		alone := draws(t, seed, false, watched)
		crowded := draws(t, seed, true, slices.Concat(before, []chaos.Rule{watched}, after)...)
		if !slices.Equal(alone, crowded) {
			t.Fatalf("alone the rule matched %v, among others %v", alone, crowded)
		}
	})
}

func anyDrawing(t *rapid.T, label string) chaos.When {
	p := when.Prob(rapid.Float64Range(0, 1).Draw(t, label+" p"))
	return rapid.SampledFrom([]chaos.When{nil, p, when.Not(p), when.Any(p, when.Every(3)), when.All(when.After(2), p)}).Draw(t, label+" when")
}

func anyHarmless(t *rapid.T, label string) chaos.Fault {
	return rapid.SampledFrom([]chaos.Fault{
		fault.Fail(fault.ErrInternal), fault.Replace(1), fault.Duplicate(), fault.Timeout(0), fault.LoseReplyAfter(0),
	}).Draw(t, label+" fault")
}

// draws makes thirty calls and returns the numbers of those that the watched
// rule matched, delivered or not.
func draws(t *rapid.T, seed uint64, others bool, rules ...chaos.Rule) (drawn []int) {
	p, err := chaos.NewPlan(seed, rules...)
	if err != nil {
		t.Fatal(err)
	}
	in := p.Injector("cell", nil)
	ctx := chaos.NewContext(context.Background(), in)
	zero := func(context.Context, int) (int, error) { return 0, nil }
	orders, stock := chaos.Wrap("orders", zero), chaos.Wrap("stock", zero)
	for n := range 30 {
		if others {
			_, _ = stock(ctx, n)
		}
		_, _ = orders(ctx, n)
	}
	for _, e := range in.Events() {
		names := slices.Concat([]string{e.Rule}, e.Also, e.Idle, e.Masked)
		if e.Target == "orders" && slices.Contains(names, "watched") {
			drawn = append(drawn, int(e.Ordinal))
		}
	}
	return drawn
}

// The injector, which decides a bare probability by itself, and the trigger
// agree on every call, also at the edges.
func TestProbabilityAgreesWithMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0x1p-53, 0.5, 1 - 0x1p-53, 1})).Draw(t, "p")
		w := when.Prob(p)
		if got := w.(chaos.Probabilistic).Probability(); got != p {
			t.Fatalf("Probability is %v, want %v", got, p)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		rule := chaos.Rule{Name: "watched", Target: "orders", When: w, Fault: fault.Fail(fault.ErrInternal)}
		known := draws(t, seed, false, rule)
		rule.When = opaque{w}
		if asked := draws(t, seed, false, rule); !slices.Equal(known, asked) {
			t.Fatalf("at %v the injector draws %v, Match %v", p, known, asked)
		}
	})
}

// opaque hides what a trigger is.
type opaque struct{ w chaos.When }

func (o opaque) Match(c chaos.Call) bool { return o.w.Match(c) }

//go:noinline
func bare(_ context.Context, n int) (int, error) { return n + 1, nil }

// BenchmarkTrigger is a wrapped call with a rule whose trigger says no. Read it by
// BenchmarkCall/byHand of package chaos in the same run.
func BenchmarkTrigger(b *testing.B) {
	work := chaos.Wrap("work", bare)
	const far = 1 << 30
	for _, c := range []struct {
		name string
		when chaos.When
	}{
		{"Prob", when.Prob(1e-12)},
		{"Nth", when.Nth(far)},
		{"First", when.First(1)},
		{"After", when.After(far)},
		{"Every", when.Every(far)},
		{"Intermittent", when.Intermittent(1, far)},
		{"Burst", when.Burst(far, 1)},
		{"Late", when.Late(far)},
		{"Not", when.Not(when.Always())},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := chaos.NewPlan(1, chaos.Rule{Target: "work", When: c.when, Fault: fault.Fail(errors.New("down"))})
			require.NoError(b, err)
			ctx := chaos.NewContext(b.Context(), p.Injector("cell", nil))
			_, _ = work(ctx, 0) // the first call, which some match
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, _ = work(ctx, i)
			}
		})
	}
}

func TestStagesOfCalls(t *testing.T) {
	never, always := when.Prob(0), when.Always()
	for _, c := range []struct {
		why  string
		list []when.Stage
		want []int
	}{
		{"calm, then down, then over", []when.Stage{{Calls: 3, When: never}, {Calls: 4, When: always}}, []int{4, 5, 6, 7}},
		{"the last for good", []when.Stage{{Calls: 8, When: never}, {When: always}}, []int{9, 10}},
		{"a single one for good", []when.Stage{{When: always}}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"counting from the stage's beginning", []when.Stage{{Calls: 4, When: when.Nth(1)}, {Calls: 4, When: when.Nth(1, 3)}}, []int{1, 5, 7}},
		{"stages within a stage", []when.Stage{{Calls: 2, When: never}, {Calls: 6, When: when.Stages(
			when.Stage{Calls: 1, When: always}, when.Stage{Calls: 1, When: never}, when.Stage{When: when.Every(2)})}}, []int{3, 6, 8}},
		{"none at all", nil, nil},
	} {
		t.Run(c.why, func(t *testing.T) { assert.Equal(t, c.want, numbers(when.Stages(c.list...))) })
	}
	rising := when.Stages(when.Stage{Calls: 4, When: always}, when.Stage{When: never})
	assert.Equal(t, []int{2, 4}, numbers(when.All(rising, when.Every(2))))
}

// What goes by the clock, asked once a second. A window is half open: it begins at from
// and is over at to.
func TestByTheClock(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		why  string
		when chaos.When
		want string
	}{
		{"from the start", when.Between(0, 2*s), "xx......."},
		{"in the middle", when.Between(s, 3*s), ".xx......"},
		{"without end", when.Since(3 * s), "...xxxxxx"},
		{"outside", when.Not(when.Between(s, 4*s)), "x...xxxxx"},
		{"on and off", when.Flapping(2*s, 3*s), "xx...xx.."},
		{"in stages", when.Stages(when.Stage{For: 2 * s, When: when.Prob(0)}, when.Stage{For: 3 * s, When: when.Always()},
			when.Stage{For: s, When: when.Prob(0)}, when.Stage{When: when.Since(7 * s)}), "..xxx..xx"},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := chaos.NewPlan(1, chaos.Rule{Target: "t", When: c.when, Fault: fault.Fail(fault.ErrUnavailable)})
				require.NoError(t, err)
				ctx := chaos.NewContext(t.Context(), p.Injector("", nil))
				pattern := ""
				for range c.want {
					pattern += mark(chaos.Point(ctx, "t"))
					time.Sleep(s)
				}
				assert.Equal(t, c.want, pattern)
			})
		})
	}
}

func mark(err error) string {
	if err != nil {
		return "x"
	}
	return "."
}

// The stages of arguments ask for them, those of coordinates do not.
func TestStagesPassArgumentsOn(t *testing.T) {
	even := when.Args("even", func(n int) bool { return n%2 == 0 })
	w := when.Stages(when.Stage{Calls: 3, When: even}, when.Stage{When: when.Not(even)})
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "t", When: w, Fault: fault.Fail(fault.ErrUnavailable)})
	require.NoError(t, err)
	ctx := chaos.NewContext(context.Background(), p.Injector("", nil))
	fn := chaos.Wrap("t", func(_ context.Context, n int) (int, error) { return n, nil })
	pattern := ""
	for n := range 6 {
		_, err := fn(ctx, n)
		pattern += mark(err)
	}
	assert.Equal(t, "x.xx.x", pattern)
	assert.NotImplements(t, (*chaos.ArgsWhen)(nil), when.Stages(when.Stage{When: when.Prob(1)}))
}

// The stages draw independently, and so do equal triggers in them.
func TestStagesDrawIndependently(t *testing.T) {
	half := when.Prob(0.5)
	w := when.Stages(when.Stage{Calls: 1000, When: half}, when.Stage{Calls: 1000, When: half})
	differ := 0
	for occurrence := range uint64(400) {
		if w.Match(chaos.Call{Target: "t", Occurrence: occurrence}) != w.Match(chaos.Call{Target: "t", Ordinal: 1000, Occurrence: occurrence}) {
			differ++
		}
	}
	assert.InDelta(t, 200, differ, 50)
}

// Each call of a run lies in exactly one third, none of which is empty; what
// comes after the run is late.
func TestThirds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 200).Draw(t, "calls")
		sizes := [3]int{}
		last := 0
		for i := range n + 5 {
			c := chaos.Call{Ordinal: uint64(i)}
			which := -1
			for k, w := range []chaos.When{when.Early(n), when.Mid(n), when.Late(n)} {
				if w.Match(c) {
					if which >= 0 {
						t.Fatalf("call %d of %d is in two thirds", i, n)
					}
					which = k
				}
			}
			if which < last {
				t.Fatalf("call %d of %d is in third %d, after one in %d", i, n, which, last)
			}
			if last = which; i < n {
				sizes[which]++
			}
		}
		if min(sizes[0], sizes[1], sizes[2]) < n/3 || max(sizes[0], sizes[1], sizes[2]) > n/3+1 {
			t.Fatalf("the thirds of %d calls have %v", n, sizes)
		}
	})
}
