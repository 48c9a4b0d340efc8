package orderdesk

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/search"
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

// What a sweep costs beside one that tries every pair alone.
func BenchmarkSweepOfTheRobustDesk(b *testing.B) {
	m := Matrix(Robust())
	m.Scenarios = nil
	for b.Loop() {
		var r *search.Swept
		o := &search.Options{Budget: search.Budget{Runs: 100_000}}
		o.Run.Harness.Calm = func(run func()) (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = fmt.Errorf("%v", v)
				}
			}()
			synctest.Test(new(testing.T), func(*testing.T) { run() })
			return nil
		}
		r, err := search.Sweep(b.Context(), m, o)
		require.NoError(b, err)
		alone := 0
		for _, l := range r.Levels {
			alone += l.Possible - l.Equal - l.Contains
		}
		b.ReportMetric(float64(r.Runs), "runs")
		b.ReportMetric(float64(alone), "runs-all-alone")
	}
}
