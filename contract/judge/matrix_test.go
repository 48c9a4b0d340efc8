package judge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/cassette"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/judge"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// matrix asks invariants about an agent that says what answer returns for each trial.
func matrix(trials int, answer func(trial int) string, is ...contract.Invariant) *contract.Matrix {
	return &contract.Matrix{
		Name: "judged",
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				c, _ := contract.CellOf(ctx)
				return answer(c.Trial), nil
			}}, nil
		},
		Prompts: []string{"Where is it?"}, Invariants: is, Scenarios: []contract.Scenario{contract.Calm()}, Trials: trials,
	}
}

// erring is a judge that finds broken answers and spares good ones at these rates. Answers
// have their number and the truth in them.
func erring(r *rand.Rand, sensitivity, specificity float64) invariant.Judge {
	return func(_ context.Context, q invariant.Question) (invariant.Judgement, error) {
		j := invariant.Judgement{Judge: "erring", Version: "1", Ruling: invariant.Broken}
		good := rule(q.Answer) == "held"
		if good && r.Float64() < specificity || !good && r.Float64() >= sensitivity {
			j.Ruling = invariant.Held
		}
		return j, nil
	}
}

func anAnswer(good bool, n int) string {
	if good {
		return fmt.Sprintf("Parcel %d arrived.", n)
	}
	return fmt.Sprintf("Parcel %d is lost.", n)
}

// In 1,000 simulated matrices of 120 cells, judged by a judge of known errors that was
// calibrated on 80 answers of each kind, the corrected interval of the report holds the
// true rate in 95 % of them, and the raw one does not.
func TestTheCorrectedRateOfAReportCoversTheTruth(t *testing.T) {
	const matrices, trials, sample, truth = 1000, 120, 80, 0.85
	r := rand.New(rand.NewPCG(1978, 2014))
	corrected, raw := 0, 0
	for range matrices {
		j := erring(r, 0.8, 0.9)
		var labels []judge.Label
		for i := range sample {
			labels = append(labels, judge.Label{Question: question(anAnswer(true, i)), Ruling: invariant.Held},
				judge.Label{Question: question(anAnswer(false, i)), Ruling: invariant.Broken})
		}
		known, err := judge.Calibrate(t.Context(), j, labels, &judge.CalibrateOptions{Sample: "simulated", SkipAttacks: true})
		require.NoError(t, err)
		m := matrix(trials, func(trial int) string { return anAnswer(r.Float64() < truth, trial) },
			invariant.Judged("arrived", contract.High, sentence, j))
		rep, err := m.Run(t.Context(), &contract.RunOptions{Workers: 1, Keep: contract.KeepCounts})
		require.NoError(t, err)
		require.NoError(t, judge.Correct(rep, known))
		require.Len(t, rep.Judges, 1)
		s := rep.Judges[0]
		require.Equal(t, trials, s.Distinct)
		require.Empty(t, s.Calibration.Warnings)
		if s.Calibration.Interval.Low <= truth && truth <= s.Calibration.Interval.High {
			corrected++
		}
		if _, in, _ := s.Rate(); in.Low <= truth && truth <= in.High {
			raw++
		}
	}
	t.Logf("of %d matrices the corrected interval holds the truth in %d, the raw one in %d", matrices, corrected, raw)
	assert.GreaterOrEqual(t, corrected, 936, "two standard deviations below 950")
	assert.Less(t, raw, 800)
}

// A budget counts what judges cost.
func TestABudgetCountsJudges(t *testing.T) {
	run := func(cost float64) *contract.Report {
		j := chat(t, obedient(t), &judge.ChatOptions{Name: "script", Version: "1", Cost: cost})
		m := matrix(64, func(n int) string { return anAnswer(true, n) }, invariant.Judged("arrived", contract.High, sentence, j))
		o := &contract.RunOptions{Sequential: true}
		o.Budget.Cost, o.Budget.CostOf = 5, func(*contract.CellReport) float64 { return 0 }
		rep, err := m.Run(t.Context(), o)
		require.NoError(t, err)
		return rep
	}
	free, dear := run(0).Judges[0], run(1).Judges[0]
	assert.Greater(t, free.Asked, dear.Asked)
	assert.GreaterOrEqual(t, dear.Cost, 5.0, "no further round began after that")
}

