package search

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
)

func TestAPoolKeepsEqualValuesOnce(t *testing.T) {
	var p pool[string]
	first := p.shared("a")
	assert.Same(t, first, p.shared("a"))
	assert.Equal(t, "b", *p.shared("b"))
	for i := range 2 * maxPool {
		require.Equal(t, fmt.Sprint(i), *p.shared(fmt.Sprint(i)), "also beyond the bound")
	}
	assert.Len(t, p.known, maxPool)
	assert.Same(t, first, p.shared("a"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { assert.Equal(t, fmt.Sprint(i), *p.shared(fmt.Sprint(i))) })
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
