package search

import (
	"context"
	"errors"
	"math/rand/v2"
	"pgregory.net/rapid"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
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
		c := fewestRandom(n, func(set partSet, k int) (bool, bool) {
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
		case slices.Equal(c.set, partSet{culprit}), len(c.set) == 0 && without > 0:
			all.right++
		default:
			all.wrong++
		}
		all.runs = append(all.runs, runs)
	}
	slices.Sort(all.runs)
	return all
}

// The shares are of the searches that confirmed what they found. Nobody finds the culprit for sure
// where the agent often breaks without it. What is then confirmed is the culprit, or that it breaks
// without any fault: seldom a fault that has nothing to do with it.
func TestRandomAgentsBySimulation(t *testing.T) {
	const times = 1000
	for _, row := range []struct{ with, without, right, wrong float64 }{
		{.9, 0, .97, .005}, {.7, .05, .97, .005}, {.4, .02, .97, .005},
		{.9, .1, 0, .05}, {.9, .3, 0, .05}, {.8, .2, 0, .05}, {.6, .3, 0, .05}, {.4, .1, 0, .05}, {.4, .2, 0, .05}, {.3, .15, 0, .05},
	} {
		got := simulate(times, row.with, row.without, 1)
		t.Logf("breaks at %.2f with it, %.2f without: right %d, wrong %d, unconfirmed %d of %d; median %d runs",
			row.with, row.without, got.right, got.wrong, got.unconfirmed, times, got.runs[times/2])
		assert.GreaterOrEqual(t, float64(got.right)/times, row.right, "right, at %v", row)
		assert.LessOrEqual(t, float64(got.wrong)/times, row.wrong, "wrong, at %v", row)
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

// What a call came to, from none over the milder faults to the scenario's own.
const (
	went = iota
	failed
	timedOut
	garbled
)

// telling is a matrix whose agent calls a, b and c once each, of which the scenario garbles
// all. It breaks as bad says of what the calls came to.
func telling(bad func(a, b, c int) bool) *contract.Matrix {
	m := scripted(nil, contract.Under("garbled", chaos.Rule{Target: "*", Fault: lies.Malformed()}))
	m.Invariants = m.Invariants[:1]
	setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		came := map[string]int{}
		for _, tool := range []string{"a", "b", "c"} {
			doc, err := tools.CallTool(ctx, tool, []byte(`{"n":1}`))
			switch {
			case errors.Is(err, fault.ErrUnavailable):
				came[tool] = failed
			case err != nil:
				came[tool] = timedOut
			case string(doc) != "1":
				came[tool] = garbled
			}
		}
		if bad(came["a"], came["b"], came["c"]) {
			return "bad", nil
		}
		return "ok", nil
	})
	return m
}

// A fault that is needed beside the others as they were may not be needed beside milder
// ones: the sentence does not name it.
func TestNothingSuperfluousIsLeftAfterMilderFaults(t *testing.T) {
	for _, row := range []struct {
		name     string
		bad      func(a, b, c int) bool
		sentence string
		fact     string // "": none of the kind
	}{
		{"a garbled answer breaks it with another, a failure of a alone",
			func(a, b, _ int) bool { return a == failed || a == garbled && b == garbled }, "a fails", ""},
		{"a time-out alone, and what is milder holds", func(a, b, _ int) bool {
			return a == timedOut || a == garbled && b == garbled
		}, "a times out before the work", "when it only fails, it holds"},
		{"a time-out beside the other, a failure alone: mild again after the other was left out",
			func(a, b, _ int) bool {
				return a == timedOut || a == failed && b == went || a == garbled && b == garbled
			}, "a fails", ""},
		{"three garbled, two failures", func(a, b, c int) bool {
			return a == garbled && b == garbled && c == garbled || a == failed && c == failed ||
				a == failed && b == garbled && c == garbled
		}, "a fails, then c fails", "with one of the two it holds"},
		{"all three are needed", func(a, b, c int) bool { return a*b*c > 0 }, "a fails, then b fails, then c fails",
			"without any one of the 3 it holds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			r := explained(t, telling(row.bad), &Options{Dir: dir})
			require.Equal(t, []string{row.sentence + " → fine"}, sentences(r))
			d := r.Defects[0]
			assert.False(t, d.Cut)
			assert.Len(t, d.Deliveries, strings.Count(row.sentence, "a ")+strings.Count(row.sentence, "b ")+strings.Count(row.sentence, "c "))
			facts := strings.Join(d.Facts, "; ")
			if _, call, decided := strings.Cut(facts, "it is decided at call 1 of "); decided {
				assert.Contains(t, row.sentence, call[:1]+" ", "a call that the sentence names")
			}
			if row.fact != "" {
				assert.Contains(t, facts, row.fact)
			} else {
				assert.NotContains(t, facts, "holds")
			}
			kept := keptIn(t, dir)
			require.Len(t, kept, 1)
			assert.Equal(t, StatusOngoing, rerun(t, kept[0], telling(row.bad)), "the file has the same faults")
		})
	}
}

