package suite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/suite"
	"github.com/shakedown-go/shakedown/scoring"
)

// A report of another matrix would give a score of something else: it is refused, and named.
func TestScoreRefusesReportsOfOtherMatrices(t *testing.T) {
	s, err := suite.Load("testdata/refunds.yaml", options())
	require.NoError(t, err)
	whole := runs(t, s, world(2))
	other := loaded(t, contractOf("{type: completes}", calmly+"\n"+down), nil)
	small := runs(t, other, in(calls(0, "1")))["contract"]
	named := *small
	named.Name = "desk"
	for why, row := range map[string]struct {
		of      *suite.Suite
		reports map[string]*contract.Report
		want    []string
	}{
		"swapped parts": {s, map[string]*contract.Report{"mutation": whole["replay"], "replay": whole["mutation"]},
			[]string{`suite: reports["mutation"] is of another matrix, "refunds": its scenarios differ`,
				`reports["replay"] is of another matrix, "refunds": its scenarios differ`}},
		"the contract of another file": {s, map[string]*contract.Report{"contract": small},
			[]string{`reports["contract"] is of another matrix, "refunds": it has another name`,
				`allowed: a report of the matrix "refunds: Nobody is paid twice" of this suite`}},
		"another name": {other, map[string]*contract.Report{"contract": &named}, []string{`of another matrix, "desk"`}},
		"other prompts": {loaded(t, contractOf("{type: completes}", calmly+"\n"+down)+"trials: 3\n", nil),
			map[string]*contract.Report{"contract": promptless(small)}, []string{"its prompts differ"}},
		"an invariant more": {loaded(t, contractOf("{type: completes}\n{id: a, type: contains, value: x}", calmly+"\n"+down), nil),
			map[string]*contract.Report{"contract": small}, []string{`its invariants differ`}},
		"another severity": {loaded(t, contractOf("{type: completes, severity: low}", calmly+"\n"+down), nil),
			map[string]*contract.Report{"contract": small}, []string{`its invariants differ`}},
		"no fingerprint": {other, map[string]*contract.Report{"contract": old(small)}, []string{"it has no fingerprint"}},
		"a part that the file does not have": {other, map[string]*contract.Report{"replay": small},
			[]string{`reports is "replay"; allowed: contract`}},
	} {
		result, err := row.of.Score(row.reports, nil)
		assert.Nil(t, result, why)
		var field *contract.FieldError
		require.ErrorAs(t, err, &field, why)
		for _, want := range row.want {
			assert.ErrorContains(t, err, want, why)
		}
	}
}

// Other trials and another seed ask the same.
func TestScoreTakesOtherTrialsAndSeeds(t *testing.T) {
	s := loaded(t, contractOf("{type: completes}", calmly+"\n"+down), nil)
	for name, m := range s.Matrices(in(calls(0, "1"))) {
		m.Trials, m.Seed = 3, 99
		r, err := m.Run(t.Context(), inBubbles(t, m))
		require.NoError(t, err)
		result, err := s.Score(map[string]*contract.Report{name: r}, nil)
		require.NoError(t, err)
		assert.Equal(t, r.Score.Decided, result.Contract.Decided)
	}
}

// A part of the cells is no pass, and says so.
func TestScoreOfAPartialRun(t *testing.T) {
	s := loaded(t, contractOf("{type: completes}", calmly+"\n"+down), nil)
	for name, m := range s.Matrices(in(calls(0, "1"))) {
		for _, sequential := range []bool{false, true} {
			m.Trials = 3
			o := inBubbles(t, m)
			around := o.Harness.Around
			o.Harness.Around = func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) {
				if c.Trial == 1 {
					around(c, run)
				}
			}
			o.Sequential = sequential
			r, err := m.Run(t.Context(), o)
			require.NoError(t, err)
			result, err := s.Score(map[string]*contract.Report{name: r}, &scoring.OverallOptions{Renormalise: true})
			require.NoError(t, err)
			assert.Equal(t, scoring.Inconclusive, result.Verdict)
			assert.True(t, r.Partial())
			assert.Contains(t, result.Why, "contract: nothing broke in 2 of ")
		}
	}
}

// promptless is a report of a matrix with other prompts.
func promptless(r *contract.Report) *contract.Report {
	own, print := *r, *r.Fingerprint
	print.Prompts = "0000000000000000"
	own.Fingerprint = &print
	return &own
}

// old is a report without a fingerprint.
func old(r *contract.Report) *contract.Report {
	own := *r
	own.Fingerprint = nil
	return &own
}
