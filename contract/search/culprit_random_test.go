package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
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

func TestARandomAgent(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2)) // one worker: each test run is the same
	m := scripted(func(call func(string, int) error) string {
		f := each(call, 3)
		_ = call("d", draw.IntN(1e9)) // no two runs are the same
		if f["b2"] && draw.Float64() < .8 {
			return "bad"
		}
		return "ok"
	}, contract.Under("all", fails("*", nil)))
	m.Trials = 20 // of which some break
	o := &Options{}
	o.Run.Workers = 1
	r := explained(t, m, o)
	require.NotEmpty(t, r.Defects)
	d := r.Defects[0]
	assert.Equal(t, "b fails", d.Sentence)
	assert.NotEmpty(t, d.Difference, "where two runs first differ")
	assert.False(t, d.Unconfirmed)
	assert.Equal(t, 4, d.Broke)
	require.NotNil(t, d.Rate)
	assert.Greater(t, d.Rate.High, .8)
	assert.Less(t, d.Rate.Low, .8)
}

// What the report knows of the agent counts, although the run of a source was twice the
// same.
func TestAReportSaysThatTheAgentIsRandom(t *testing.T) {
	m := scripted(breaksWith(1, "b1"), contract.Under("all", fails("b", nil)))
	m.Invariants = m.Invariants[:1]
	for repeatable, runs := range map[string]bool{"": false, "yes": false, "no": true} {
		r, err := m.Run(t.Context(), &contract.RunOptions{Harness: bubbled(t)})
		require.NoError(t, err)
		r.Repeatable, r.Difference = repeatable, "trial 3: broken, then held"
		require.NoError(t, Explain(t.Context(), m, r, &Options{Budget: Budget{Runs: 2000}, Run: contract.RunOptions{Harness: bubbled(t)}}))
		require.Len(t, r.Defects, 1)
		assert.Equal(t, runs, r.Defects[0].Runs > 0, "%q: it was confirmed by further runs", repeatable)
		if runs {
			assert.Equal(t, "trial 3: broken, then held", r.Defects[0].Difference)
		}
	}
}