// Whatever the agent does under each of 4³ combinations: what is found breaks it, none of
// it can be left out, and none has a milder fault in its place that breaks it too. If a
// budget ends the search, what is not said to be cut is so all the same.
func TestWhatIsFoundIsMinimalAndMild(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := rapid.SliceOfN(rapid.SampledFrom([]bool{false, false, true}), 64, 64).Draw(rt, "table")
		table[0], table[63] = false, true
		budget := rapid.SampledFrom([]int{2000, 2000, 4, 6, 8, 10, 12, 14}).Draw(rt, "budget")
		bad := func(v [3]int) bool { return table[v[0]*16+v[1]*4+v[2]] }
		r := explained(t, telling(func(a, b, c int) bool { return bad([3]int{a, b, c}) }), &Options{Budget: Budget{Runs: budget}})
		require.NotEmpty(rt, r.Defects)
		for _, d := range r.Defects {
			var found [3]int
			for _, h := range d.Deliveries {
				found[h.Target[0]-'a'] = map[string]int{"error": failed, "timeout": timedOut, "malformed_result": garbled}[h.Fault]
			}
			if !d.Cut && !bad(found) {
				rt.Fatalf("%v does not break it", found)
			}
			for i := range found {
				for milder := went; milder < found[i] && !d.Cut; milder++ {
					other := found
					if other[i] = milder; bad(other) {
						rt.Fatalf("%v is milder than %v", other, found)
					}
				}
			}
		}
	})
}

// A fault with memory brings its earlier calls: what held with another fault in the place
// of one of them is no fact about them all. Two plain failures break this agent.
func TestNoFactAboutOneOfSeveralFaultsWithMemory(t *testing.T) {
	m := scripted(func(call func(string, int) error) string {
		failed := 0
		for n := range 6 {
			if call("a", n) != nil {
				failed++
			}
		}
		return map[bool]string{true: "bad", false: "ok"}[failed >= 2]
	}, contract.Under("budget", chaos.Rule{Target: "a", Fault: fault.CallBudget(3, time.Hour)}))
	r := explained(t, m, &Options{})
	require.Equal(t, []string{"a meets call_budget, then a meets call_budget → fine"}, sentences(r))
	assert.NotContains(t, strings.Join(r.Defects[0].Facts, "; "), "it holds")
}

// A wait that had to be long beside another fault as it was is short beside the milder one.
func TestAWaitIsShorterBesideMilderFaults(t *testing.T) {
	m := scripted(nil, contract.Under("both", chaos.Rule{Target: "a", Fault: fault.Delay(90 * time.Second)},
		chaos.Rule{Target: "b", Fault: lies.Malformed()}))
	setAgent(m, func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		begun := time.Now()
		_, slow := tools.CallTool(ctx, "a", []byte(`{"n":1}`))
		took := time.Since(begun)
		doc, err := tools.CallTool(ctx, "b", []byte(`{"n":1}`))
		if slow == nil && (err == nil && string(doc) != "1" && took > 60*time.Second || err != nil && took > 14*time.Second) {
			return "bad", nil
		}
		return "ok", nil
	})
	r := explained(t, m, &Options{})
	assert.Equal(t, []string{"a takes 15s longer, then b fails → fine"}, sentences(r))
	assert.Contains(t, r.Defects[0].Facts, "with one of the two it holds")
}
