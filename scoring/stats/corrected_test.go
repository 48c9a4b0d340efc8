package stats_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// drawn counts the successes of n independent draws.
func drawn(r *rand.Rand, n int, p float64) (k int) {
	for range n {
		if r.Float64() < p {
			k++
		}
	}
	return k
}

// one is independent things.
func one(passed, n int) []stats.Tally { return []stats.Tally{{Passed: passed, Trials: n}} }

// A matrix of 200 judged answers and a calibration on 100 of each kind, simulated 1,000
// times: the corrected interval holds the truth as often as it says, and that of the raw
// rate does not.
func TestCorrectedCoversTheTruth(t *testing.T) {
	for _, row := range []struct{ truth, sensitivity, specificity float64 }{
		{0.9, 0.85, 0.9}, {0.7, 0.8, 0.95}, {0.5, 0.9, 0.7}, {0.95, 0.7, 0.9}, {0.98, 0.95, 0.97},
	} {
		r := rand.New(rand.NewPCG(19, 78))
		const runs, n, sample = 1000, 200, 100
		covered, raw := 0, 0
		for range runs {
			good := drawn(r, n, row.truth)
			held := drawn(r, good, row.specificity) + drawn(r, n-good, 1-row.sensitivity)
			spared, found := drawn(r, sample, row.specificity), drawn(r, sample, row.sensitivity)
			_, in, err := stats.Corrected(one(held, n), stats.Tally{Passed: spared, Trials: sample},
				stats.Tally{Passed: found, Trials: sample}, 0.95)
			require.NoError(t, err)
			if in.Low <= row.truth && row.truth <= in.High {
				covered++
			}
			plain, err := scoring.Wilson(held, n, 0.95)
			require.NoError(t, err)
			if plain.Low <= row.truth && row.truth <= plain.High {
				raw++
			}
		}
		t.Logf("%+v: corrected %d, raw %d of %d", row, covered, raw, runs)
		// Two standard deviations of 1,000 at 95 % are 14.
		assert.GreaterOrEqual(t, covered, 936, "%+v", row)
		assert.Less(t, raw, 936, "%+v", row)
	}
}

// Answers of a scenario are alike: the interval by scenario holds the truth where that of as many
// independent answers does not.
func TestCorrectedOfAnswersThatAreAlike(t *testing.T) {
	const runs, scenarios, each, sample = 400, 10, 50, 100
	for _, row := range []struct{ truth, correlation float64 }{{0.8, 0.1}, {0.8, 0.4}, {0.8, 0.8}, {0.8, 0.99}, {0.95, 0.4}} {
		r := rand.New(rand.NewPCG(24, 12))
		covered, alone := 0, 0
		for range runs {
			var judged []stats.Tally
			held := 0
			for range scenarios {
				good := 0 // Pólya's urn: as alike as rates drawn from a beta distribution
				for i := range each {
					seen := row.correlation / (1 - row.correlation)
					if r.Float64() < (row.truth+seen*float64(good))/(1+seen*float64(i)) {
						good++
					}
				}
				own := drawn(r, good, 0.9) + drawn(r, each-good, 1-0.8)
				judged, held = append(judged, stats.Tally{Passed: own, Trials: each}), held+own
			}
			right := stats.Tally{Passed: drawn(r, sample, 0.9), Trials: sample}
			wrong := stats.Tally{Passed: drawn(r, sample, 0.8), Trials: sample}
			holds := func(judged []stats.Tally) int {
				_, in, err := stats.Corrected(judged, right, wrong, 0.95)
				require.NoError(t, err)
				if in.Low <= row.truth && row.truth <= in.High {
					return 1
				}
				return 0
			}
			covered, alone = covered+holds(judged), alone+holds(one(held, scenarios*each))
		}
		t.Logf("%+v: by scenario %d, as if independent %d of %d", row, covered, alone, runs)
		assert.GreaterOrEqual(t, covered, runs*88/100, "%+v", row)
		assert.Less(t, alone, runs*90/100, "%+v", row)
	}
}