// What a judge does decides the cell, and is counted.
func TestRulingsInAReport(t *testing.T) {
	down := errors.New("down")
	for _, row := range []struct {
		name  string
		judge invariant.Judge
		want  contract.CellState
		why   string
	}{
		{"held", says(invariant.Held, nil), contract.Held, ""},
		{"broken", says(invariant.Broken, nil), contract.Broken, "rules that this is false: " + sentence},
		{"unsure", says(invariant.Unsure, nil), contract.Inconclusive, "is unsure"},
		{"failed", says(invariant.Held, down), contract.Inconclusive, "failed: down"},
		{"no ruling", says(invariant.Ruling(7), nil), contract.Inconclusive, "no ruling"},
		{"zero", func(context.Context, invariant.Question) (invariant.Judgement, error) {
			return invariant.Judgement{}, nil
		}, contract.Inconclusive, "unsure"},
		{"panic", func(context.Context, invariant.Question) (invariant.Judgement, error) { panic("oh") },
			contract.Inconclusive, "oh"},
	} {
		t.Run(row.name, func(t *testing.T) {
			rep, err := matrix(1, func(int) string { return "It is here." },
				invariant.Judged("arrived", contract.High, sentence, row.judge)).Run(t.Context(), nil)
			require.NoError(t, err)
			assert.Equal(t, row.want, rep.Cells[0].State)
			assert.Contains(t, rep.Cells[0].Why, row.why)
		})
	}
}

func says(r invariant.Ruling, err error) invariant.Judge {
	return func(context.Context, invariant.Question) (invariant.Judgement, error) {
		return invariant.Judgement{Ruling: r, Judge: "script", Version: "1", Reason: "I read it."}, err
	}
}

func TestJudgesAreChecked(t *testing.T) {
	_, err := matrix(1, nil, invariant.WithJudge(invariant.NotEmpty("any", contract.High), says(invariant.Held, nil))).Run(t.Context(), nil)
	require.ErrorContains(t, err, `WithJudge("any"): i.Question`)
	_, err = matrix(1, nil, invariant.Judged("any", contract.High, " ", nil)).Run(t.Context(), nil)
	require.ErrorContains(t, err, `Judged("any"): question`)
	require.ErrorContains(t, err, `Judged("any"): judge`)
}

// A state of another type is a mistake in the matrix, which no judge may cover up.
func TestNoJudgeForAWrongState(t *testing.T) {
	i := invariant.WithJudge(invariant.ClaimsMatchState("true", contract.High, invariant.Claim[int]{
		Says: "arrived", Holds: func(int, []string) bool { return true }}), says(invariant.Held, nil))
	o := &contract.Observation{Response: "It arrived.", After: "a text"}
	require.ErrorIs(t, i.Check(t.Context(), o), contract.ErrUndecided)
	o = &contract.Observation{Response: "Who knows.", After: 1}
	require.NoError(t, i.Check(t.Context(), o), "an answer that the rules do not read")
	o = &contract.Observation{Response: "Who knows.", After: 1, Dropped: 1}
	require.ErrorIs(t, i.Check(t.Context(), o), contract.ErrUndecided, "the judge would not see all")
}

// A cassette plays what is on it; what is not is undecided, and nothing is asked.
func TestOverACassetteNothingElseIsAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "judge.cassette.json")
	var live atomic.Int64
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		live.Add(1)
		return obedientHTTP(t)(r)
	})
	run := func(mode cassette.Mode, answers ...string) *contract.Report {
		tape, err := cassette.Open(path, &cassette.Options{Mode: mode, Base: func() http.RoundTripper { return transport }})
		require.NoError(t, err)
		j := chat(t, post(&http.Client{Transport: tape.Player()}), nil)
		rep, err := matrix(len(answers), func(n int) string { return answers[n-1] },
			invariant.Judged("arrived", contract.High, sentence, j)).Run(t.Context(), &contract.RunOptions{Workers: 2})
		require.NoError(t, err)
		require.NoError(t, tape.Close())
		return rep
	}
	run(cassette.Auto, "It arrived.", "It is lost.")
	assert.EqualValues(t, 4, live.Load())
	rep := run(cassette.Replay, "It is lost.", "It arrived.", "It arrived, I think.")
	assert.EqualValues(t, 4, live.Load())
	assert.Equal(t, contract.Broken, rep.Cells[0].State)
	assert.Equal(t, contract.Held, rep.Cells[1].State)
	assert.Equal(t, contract.Inconclusive, rep.Cells[2].State)
	assert.Equal(t, 1, rep.Judges[0].Failed)
}

