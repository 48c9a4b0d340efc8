package contracttest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/scoring"
)

// fakeT records what an assertion does to its test.
type fakeT struct {
	testing.TB
	failed, stopped bool
	text, logged    string
}

func (f *fakeT) Helper()      {}
func (f *fakeT) Name() string { return "fake" }
func (f *fakeT) Errorf(format string, args ...any) {
	f.failed = true
	f.text += fmt.Sprintf(format, args...)
}
func (f *fakeT) FailNow() { f.stopped = true }

func TestAssertions(t *testing.T) {
	report := func(verdict scoring.Verdict, value float64, cells ...contract.CellReport) *contract.Report {
		r := &contract.Report{Cells: cells, Invariants: []string{"i", "never-decided"}}
		r.Score = scoring.ContractScore{Verdict: verdict, Why: "because", Value: value}
		for _, c := range cells {
			count := scoring.Cell{Scenario: c.Cell.Scenario, Invariant: c.Cell.Invariant, Severity: contract.High, State: c.State, Violated: c.Violated, Count: 1}
			r.Counts = append(r.Counts, count)
			if c.State == contract.Held || c.State == contract.Broken {
				r.Score.Decided++
			}
		}
		return r
	}
	cell := func(state contract.CellState, broke bool) contract.CellReport {
		return contract.CellReport{Cell: contract.Cell{Scenario: "s", Invariant: "i", Trial: 1}, State: state, Violated: broke, Why: "two refunds"}
	}
	held, broken := cell(contract.Held, false), cell(contract.Broken, true)
	countsOnly := report(scoring.Pass, 50, broken)
	countsOnly.Cells = nil
	for _, tc := range []struct {
		reason string
		assert func(testing.TB, *contract.Report, ...any) bool
		report *contract.Report
		want   string // "": it holds
	}{
		{"pass", contracttest.AssertPassed, report(scoring.Pass, 100, held), ""},
		{"fail", contracttest.AssertPassed, report(scoring.Fail, 0, broken), "the verdict is FAIL: because"},
		{"inconclusive is no pass", contracttest.AssertPassed, report(scoring.Inconclusive, 0), "the verdict is INCONCLUSIVE: because"},
		{"no report", contracttest.AssertPassed, nil, "there is no report"},
		{"held", heldBy("i"), report(scoring.Pass, 100, held), ""},
		{"broken once is broken", heldBy("i"), report(scoring.Pass, 50, held, broken), "s/i/1 broke: two refunds"},
		{"broken although undelivered", heldBy("i"), report(scoring.Pass, 50, held, cell(contract.Undelivered, true)), "s/i/1 broke"},
		{"broken, and only counted", heldBy("i"), countsOnly, `invariant "i" broke in scenario "s"`},
		{"never decided is not held", heldBy("never-decided"), report(scoring.Pass, 100, held), `invariant "never-decided" was decided in no cell`},
		{"inconclusive is not held", heldBy("i"), report(scoring.Pass, 100, cell(contract.Inconclusive, false)), `was decided in no cell`},
		{"a misspelt name", heldBy("j"), report(scoring.Pass, 100, held), `the matrix has no invariant "j"; it has ["i" "never-decided"]`},
		{"no report, nothing held", heldBy("i"), nil, "there is no report"},
		{"score reached", atLeast(50), report(scoring.Fail, 50, held, broken), ""},
		{"score missed", atLeast(50.01), report(scoring.Pass, 50, held, broken), "the contract score is 50.00, less than 50.01 (because)"},
		{"no score is less than none", atLeast(0), report(scoring.Inconclusive, 0), "there is no score: no cell was decided"},
		{"no report, no score", atLeast(0), nil, "there is no report"},
	} {
		f := &fakeT{}
		assert.Equal(t, tc.want == "", tc.assert(f, tc.report, "order %d", 7), tc.reason)
		assert.Equal(t, tc.want != "", f.failed, tc.reason)
		assert.False(t, f.stopped, "%s: an assertion goes on", tc.reason)
		assert.Contains(t, f.text, tc.want, tc.reason)
		if tc.want != "" {
			assert.Contains(t, f.text, "order 7", tc.reason)
		}
	}
	f := &fakeT{}
	contracttest.RequirePassed(f, nil)
	assert.True(t, f.stopped, "a requirement stops")
}

func heldBy(invariant string) func(testing.TB, *contract.Report, ...any) bool {
	return func(t testing.TB, r *contract.Report, args ...any) bool {
		return contracttest.AssertHeld(t, r, invariant, args...)
	}
}

func atLeast(score float64) func(testing.TB, *contract.Report, ...any) bool {
	return func(t testing.TB, r *contract.Report, args ...any) bool {
		return contracttest.AssertScoreAtLeast(t, r, score, args...)
	}
}
