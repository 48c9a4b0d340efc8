package contracttest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// AssertPassed fails the test unless the verdict is Pass, or PARTIAL, which it logs: see
// [contract.Report.Partial]. It reports whether the test does not fail.
func AssertPassed(t testing.TB, r *contract.Report, msgAndArgs ...any) bool {
	t.Helper()
	logPart(t, r)
	return verify(t, passed(r), msgAndArgs)
}

// AssertHeld fails the test unless the invariant was decided in at least one
// cell and broke in none. A promised rate must be accepted in every scenario in which it
// was decided, or all its trials are copies that held. In a part that is PARTIAL it is enough that it
// broke nowhere and no rate was rejected, and this is logged. It reports whether the test does not fail.
func AssertHeld(t testing.TB, r *contract.Report, invariant string, msgAndArgs ...any) bool {
	t.Helper()
	logPart(t, r)
	return verify(t, held(r, invariant), msgAndArgs)
}

// AssertScoreAtLeast fails the test unless the contract score, from 0 to 100,
// is at least score. A matrix without a decided cell has no score, and fails. Of a part it judges
// the cells that ran, and logs that.
func AssertScoreAtLeast(t testing.TB, r *contract.Report, score float64, msgAndArgs ...any) bool {
	t.Helper()
	logPart(t, r)
	return verify(t, scoreAtLeast(r, score), msgAndArgs)
}

// logPart says of how many cells an assertion is.
func logPart(t testing.TB, r *contract.Report) {
	t.Helper()
	if r != nil && r.Partial() {
		t.Logf("contracttest: PARTIAL: %s", r.Score.Why)
	}
}

func verify(t testing.TB, failure string, msgAndArgs []any) bool {
	t.Helper()
	if failure == "" {
		return true
	}
	return assert.Fail(t, failure, msgAndArgs...)
}

func passed(r *contract.Report) string {
	switch {
	case r == nil:
		return "there is no report"
	case r.Score.Verdict != scoring.Pass && !r.Partial():
		return fmt.Sprintf("the verdict is %v: %s", r.Score.Verdict, r.Score.Why)
	}
	return ""
}

func held(r *contract.Report, invariant string) string {
	if r == nil {
		return "there is no report"
	}
	accepted := 0
	for i := range r.Fields {
		switch f := &r.Fields[i]; {
		case f.Invariant != invariant || f.AtLeast == 0 || f.Decided+f.Inconclusive+f.Unprovoked == 0:
		case f.Copies && f.Held == f.Decided+f.Unprovoked: // by its cells
			accepted++
		case f.Standing.Decision == stats.Open && r.Partial(): // the whole may decide it
		case f.Standing.Decision != stats.Accepted:
			return fmt.Sprintf("not accepted: %v", f)
		default:
			accepted++
		}
	}
	if accepted > 0 {
		return ""
	}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Cell.Invariant == invariant && c.Violated && !openRate(r, c.Cell.Scenario, invariant) {
			return fmt.Sprintf("%v broke: %s", c.Cell, c.Why)
		}
	}
	decided := 0
	for _, c := range r.Counts { // kept under any KeepPolicy
		switch {
		case c.Invariant != invariant || openRate(r, c.Scenario, invariant):
		case c.State == contract.Broken || c.Violated:
			return fmt.Sprintf("invariant %q broke in scenario %q", invariant, c.Scenario)
		case c.State == contract.Held:
			decided += c.Count
		}
	}
	switch {
	case !slices.Contains(r.Invariants, invariant):
		return fmt.Sprintf("the matrix has no invariant %q; it has %q", invariant, r.Invariants)
	case decided == 0 && !r.Partial():
		return fmt.Sprintf("invariant %q was decided in no cell", invariant)
	}
	return ""
}

// openRate reports whether a part leaves open if a rate is kept: a broken trial of it is no breach then.
func openRate(r *contract.Report, scenario, invariant string) bool {
	return r.Partial() && slices.ContainsFunc(r.Fields, func(f contract.Field) bool {
		return f.Scenario == scenario && f.Invariant == invariant && f.AtLeast != 0 && !f.Copies
	})
}

func scoreAtLeast(r *contract.Report, score float64) string {
	switch {
	case r == nil:
		return "there is no report"
	case r.Score.Decided == 0:
		return "there is no score: no cell was decided"
	case !(r.Score.Value >= score):
		return fmt.Sprintf("the contract score is %.2f, less than %v (%s)", r.Score.Value, score, r.Score.Why)
	}
	return ""
}