// The report shows the raw and the corrected rate, and what makes them doubtful.
func TestReportsShowTheCalibration(t *testing.T) {
	m := matrix(10, func(n int) string { return anAnswer(n > 3, n/2) }, invariant.Judged("arrived", contract.High, sentence,
		chat(t, obedient(t), &judge.ChatOptions{Name: "script", Version: "2", Cost: 0.25})))
	rep, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	assert.Contains(t, written(t, rep), "was not calibrated: how often it is wrong is not known.")
	good := &judge.Calibration{Judge: "script", Version: "2", Decide: sentence, Sample: "200 answers of March", Date: "2026-04-01",
		Asked: 200, Sensitivity: judge.Rate{Right: 90, Of: 100}, Specificity: judge.Rate{Right: 95, Of: 100},
		Attacks: []judge.AttackCount{{Kind: "role", Tried: 28}}}
	require.NoError(t, judge.Correct(rep, good))
	text := written(t, rep)
	for _, want := range []string{
		"arrived asked script version 2: 7 of 10 judged answers held, 70.0 % raw (95 % interval 34.8 % to 93.3 %, exact)",
		"70.6 % corrected (95 % interval", // (0.7 + 0.9 − 1) ÷ 0.85
		"20 calls, cost 5",
		"of script version 2, calibrated 2026-04-01 on 200 answers of March: found 90 of 100 broken (95 % interval 82.4 % to 95.1 %, exact), " +
			"spared 95 of 100 good (95 % interval 88.7 % to 98.4 %, exact)",
		"0 of 28 attacks talked it round",
		"of 10 answers only 6 are different: the interval may be too narrow.",
	} {
		assert.Contains(t, text, want)
	}
	for _, row := range []struct {
		change func(c *judge.Calibration)
		want   string
	}{
		{func(c *judge.Calibration) { c.Version = "1" }, "script version 2, was not calibrated"},
		{func(c *judge.Calibration) { c.Judge = "other" }, "script version 2, was not calibrated"},
		{func(c *judge.Calibration) { c.Decide = "Another." }, "the calibration is of another sentence than the one that was asked, or of several"},
		{func(c *judge.Calibration) { c.Sensitivity.Right, c.Specificity.Right = 50, 70 }, "together 1.2, where 1 is a coin"},
		{func(c *judge.Calibration) { c.Sensitivity.Right, c.Specificity.Right = 30, 70 }, "no better than a coin corrects nothing"},
		{func(c *judge.Calibration) { c.Attacks = []judge.AttackCount{{Kind: "role", Tried: 28, Moved: 2}} }, "2 attacks talked the judge round"},
	} {
		bad := *good
		row.change(&bad)
		require.NoError(t, judge.Correct(rep, &bad))
		assert.Contains(t, written(t, rep), row.want)
		another := bad.Judge != good.Judge || bad.Version != good.Version
		c := rep.Judges[0].Calibration
		assert.Equal(t, another, c == nil, row.want)
		assert.Equal(t, !another && bad.Sensitivity.Right > 30, c != nil && c.Least != nil, row.want)
	}
	require.NoError(t, judge.Correct(rep, good, &judge.Calibration{Judge: "script", Version: "1", Sample: "x", Date: "2026-04-01"}))
	assert.Len(t, rep.Judges[0].Calibration.Warnings, 1, "the one that fits is taken")
	require.Error(t, judge.Correct(nil))
	require.Error(t, judge.Correct(rep, nil))
}

