package judge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/judge"
)

func label(answer string, r invariant.Ruling) judge.Label {
	return judge.Label{Question: question(answer), Ruling: r}
}

func TestCalibrate(t *testing.T) {
	// The script reads English alone, is unsure about silence, and fails on noise.
	j := func(_ context.Context, q invariant.Question) (invariant.Judgement, error) {
		j := invariant.Judgement{Judge: "script", Version: "1", Ruling: invariant.Broken}
		switch {
		case q.Answer == "…":
			j.Ruling = invariant.Unsure
		case q.Answer == "#!":
			return j, errors.New("noise")
		case rule(q.Answer) == "held":
			j.Ruling = invariant.Held
		}
		return j, nil
	}
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	c, err := judge.Calibrate(t.Context(), j, []judge.Label{
		label("It arrived.", invariant.Held), label("It arrived yesterday.", invariant.Held),
		label("Es ist angekommen.", invariant.Held), label("Es ist weg.", invariant.Broken),
		label("It is lost.", invariant.Broken), label("It arrived? No.", invariant.Broken),
		label("…", invariant.Broken), label("#!", invariant.Held),
	}, &judge.CalibrateOptions{Sample: "eight by hand", Date: day})
	require.NoError(t, err)
	rate := func(right, of int, r judge.Rate) {
		t.Helper()
		assert.Equal(t, [2]int{right, of}, [2]int{r.Right, r.Of})
		assert.Equal(t, of > 0, r.Interval.Level > 0)
	}
	rate(2, 3, c.Sensitivity)
	rate(2, 3, c.Specificity)
	assert.Equal(t, [3]int{8, 1, 1}, [3]int{c.Asked, c.Unsure, c.Failed})
	assert.Equal(t, "script 1 2026-05-01", c.Judge+" "+c.Version+" "+c.Date)
	assert.Equal(t, sentence, c.Decide)
	for _, a := range c.Attacks {
		assert.Positive(t, a.Tried, a.Kind)
	}

	path := filepath.Join(t.TempDir(), "judge.json")
	require.NoError(t, c.Save(path))
	back, err := judge.Load(path)
	require.NoError(t, err)
	assert.Equal(t, c, back)
}

// A calibration that no report could use is an error at once, not when it is read.
func TestCalibrateRefuses(t *testing.T) {
	down := errors.New("down")
	held, o := says(invariant.Held, nil), &judge.CalibrateOptions{Sample: "two"}
	a, b := label("a", invariant.Held), label("b", invariant.Broken)
	besides := func(state string) judge.Label { // the same answer, perhaps beside another state
		own := label("a", invariant.Broken)
		own.Question.State = []byte(state)
		return own
	}
	named := func(names ...string) invariant.Judge {
		n := 0
		return func(context.Context, invariant.Question) (invariant.Judgement, error) {
			n++
			return invariant.Judgement{Ruling: invariant.Held, Judge: names[n-1]}, nil
		}
	}
	failing := func(context.Context, invariant.Question) (invariant.Judgement, error) {
		return invariant.Judgement{}, down
	}
	for _, row := range []struct {
		j      invariant.Judge
		labels []judge.Label
		o      *judge.CalibrateOptions
		want   string
	}{
		{held, nil, o, "without one that is held"},
		{held, []judge.Label{a}, o, "without one that is broken"},
		{held, []judge.Label{label("a", invariant.Unsure)}, o, "labelled[0].Ruling is unsure"},
		{held, []judge.Label{{Ruling: invariant.Held}}, o, "labelled[0].Question.Decide"},
		{held, []judge.Label{a, b}, nil, "CalibrateOptions.Sample"},
		{held, []judge.Label{a, b, label("a", invariant.Broken)}, o, "labelled[2].Question is that of labelled[0]"},
		{held, []judge.Label{a, b, besides("{")}, o, "labelled[2].Question is without JSON"},
		{named(""), []judge.Label{a, b}, o, `labelled[0] is "a judge without a name"; allowed: a judgement that names its judge`},
		{named("one", "two"), []judge.Label{a, b}, o, "labelled[1]"},
		{failing, []judge.Label{a, b}, o, "the judge failed on each of 2 labelled answers, first: down"},
		{says(invariant.Held, down), []judge.Label{a, b}, o, "the judge failed on each of 2 labelled answers, first: down"},
	} {
		_, err := judge.Calibrate(t.Context(), row.j, row.labels, row.o)
		require.ErrorContains(t, err, row.want)
	}
	_, err := judge.Calibrate(t.Context(), held, []judge.Label{a, b, besides(`{"order": "paid"}`)}, o)
	require.NoError(t, err, "the same answer beside another state is another question")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = judge.Calibrate(ctx, held, []judge.Label{a, b}, o)
	require.ErrorIs(t, err, context.Canceled)
	_, err = judge.Attack(t.Context(), nil, nil)
	require.Error(t, err)
}

func TestLoadRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "judge.json")
	const rates = `"sensitivity":{"right":1,"of":1},"specificity":{"right":1,"of":1}`
	for text, want := range map[string]string{
		`{`:                      "is not JSON",
		`{"judge":"a","sure":1}`: "/sure is unknown",
		`{"judge":"","sample":"s","date":"May","asked":2,` + rates + `}`:           "date",
		`{"judge":"a","sample":"s","date":"2026-05-01","asked":3,` + rates + `}`:   "asked",
		`{"judge":"a","sample":"s","date":"2026-05-01","asked":-2,` + rates + `}`:  "asked",
		`{"judge":"a","sample":"s","date":"2026-05-01","asked":"2",` + rates + `}`: "/asked is a string",
		`{"judge":"a","sample":"s","date":"2026-05-01","asked":1,"sensitivity":{"right":2,"of":1},` +
			`"specificity":{"right":0,"of":0}}`: "sensitivity.right",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := judge.Load(path)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, path)
		var field *judge.FieldError
		require.ErrorAs(t, err, &field, text)
	}
	_, err := judge.Load(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
