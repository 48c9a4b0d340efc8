package orderdesk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// A sweep of the robust desk finds what its scenarios do not have: a step that times out
// twice takes longer than the ten seconds that are allowed. Nothing else is found among
// all single faults, all faults on retries and all pairs.
func TestSweepOfTheRobustDesk(t *testing.T) {
	m := Matrix(Robust())
	m.Scenarios = nil
	o := &contracttest.SweepOptions{FailOn: contract.Critical} // what it finds is expected, and less severe
	o.Search.Dir = "-"
	r := contracttest.Sweep(t, m, o)
	require.NotEmpty(t, r.Defects)
	for _, d := range r.Defects {
		require.NotEmpty(t, d.Breaks)
		for _, b := range d.Breaks {
			assert.Equal(t, "answers-in-time", b.Invariant)
		}
		assert.Contains(t, d.Sentence, "waits 5s and times out before the work")
	}
	assert.Contains(t, r.Covered(), "all 128 single faults; all 584 pairs in which the second is on a call that the first "+
		"brought about; all 2,408 other pairs, among others, in ")
	assert.LessOrEqual(t, r.Runs, 1500)
}
