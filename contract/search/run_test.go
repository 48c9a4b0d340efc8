package search

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

func TestAMemoMakesEachValueOnce(t *testing.T) {
	var m memo[string, *string]
	of := func(s string) *string { return m.recall(s, func(s string) *string { return &s }) }
	first := of("a")
	assert.Same(t, first, of("a"))
	assert.Equal(t, "b", *of("b"))
	for i := range 2 * maxMemo {
		require.Equal(t, fmt.Sprint(i), *of(fmt.Sprint(i)), "also beyond the bound")
	}
	assert.Len(t, m.known, maxMemo)
	assert.Same(t, first, of("a"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { assert.Equal(t, fmt.Sprint(i), *of(fmt.Sprint(i))) })
	}
	all.Wait()
}

func TestShapes(t *testing.T) {
	s := newShaper(map[string]bool{"orders.get": true, "orders": true})
	for _, same := range [][]string{
		{`took 1.5s at orders.get`, `took 20ms at orders`},
		{`expected "a", got "b"…`, `expected "longer \"quoted\" text", got "c"`},
		{`"a", "b" and "c" are missing`, `"a" and "b" are missing`},
		{`5 times, 3 %`, `17 times, 44.5 %`},
	} {
		for _, why := range same[1:] {
			assert.Equal(t, s.shapeOf(same[0]), s.shapeOf(why), why)
		}
	}
	assert.NotEqual(t, s.shapeOf("it is missing"), s.shapeOf("it is there twice"))
}

// Runs that are equal share what is kept of them, and what the search then says of one run
// does not change the others.
func TestEqualRunsShareWhatIsKept(t *testing.T) {
	m := scripted(func(call func(string, int) error) string { each(call, 4); return "bad" }, contract.Under("all", fails("*", nil)))
	runner, err := m.Runner(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
	require.NoError(t, err)
	defer runner.Close()
	view := newViewer(runner.Tools(), newShaper(nil))
	var runs [2]*runDigest
	for i := range runs {
		r, err := runner.Run(t.Context(), contract.Cell{Scenario: "all", Invariant: "fine", Trial: 1}, runner.Rules("all"))
		require.NoError(t, err)
		runs[i] = view.Digest(r, ofBreaks)
		require.Len(t, runs[i].Hits, 12)
	}
	for i, h := range runs[0].Hits {
		assert.Same(t, h, runs[1].Hits[i])
	}
	for i, j := range runs[0].States {
		assert.Same(t, j, runs[1].States[i])
	}
	copies := runs[0].Delivered()
	copies[0].Fault = "another"
	assert.NotEqual(t, "another", runs[1].Hits[0].Fault)
}

// on is a fault on a try of the operation of a target.
func on(target, kind string, try int) hit {
	h := hit{Delivered: true, Failed: true, Tries: 2}
	h.Delivery = contract.Delivery{Target: target, Fault: kind, Attempt: try, Occurrence: uint64(try - 1)}
	return h
}

func TestSentences(t *testing.T) {
	slow := on("a", "latency", 1)
	slow.Waited = 15 * time.Second
	other := on("a", "error", 1)
	other.Key = 7 // other arguments
	for want, hits := range map[string][]hit{
		"a fails":                                    {on("a", "error", 1)},
		"a fails twice in a row":                     {on("a", "error", 1), on("a", "error", 2)},
		"a fails on try 2":                           {on("a", "error", 2)},
		"a fails on tries 2 to 3":                    {on("a", "error", 2), on("a", "error", 3)},
		"a fails, then a fails":                      {on("a", "error", 1), other},
		"a fails, then a is executed twice on try 2": {on("a", "error", 1), on("a", "duplicate", 2)},
		"a takes 15s longer, then b hangs":           {slow, on("b", "hang", 1)},
		"b meets odd":                                {on("b", "odd", 1)},
	} {
		_, places := patternOf(hits)
		assert.Equal(t, want, sentenceOf(hits, places))
	}
	both := []hit{on("a", "error", 1), on("b", "timeout", 1)}
	assert.Equal(t, "x or y fails, then z times out before the work", sentenceOf(both, []string{orList([]string{"x", "y"}), "z"}))
	var many []hit
	for range 9 {
		many = append(many, on("a", "error", 1), on("b", "error", 1))
	}
	assert.Contains(t, sentenceOf(many, []string{"a", "b"}), ", then 12 more", "of a search that was cut")
}

// A pattern is the same whatever the targets are called, and tells which are the same.
func TestPatterns(t *testing.T) {
	first, targets := patternOf([]hit{on("a", "error", 1), on("b", "error", 1), on("a", "hang", 1)})
	second, _ := patternOf([]hit{on("x", "error", 1), on("y", "error", 1), on("x", "hang", 1)})
	third, _ := patternOf([]hit{on("x", "error", 1), on("y", "error", 1), on("y", "hang", 1)})
	assert.Equal(t, []string{"a", "b"}, targets)
	assert.Equal(t, first, second)
	assert.NotEqual(t, first, third)
}

// Calls that a habit makes of its own are no tries of the agent, and are calls all the same.
func TestTriesOfHabits(t *testing.T) {
	failed := func(occurrence uint64, habit string) chaos.Event {
		return chaos.Event{Layer: chaos.LayerTool, Target: "a", Rule: "r", Err: "down", Occurrence: occurrence, Habit: habit}
	}
	hits := hitsOf([]*contract.Observation{{Events: []chaos.Event{failed(0, ""), failed(1, "retries"), failed(2, "")}}})
	require.Len(t, hits, 3)
	for i, h := range hits {
		assert.Equal(t, []int{2, i + 1}, []int{h.Tries, h.Nth})
	}
}

// The number of tries is a fact of calls that failed, all of one operation and prompt.
func TestTries(t *testing.T) {
	same := []hit{on("a", "error", 1), on("a", "error", 2)}
	assert.Equal(t, []string{"the agent tries twice"}, factsOf(&runDigest{}, same))
	same[1].Prompt = 1
	assert.Empty(t, factsOf(&runDigest{}, same))
	same[1].Prompt, same[1].Failed = 0, false
	assert.Empty(t, factsOf(&runDigest{}, same))
	assert.Empty(t, factsOf(&runDigest{}, []hit{on("a", "error", 1), on("b", "error", 1)}))
	assert.Empty(t, factsOf(&runDigest{}, nil))
}