// The estimate undoes the errors: what a judge of these rates says of the truth on average
// gives the truth back. To call everything by its contrary turns the interval around.
func TestCorrectedLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		passed := rapid.IntRange(0, n).Draw(t, "passed")
		tally := func(name string) stats.Tally {
			trials := rapid.IntRange(1, 300).Draw(t, name)
			return stats.Tally{Passed: rapid.IntRange(0, trials).Draw(t, name+" right"), Trials: trials}
		}
		right, wrong := tally("right"), tally("wrong")
		se := float64(right.Passed) / float64(right.Trials)
		sp := float64(wrong.Passed) / float64(wrong.Trials)
		rate, in, err := stats.Corrected(one(passed, n), right, wrong, 0.95)
		if se+sp <= 1 {
			var refused *stats.FieldError
			require.ErrorAs(t, err, &refused)
			return
		}
		require.NoError(t, err)
		assert.True(t, 0 <= in.Low && in.Low <= rate && rate <= in.High && in.High <= 1, "%v in %v", rate, in)
		if 0 < rate && rate < 1 {
			assert.InDelta(t, float64(passed)/float64(n), rate*se+(1-rate)*(1-sp), 1e-9)
		}
		mirrored, mirror, err := stats.Corrected(one(n-passed, n), wrong, right, 0.95)
		require.NoError(t, err)
		assert.InDelta(t, 1-rate, mirrored, 1e-9)
		assert.InDelta(t, 1-in.Low, mirror.High, 1e-9)
		assert.InDelta(t, 1-in.High, mirror.Low, 1e-9)
	})
}

func TestCorrectedRefuses(t *testing.T) {
	good := stats.Tally{Passed: 9, Trials: 10}
	for _, row := range []struct {
		passed, n    int
		right, wrong stats.Tally
		level        float64
		why          string
	}{
		{3, 2, good, good, 0.95, "more than all"},
		{0, 0, good, good, 0.95, "nothing was judged"},
		{1, 2, stats.Tally{}, good, 0.95, "no sample"},
		{1, 2, good, stats.Tally{Passed: 11, Trials: 10}, 0.95, "more than all"},
		{1, 2, good, good, 1, "certainty"},
		{1, 2, stats.Tally{Passed: 5, Trials: 10}, stats.Tally{Passed: 5, Trials: 10}, 0.95, "a coin"},
	} {
		_, in, err := stats.Corrected(one(row.passed, row.n), row.right, row.wrong, row.level)
		require.Error(t, err, row.why)
		assert.Zero(t, in)
	}
}

// The values are those of the paper's formula, computed apart from this code, with the
// authors' additions of z² and of 2.
func TestCorrectedAgainstTheFormula(t *testing.T) {
	for _, row := range []struct {
		passed, n        int
		right, wrong     stats.Tally
		level            float64
		value, low, high float64
	}{
		{27, 650, stats.Tally{Passed: 50, Trials: 100}, stats.Tally{Passed: 199, Trials: 200}, 0.95, 0.073815074, 0.027460011, 0.114583026},
		{12, 260, stats.Tally{Passed: 50, Trials: 100}, stats.Tally{Passed: 199, Trials: 200}, 0.95, 0.083139083, 0.025707753, 0.151811787},
		{4, 130, stats.Tally{Passed: 50, Trials: 100}, stats.Tally{Passed: 199, Trials: 200}, 0.99, 0.052059052, 0, 0.200452833},
		{160, 200, stats.Tally{Passed: 90, Trials: 100}, stats.Tally{Passed: 95, Trials: 100}, 0.95, 0.882352941, 0.796125610, 0.980943216},
		{28, 30, stats.Tally{Passed: 41, Trials: 41}, stats.Tally{Passed: 21, Trials: 31}, 0.95, 0.901587302, 0.670520134, 1},
		{100, 200, stats.Tally{Passed: 80, Trials: 100}, stats.Tally{Passed: 80, Trials: 100}, 0.9, 0.5, 0.373865787, 0.626134213},
	} {
		value, in, err := stats.Corrected(one(row.passed, row.n), row.right, row.wrong, row.level)
		require.NoError(t, err)
		assert.InDeltaSlice(t, []float64{row.value, row.low, row.high}, []float64{value, in.Low, in.High}, 1e-8, "%+v", row)
	}
}
