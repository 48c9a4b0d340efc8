package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// tallied is what simulations of a random agent came to.
type tallied struct {
	right, wrong, unconfirmed int
	runs                      []int
}

// simulate searches 14 deliveries of which one is the culprit. A run breaks with one chance
// if it is among them, and with another if it is not.
func simulate(times int, with, without float64, seed uint64) (all tallied) {
	const n, culprit = 14, 9
	for i := range times {
		draw, runs := rand.New(rand.NewPCG(seed, uint64(i))), 0
		known := map[string][]bool{}
		c := fewestRandom(n, func(set []int, k int) (bool, bool) {
			fresh := k >= freshRuns
			flips := func() bool {
				runs++
				if slices.Contains(set, culprit) {
					return draw.Float64() < with
				}
				return draw.Float64() < without
			}
			if fresh {
				return flips(), true
			}
			key := string(func() (b []byte) {
				for _, x := range set {
					b = append(b, byte(x))
				}
				return b
			}())
			for len(known[key]) <= k { // runs of a set are cached
				known[key] = append(known[key], flips())
			}
			return known[key][k], true
		})
		switch {
		case !c.OK:
			all.unconfirmed++
		case slices.Equal(c.set, []int{culprit}), len(c.set) == 0 && without > 0:
			all.right++
		default:
			all.wrong++
		}
		all.runs = append(all.runs, runs)
	}
	slices.Sort(all.runs)
	return all
}

// The shares are of the searches that confirmed what they found.
func TestRandomAgentsBySimulation(t *testing.T) {
	const times = 1000
	for _, row := range []struct{ with, without float64 }{{.9, 0}, {.7, .05}, {.4, .02}} {
		got := simulate(times, row.with, row.without, 1)
		t.Logf("breaks at %.2f with it, %.2f without: right %d, wrong %d, unconfirmed %d of %d; median %d runs",
			row.with, row.without, got.right, got.wrong, got.unconfirmed, times, got.runs[times/2])
		assert.GreaterOrEqual(t, float64(got.right)/times, .97, "right, at %v", row)
		assert.LessOrEqual(t, float64(got.wrong)/times, .005, "wrong, at %v", row)
	}
}

// Nobody finds the culprit for sure where the agent often breaks without it. What is then
// confirmed is the culprit, or that it breaks without any fault: seldom a fault that has
// nothing to do with it.
func TestRandomAgentsThatOftenBreakWithoutTheCulprit(t *testing.T) {
	const times = 1000
	for _, row := range []struct{ with, without float64 }{{.9, .1}, {.9, .3}, {.8, .2}, {.6, .3}, {.4, .1}, {.4, .2}, {.3, .15}} {
		got := simulate(times, row.with, row.without, 1)
		t.Logf("breaks at %.2f with it, %.2f without: right %d, wrong %d, unconfirmed %d of %d; median %d runs",
			row.with, row.without, got.right, got.wrong, got.unconfirmed, times, got.runs[times/2])
		assert.LessOrEqual(t, float64(got.wrong)/times, .05, "wrong, at %v", row)
	}
}
