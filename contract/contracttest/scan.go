package contracttest

import (
	"cmp"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search"
)

// Scan finds out how much of a fault each invariant holds out, as [search.Scan] does, and
// logs it. Runs in worlds of Matrix.NewWorld are in virtual time, and without a budget they
// are at most 2,000. Elsewhere they are in real time, and a budget must be set.
//
// How much is enough is for the caller to assert. The test fails if the scan was stopped early
// without a budget of the caller's, and if it shows nothing of some invariant. If the scan cannot
// be made, Scan fails t and stops it. It must be called from the goroutine of t.
func Scan(t *testing.T, m *contract.Matrix, a search.Axis, o *search.Options) *search.Scanned {
	t.Helper()
	own := *cmp.Or(o, &search.Options{})
	given := searching(t, m, &own, false)
	scanned, err := search.Scan(t.Context(), m, a, &own)
	if err != nil {
		t.Fatalf("contracttest: the scan was not made: %v", err)
	}
	t.Logf("\n%v", scanned)
	if scanned.Stopped != "" && !given {
		t.Errorf("contracttest: the scan is not complete: %s; set Budget to more, or to as much as is enough",
			scanned.Stopped)
	}
	for _, l := range scanned.Limits {
		if len(l.Points) > 0 && l.Held == nil && l.Broke == nil {
			t.Errorf("contracttest: the scan shows nothing of %s: at each value a run was undecided, or no fault was delivered: "+
				"see whether the agent calls the target of the axis", l.Invariant)
		}
	}
	return scanned
}
