package when_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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
