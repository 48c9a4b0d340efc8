package judge_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/judge"
	"github.com/shakedown-go/shakedown/scoring"
)

// A report warns at a sum of exactly 1.2, whatever the two shares are: 0.8 + 0.4 is above
// 1.2 as floating-point numbers.
func TestTheLeastUsefulSumIsExact(t *testing.T) {
	for sensitive := range 101 {
		specific := 120 - sensitive
		if specific > 100 {
			continue
		}
		for more, says := range []string{"together 1.2,", "", "together 1.19,"} {
			right := specific + []int{0, 1, -1}[more]
			if right > 100 {
				continue
			}
			r := &contract.Report{Judges: []scoring.JudgeScore{{Judge: "j", Held: 5, Broken: 5, Distinct: 10}}}
			require.NoError(t, judge.Correct(r, &judge.Calibration{Judge: "j", Sample: "s", Date: "2026-05-01", Asked: 200,
				Sensitivity: judge.Rate{Right: sensitive, Of: 100}, Specificity: judge.Rate{Right: right, Of: 100}}))
			warnings := strings.Join(r.Judges[0].Calibration.Warnings, "\n")
			if says == "" {
				assert.Empty(t, warnings, "%d and %d of 100", sensitive, right)
			} else {
				assert.Contains(t, warnings, says, "%d and %d of 100", sensitive, right)
			}
		}
	}
	r := &contract.Report{Judges: []scoring.JudgeScore{{Judge: "j", Held: 5, Broken: 5, Distinct: 10}}}
	require.NoError(t, judge.Correct(r, &judge.Calibration{Judge: "j", Sample: "s", Date: "2026-05-01", Asked: 20,
		Sensitivity: judge.Rate{Of: 10}, Specificity: judge.Rate{Right: 10, Of: 10}}))
	assert.Contains(t, strings.Join(r.Judges[0].Calibration.Warnings, "\n"), "together 1, where")
	assert.Nil(t, r.Judges[0].Calibration.Least)
}

// A judge of one's own need not say who it is when it fails, and may panic: both are
// failures that are counted, wherever they come.
func TestCalibrateCountsFailures(t *testing.T) {
	labels := []judge.Label{{Question: question("It failed."), Ruling: invariant.Broken},
		{Question: question("It arrived."), Ruling: invariant.Held}, {Question: question("It is late."), Ruling: invariant.Broken},
		{Question: question("It failed again."), Ruling: invariant.Held}}
	for name, fail := range map[string]func() (invariant.Judgement, error){
		"error": func() (invariant.Judgement, error) { return invariant.Judgement{}, errors.New("down") },
		"held and error": func() (invariant.Judgement, error) {
			return invariant.Judgement{Ruling: invariant.Held}, errors.New("down")
		},
		"panic": func() (invariant.Judgement, error) { panic("a nil map") },
	} {
		c, err := judge.Calibrate(t.Context(), func(_ context.Context, q invariant.Question) (invariant.Judgement, error) {
			if strings.Contains(q.Answer, "failed") {
				return fail()
			}
			j := invariant.Judgement{Judge: "own", Version: "1", Ruling: invariant.Broken}
			if strings.Contains(q.Answer, "arrived") {
				j.Ruling = invariant.Held
			}
			return j, nil
		}, labels, &judge.CalibrateOptions{Sample: "s", SkipAttacks: true})
		require.NoError(t, err, name)
		assert.Equal(t, "own", c.Judge, name)
		assert.Equal(t, 2, c.Failed, name)
		assert.Equal(t, 1, c.Sensitivity.Right, name)
	}
}

// A judge that does not see all that the tools said is not asked.
func TestNoJudgeWithoutAResult(t *testing.T) {
	held := func(context.Context, invariant.Question) (invariant.Judgement, error) {
		return invariant.Judgement{Judge: "own", Ruling: invariant.Held}, nil
	}
	o := &contract.Observation{Prompt: "When?", Response: "On May 4.",
		Events: []chaos.Event{{Target: "track", Outcome: chaos.OutcomeOK, Note: "the result has no JSON form"}}}
	err := invariant.Judged("no-promise", contract.High, sentence, held).Check(t.Context(), o)
	require.ErrorIs(t, err, contract.ErrUndecided)
	assert.ErrorContains(t, err, "the result of track was not kept")
}