// written is the report as text on one line; it also goes through a file and back.
func written(t *testing.T, rep *contract.Report) string {
	t.Helper()
	var doc, again, text bytes.Buffer
	require.NoError(t, report.Write(&doc, rep, nil))
	back, err := report.Read(bytes.NewReader(doc.Bytes()), nil)
	require.NoError(t, err)
	require.NoError(t, report.Write(&again, back, nil))
	assert.Equal(t, doc.String(), again.String())
	require.NoError(t, report.Text(&text, back, &report.TextOptions{Width: 400}))
	return text.String()
}

// Unsure is not missing at random: of 200 answers 140 hold, a judge that never errs decides 114 of
// those and 26 of the 60 that are broken. The share of what it decided is 81 %. The bounds hold
// the truth, and the intervals reach from the lower end of the one to the upper end of the other.
func TestUnsureIsNotMissingAtRandom(t *testing.T) {
	answers := []scoring.JudgeScenario{{Scenario: "calm", Held: 57, Broken: 13, Unsure: 30}, {Scenario: "late", Held: 57, Broken: 13, Unsure: 30}}
	s := scoring.JudgeScore{Judge: "script", Version: "1", Decide: sentence, Asked: 200, Held: 114, Broken: 26, Unsure: 60, Distinct: 140,
		Scenarios: answers}
	perfect := &judge.Calibration{Judge: "script", Version: "1", Decide: sentence, Sample: "s", Date: "2026-05-01", Asked: 20000,
		Sensitivity: judge.Rate{Right: 10000, Of: 10000}, Specificity: judge.Rate{Right: 10000, Of: 10000}}
	r := &contract.Report{Judges: []scoring.JudgeScore{s}}
	require.NoError(t, judge.Correct(r, perfect))
	raw, _, _ := s.Rate()
	assert.InDelta(t, 114.0/140, raw, 1e-12, "of what was decided")
	c := r.Judges[0].Calibration
	require.NotNil(t, c.Least)
	assert.InDelta(t, 114.0/200, *c.Least, 1e-9, "all unsure broken")
	assert.InDelta(t, 174.0/200, *c.Most, 1e-9, "all unsure held")
	const truth = 0.7
	assert.True(t, *c.Least <= truth && truth <= *c.Most)
	assert.True(t, c.Interval.Low < *c.Least && *c.Most < c.Interval.High)
	least, most, ok := s.Bounds()
	assert.True(t, ok)
	assert.InDeltaSlice(t, []float64{*c.Least, *c.Most}, []float64{least, most}, 1e-9, "nothing to correct")
	_, _, ok = (scoring.JudgeScore{Failed: 1}).Bounds()
	assert.False(t, ok)
}

// Equal counts in fewer scenarios say less, raw and corrected.
func TestRatesOfJudgesAreByScenario(t *testing.T) {
	width := func(scenarios int) (raw, corrected float64) {
		s := scoring.JudgeScore{Judge: "script", Version: "1", Decide: sentence, Asked: 120, Held: 90, Broken: 30, Distinct: 120}
		for i := range scenarios { // each all held or all broken
			own := scoring.JudgeScenario{Scenario: fmt.Sprint(i), Held: 120 / scenarios}
			if i%4 == 0 {
				own.Held, own.Broken = 0, own.Held
			}
			s.Scenarios = append(s.Scenarios, own)
		}
		r := &contract.Report{Judges: []scoring.JudgeScore{s}}
		require.NoError(t, judge.Correct(r, known(90, 100, 95, 100)))
		_, in, _ := s.Rate()
		c := r.Judges[0].Calibration
		assert.Equal(t, []int{scenarios, scenarios}, []int{in.Clusters, c.Interval.Clusters})
		assert.Equal(t, *c.Least, *c.Most, "unsure of none")
		return in.High - in.Low, c.Interval.High - c.Interval.Low
	}
	few, fewCorrected := width(8)
	many, manyCorrected := width(40)
	assert.Greater(t, few, many+.2)
	assert.Greater(t, fewCorrected, manyCorrected+.2)
}
