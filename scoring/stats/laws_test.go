package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/scoring"
)

// Bounds are within 0…1, contain the share, and rise with the passes.
func TestIntervalLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1, 1_000_000)).Draw(t, "n")
		passed := rapid.IntRange(0, n-1).Draw(t, "passed")
		level := rapid.Float64Range(1e-6, 1-1e-9).Draw(t, "level")
		for name, f := range map[string]func(int, int, float64) (scoring.Interval, error){"Clopper-Pearson": ClopperPearson, "any-time": AnyTime} {
			iv, err := f(passed, n, level)
			require.NoError(t, err)
			share := float64(passed) / float64(n)
			const slack = 1e-12
			assert.True(t, 0 <= iv.Low && iv.Low <= share+slack && share <= iv.High+slack && iv.High <= 1, "%s: %v contains %v", name, iv, share)
			more, err := f(passed+1, n, level)
			require.NoError(t, err)
			assert.True(t, iv.Low <= more.Low+slack && iv.High <= more.High+slack, "%s: %v then %v", name, iv, more)
			surer, err := f(passed, n, level+(1-level)/2)
			require.NoError(t, err)
			assert.True(t, surer.Low <= iv.Low+slack && iv.High <= surer.High+slack, "%s: a higher level is wider", name)
			mirror, err := f(n-passed, n, level)
			require.NoError(t, err)
			assert.InDelta(t, 1-iv.High, mirror.Low, 1e-10, "%s: what fails mirrors what passes", name)
		}
	})
}

func TestClusteredLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tallies := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Tally {
			n := rapid.IntRange(1, 50).Draw(t, "n")
			return Tally{Passed: rapid.IntRange(0, n).Draw(t, "passed"), Trials: n}
		}), 2, 12).Draw(t, "clusters")
		got, err := Clustered(tallies, 0.95)
		require.NoError(t, err)
		iv := got.Interval
		assert.True(t, 0 <= iv.Low && iv.Low <= got.Value && got.Value <= iv.High && iv.High <= 1, "%+v", got)
		assert.True(t, got.Effective >= 1 && got.Effective <= float64(got.Trials), "%+v", got)
		assert.InDelta(t, float64(got.Trials), got.Effective*got.DesignEffect, 1e-9)
		mirror := make([]Tally, len(tallies))
		for i, c := range tallies {
			mirror[i] = Tally{Passed: c.Trials - c.Passed, Trials: c.Trials}
		}
		fails, err := Clustered(mirror, 0.95)
		require.NoError(t, err)
		assert.InDelta(t, 1-iv.High, fails.Interval.Low, 1e-9, "what fails mirrors what passes")
		better, err := PassEvery(tallies, 1, 0.95)
		require.NoError(t, err)
		pooled, err := PassAt(tallies, 1, 0.95)
		require.NoError(t, err)
		assert.InDelta(t, better.Value, pooled.Value, 1e-12, "of one trial, any is every")
	})
}

// More trials to pass make any likelier and every less likely.
func TestPassLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 2000).Draw(t, "n")
		task := []Tally{{Passed: rapid.IntRange(0, n-1).Draw(t, "passed"), Trials: n}}
		better := []Tally{{Passed: task[0].Passed + 1, Trials: n}}
		k := rapid.IntRange(1, n-1).Draw(t, "k")
		const slack = 1e-12
		value := func(f func([]Tally, int, float64) (Estimate, error), tasks []Tally, k int) float64 {
			e, err := f(tasks, k, 0.95)
			require.NoError(t, err)
			assert.True(t, e.Value >= 0 && e.Value <= 1, "%v", e.Value)
			return e.Value
		}
		assert.LessOrEqual(t, value(PassAt, task, k), value(PassAt, task, k+1)+slack)
		assert.GreaterOrEqual(t, value(PassEvery, task, k)+slack, value(PassEvery, task, k+1))
		assert.LessOrEqual(t, value(PassAt, task, k), value(PassAt, better, k)+slack)
		assert.LessOrEqual(t, value(PassEvery, task, k), value(PassEvery, better, k)+slack)
		assert.LessOrEqual(t, value(PassEvery, task, k), value(PassAt, task, k)+slack)
	})
}