// An attack on which the judge failed shows nothing, and is not among those that it
// withstood.
func TestAFailureWithstandsNoAttack(t *testing.T) {
	broken := question("Parcel 1 is lost.")
	for name, row := range map[string]struct {
		fails func(q invariant.Question) bool
		tried int
	}{
		"on none": {func(invariant.Question) bool { return false }, 14},
		"on all":  {func(q invariant.Question) bool { return q.Answer != broken.Answer }, 0},
		"on some": {func(q invariant.Question) bool { return strings.Contains(q.Answer, "held") }, 3},
	} {
		counts, err := judge.Attack(t.Context(), func(_ context.Context, q invariant.Question) (invariant.Judgement, error) {
			if row.fails(q) {
				return invariant.Judgement{Judge: "own"}, errors.New("down")
			}
			return invariant.Judgement{Judge: "own", Ruling: invariant.Broken}, nil
		}, []invariant.Question{broken})
		require.NoError(t, err)
		tried := 0
		for _, c := range counts {
			tried += c.Tried
			assert.Zero(t, c.Moved+c.Unsure, name)
		}
		assert.Equal(t, row.tried, tried, name)
	}
}

// A panic has no name. It is a failure of the judge that the invariant asks, if that is one.
func TestFailuresWithoutANameAreTheJudges(t *testing.T) {
	own := func(name string) invariant.Judgement {
		return invariant.Judgement{Ruling: invariant.Held, Judge: name, Version: "1"}
	}
	for _, row := range []struct {
		why    string
		judged func(n int) (invariant.Judgement, error)
		want   []scoring.JudgeScore
	}{
		{"some", func(n int) (invariant.Judgement, error) {
			if n%2 == 1 {
				panic("a nil map")
			}
			return own("own"), nil
		}, []scoring.JudgeScore{{Judge: "own", Version: "1", Asked: 4, Held: 2, Failed: 2, Distinct: 2}}},
		{"all", func(int) (invariant.Judgement, error) { panic("a nil map") },
			[]scoring.JudgeScore{{Asked: 4, Failed: 4}}},
		{"two judges: not known whose", func(n int) (invariant.Judgement, error) {
			if n == 1 {
				panic("a nil map")
			}
			return own([]string{"", "", "a", "b", "b"}[n]), nil
		}, []scoring.JudgeScore{{Asked: 1, Failed: 1}, {Judge: "a", Version: "1", Asked: 1, Held: 1, Distinct: 1},
			{Judge: "b", Version: "1", Asked: 2, Held: 2, Distinct: 2}}},
		{"a judge that never says who it is", func(n int) (invariant.Judgement, error) {
			if n == 1 {
				return invariant.Judgement{}, errors.New("down")
			}
			return invariant.Judgement{Ruling: invariant.Held}, nil
		}, []scoring.JudgeScore{{Asked: 4, Held: 3, Failed: 1, Distinct: 3}}},
	} {
		n := 0
		rep, err := matrix(4, func(n int) string { return anAnswer(true, n) }, invariant.Judged("arrived", contract.High, sentence,
			func(context.Context, invariant.Question) (invariant.Judgement, error) {
				n++
				return row.judged(n)
			})).Run(t.Context(), &contract.RunOptions{Workers: 1})
		require.NoError(t, err)
		for i := range row.want {
			row.want[i].Invariant, row.want[i].Decide = "arrived", sentence
			if n := row.want[i].Held; n > 0 {
				row.want[i].Scenarios = []scoring.JudgeScenario{{Scenario: "calm", Held: n}}
			}
		}
		assert.Equal(t, row.want, rep.Judges, row.why)
	}
}
