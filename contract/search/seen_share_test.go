package search

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
)

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