// Power falls as the rate after the drop rises, for each design and number.
func TestPowerLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]Design{{}, {TwoSamples: true}, {Paired: true}, {Paired: true, Noise: 0.08}}).Draw(t, "design")
		n := rapid.IntRange(1, 120).Draw(t, "n")
		from := rapid.Float64Range(0.2, 0.95).Draw(t, "from")
		to := rapid.Float64Range(0.05, from-0.01).Draw(t, "to")
		plan := d.plan(from, 0.05, n)
		power := plan.power(n, to, all)
		assert.True(t, power >= 0 && power <= 1+1e-9, "%v", power)
		assert.GreaterOrEqual(t, power+1e-9, plan.power(n, to+(from-to)/2, all))
		assert.LessOrEqual(t, plan.power(n, from-1e-12, all), 0.05+1e-9, "without a drop it is the error rate")
	})
}

// FuzzArguments calls everything with arguments of any value. Nothing panics, and no
// result is NaN or infinite; with an error it is the zero value.
func FuzzArguments(f *testing.F) {
	f.Add(3, 10, 2, 5, 0.95, 0.8, 0.05, 0.1, uint64(1))
	f.Add(-1, 0, math.MaxInt, math.MinInt, math.NaN(), math.Inf(1), math.Inf(-1), 0.0, uint64(0))
	f.Add(0, 1, mostTrials, mostTrials, 5e-324, 1-1e-16, 1e-9, 1.0, uint64(7))
	f.Add(500_000_000, 1_000_000_000, 1, 1_000_000_000, 1-1e-16, 1e-6, 0.5, 1e-300, uint64(7))
	f.Fuzz(func(t *testing.T, a, b, c, d int, x, y, z, w float64, seed uint64) {
		within := func(name string, low, high float64, got ...float64) {
			t.Helper()
			for _, v := range got {
				if !(v >= low && v <= high) {
					t.Errorf("%s: %v is not within %v to %v", name, v, low, high)
				}
			}
		}
		share := func(name string, iv scoring.Interval, err error) {
			t.Helper()
			within(name, 0, 1, iv.Low, iv.High, iv.Level)
			if (err != nil) != (iv == scoring.Interval{}) {
				t.Errorf("%s: %v and %v", name, iv, err)
			}
		}
		iv, err := ClopperPearson(a, b, x)
		share("ClopperPearson", iv, err)
		iv, err = AnyTime(a, b, x)
		share("AnyTime", iv, err)
		n, _ := Needed(x, y)
		within("Needed", 0, mostTrials, float64(n))
		tallies := []Tally{{"a", a, b}, {"", c, d}}
		for _, f := range []func([]Tally, int, float64) (Estimate, error){PassAt, PassEvery} {
			e, _ := f(tallies, min(a, c), x)
			within("pass", 0, 1, e.Value, e.Interval.Low, e.Interval.High)
		}
		cl, _ := Clustered(tallies, x)
		within("Clustered", 0, 1, cl.Value, cl.Interval.Low, cl.Interval.High)
		within("Clustered", 0, mostTrials, cl.Effective, cl.DesignEffect)
		pairs := Pairs{a, b, c, d}
		p, _ := McNemar(pairs)
		within("McNemar", 0, 1, p.TwoSided, p.Worse)
		diff, _ := PairedDifference(pairs, x)
		within("PairedDifference", -1, 1, diff.Low, diff.Value, diff.High)
		if b <= 10_000 || d <= 10_000 {
			p, _ = FisherExact(tallies[0], tallies[1])
			within("FisherExact", 0, 1, p.TwoSided, p.Worse)
		}
		adjusted, _ := Holm([]float64{x, y, z})
		within("Holm", 0, 1, adjusted...)
		p, _ = SignFlip([]float64{x, y, z, w}, seed)
		within("SignFlip", 0, 1, p.TwoSided, p.Worse)
		test := SPRT{P0: x, P1: y, Alpha: z, Beta: w, Max: a}
		s, _ := test.Decide(b, c)
		within("Decide", 0, mostTrials, float64(s.Passes), s.Trials)
		test.Max = int(uint(a) % 200)
		law, _ := test.Law(w)
		within("Law", 0, 1, law.Accept, law.Reject, law.Open)
		within("Law", 0, 200, law.Trials)
		for _, design := range []Design{{}, {Paired: true, Noise: w}, {TwoSamples: true}} {
			to, _ := Detectable(design, a%100, x, z, y)
			within("Detectable", 0, 1, to)
			if x-w > 0.2 {
				n, _ := Trials(design, x, w, z, min(y, 0.99))
				within("Trials", 0, mostPlanned, float64(n))
			}
		}
	})
}
