package stats

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/dist"
	"github.com/shakedown-go/shakedown/scoring"
)

func TestClopperPearsonPublished(t *testing.T) {
	const newcombe = "Newcombe 1998, Statistics in Medicine 17, table I, method 5"
	for _, tc := range []struct {
		passed, n int
		low, high float64
		digits    float64
		source    string
	}{
		{81, 263, 0.2527, 0.3676, 4, newcombe},
		{15, 148, 0.0578, 0.1617, 4, newcombe},
		{0, 20, 0.0000, 0.1684, 4, newcombe},
		{1, 29, 0.0009, 0.1776, 4, newcombe},
		{682, 925, 0.7076683, 0.7654066, 7, "Conover 1971, p. 97 f., as R's help of binom.test prints it"},
		{13, 16, 0.5435, 0.9595, 4, "Fagerland, Lydersen and Laake 2017, Statistical Analysis of Contingency Tables, chapter 2"},
	} {
		iv, err := ClopperPearson(tc.passed, tc.n, 0.95)
		require.NoError(t, err)
		half := 0.5 * math.Pow(10, -tc.digits)
		assert.InDelta(t, tc.low, iv.Low, half, "%d/%d: %s", tc.passed, tc.n, tc.source)
		assert.InDelta(t, tc.high, iv.High, half, "%d/%d: %s", tc.passed, tc.n, tc.source)
		assert.Equal(t, 0.95, iv.Level)
	}
}

// atLeast is the exact chance of s or more passes in n trials at a float p.
func atLeast(s, n int, p float64) *big.Rat {
	exact := new(big.Rat).SetFloat64(p)
	other := new(big.Rat).Sub(big.NewRat(1, 1), exact)
	sum := new(big.Rat)
	for x := s; x <= n; x++ {
		term := new(big.Rat).SetInt(new(big.Int).Binomial(int64(n), int64(x)))
		for range x {
			term.Mul(term, exact)
		}
		for range n - x {
			term.Mul(term, other)
		}
		sum.Add(sum, term)
	}
	return sum
}

const near = 1e-10

func TestClopperPearsonAgainstRationals(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for s := 0; s <= n; s++ {
			for _, level := range []float64{0.5, 0.75, 0.96875} { // tails without rounding
				tail := new(big.Rat).SetFloat64((1 - level) / 2)
				iv, err := ClopperPearson(s, n, level)
				require.NoError(t, err)
				if s == 0 {
					assert.Equal(t, 0.0, iv.Low)
				} else {
					assert.LessOrEqual(t, atLeast(s, n, iv.Low-near).Cmp(tail), 0, "%d of %d at %v: below Low", s, n, level)
					assert.GreaterOrEqual(t, atLeast(s, n, iv.Low+near).Cmp(tail), 0, "%d of %d at %v: above Low", s, n, level)
				}
				if s == n {
					assert.Equal(t, 1.0, iv.High)
				} else { // s or fewer passes are n−s or more failures
					assert.LessOrEqual(t, atLeast(n-s, n, 1-iv.High-near).Cmp(tail), 0, "%d of %d at %v: above High", s, n, level)
					assert.GreaterOrEqual(t, atLeast(n-s, n, 1-iv.High+near).Cmp(tail), 0, "%d of %d at %v: below High", s, n, level)
				}
			}
		}
	}
}

func TestNeeded(t *testing.T) {
	const wilks = "the 95/95 and 95/99 samples of Wilks 1941"
	for _, tc := range []struct {
		low, level float64
		want       int
		source     string
	}{
		{0.95, 0.95, 59, wilks},
		{0.99, 0.95, 299, wilks},
		{0.90, 0.95, 29, "the success-run table of reliability handbooks: 29 for 90 % at 95 %"},
		{0.90, 0.90, 22, "and 22 for 90 % at 90 %"},
		{0.5, 0.875, 3, "½³ is 1/8: exactly enough"},
		{0.5, 0.876, 4, "and a little more is not"},
		{1e-300, 0.5, 1, "one pass refutes it"},
		{0.5, 1e-300, 1, "at least one"},
	} {
		n, err := Needed(tc.low, tc.level)
		require.NoError(t, err)
		assert.Equal(t, tc.want, n, tc.source)
	}
	for _, low := range []float64{0.25, 0.5, 0.75, 0.9375} { // without rounding
		for _, level := range []float64{0.25, 0.5, 0.9375, 0.984375} {
			limit, power, want := new(big.Rat).SetFloat64(1-level), big.NewRat(1, 1), 0
			for power.Cmp(limit) > 0 {
				power.Mul(power, new(big.Rat).SetFloat64(low))
				want++
			}
			n, err := Needed(low, level)
			require.NoError(t, err)
			assert.Equal(t, want, n, "%v at %v", low, level)
			if level > 0.5 {
				iv, err := ClopperPearson(n, n, 2*level-1)
				require.NoError(t, err)
				assert.GreaterOrEqual(t, iv.Low, low-1e-12, "the lower end at twice the tail")
			}
		}
	}
	_, err := Needed(1-1e-12, 0.95)
	assert.EqualError(t, err, "stats: low is 0.999999999999; allowed: one that 1000000000 trials can show")
	_, err = Needed(1, math.NaN())
	assert.EqualError(t, err, "stats: low is 1; allowed: above 0 and below 1\nstats: level is NaN; allowed: above 0 and below 1")
}

// kept reports exactly whether p^s·(1−p)^f ≥ (1−level)·B(s+1, f+1).
func kept(s, n int, p, level float64) bool {
	left := big.NewRat(1, 1)
	exact := new(big.Rat).SetFloat64(p)
	for range s {
		left.Mul(left, exact)
	}
	exact = new(big.Rat).Sub(big.NewRat(1, 1), exact)
	for range n - s {
		left.Mul(left, exact)
	}
	count := new(big.Int).Binomial(int64(n), int64(s))
	beta := new(big.Rat).SetFrac(big.NewInt(1), count.Mul(count, big.NewInt(int64(n+1)))) // s!·f!/(n+1)!
	return left.Cmp(beta.Mul(beta, new(big.Rat).SetFloat64(1-level))) >= 0
}

func TestAnyTimeAgainstRationals(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 9, 40} {
		for s := 0; s <= n; s++ {
			for _, level := range []float64{0.5, 0.875, 0.96875} {
				iv, err := AnyTime(s, n, level)
				require.NoError(t, err)
				assert.True(t, kept(s, n, iv.Low+near, level) && kept(s, n, iv.High-near, level), "%d of %d at %v: within %v", s, n, level, iv)
				assert.True(t, s == 0 && iv.Low == 0 || !kept(s, n, iv.Low-near, level), "%d of %d at %v: below %v", s, n, level, iv)
				assert.True(t, s == n && iv.High == 1 || !kept(s, n, iv.High+near, level), "%d of %d at %v: above %v", s, n, level, iv)
			}
		}
	}
}

func TestClusteredByHand(t *testing.T) {
	// p = 12/20, deviations 2, −1, −1 from 6, 3, 3: Σ = 6, v = 3/2·6/400 = 0.0225, d = 20·0.0225/0.24
	// = 1.875. All three have a pass and a failure, so f² = 9, and Σn/m = 6⅔.
	clusters := []Tally{{"a", 8, 10}, {"b", 2, 5}, {"c", 2, 5}}
	got, err := Clustered(clusters, 0.95)
	require.NoError(t, err)
	const effect = (9*1.875 + 20.0/3) / 10
	assert.InDelta(t, 0.6, got.Value, 1e-15)
	assert.InDelta(t, effect, got.DesignEffect, 1e-12)
	assert.InDelta(t, 20/effect, got.Effective, 1e-12)
	n := got.Effective // each end has a tail of 0.025 beyond it
	assert.InDelta(t, 0.025, dist.Beta(.6*n, .4*n+1, got.Interval.Low), 1e-10)
	assert.InDelta(t, 0.975, dist.Beta(.6*n+1, .4*n, got.Interval.High), 1e-10)
	assert.Equal(t, 3, got.Clusters)
	assert.Equal(t, 20, got.Trials)

	again, err := Clustered([]Tally{clusters[2], clusters[0], clusters[1]}, 0.95)
	require.NoError(t, err)
	assert.Equal(t, got, again, "free of order, to the last bit")
}

func TestClusteredEffect(t *testing.T) {
	for _, tc := range []struct {
		reason            string
		clusters          []Tally
		effective, effect float64
	}{
		{"whole clusters break together: as many observations as clusters, less one for their mean",
			[]Tally{{"", 9, 9}, {"", 9, 9}, {"", 0, 9}, {"", 0, 9}}, 3, 12},
		{"all passed: as many observations as clusters", []Tally{{"", 9, 9}, {"", 9, 9}, {"", 9, 9}}, 3, 9},
		{"nothing passed", []Tally{{"", 0, 9}, {"", 0, 9}}, 2, 9},
		{"clusters that are more alike than chance do not say more than their trials: d = 1, f = 2, Σn/m = 10",
			[]Tally{{"", 5, 10}, {"", 5, 10}}, 20 / 2.8, 2.8},
		{"one failure of all shows little of how alike clusters are: d = 30/29, f = 1, Σn/m = 10",
			[]Tally{{"", 10, 10}, {"", 10, 10}, {"", 9, 10}}, 60 / (30.0/29 + 10), (30.0/29 + 10) / 2},
		{"two clusters that differ altogether are one observation", []Tally{{"", 9, 9}, {"", 0, 9}}, 1, 18},
	} {
		got, err := Clustered(tc.clusters, 0.95)
		require.NoError(t, err)
		assert.InDelta(t, tc.effective, got.Effective, 1e-12, tc.reason)
		assert.InDelta(t, tc.effect, got.DesignEffect, 1e-12, tc.reason)
	}
}

func TestIntervalsRefuse(t *testing.T) {
	for _, f := range []func(int, int, float64) (scoring.Interval, error){ClopperPearson, AnyTime} {
		iv, err := f(1, -1, math.NaN())
		assert.EqualError(t, err, "stats: n is -1; allowed: 1 to 1000000000\nstats: passed is 1; allowed: 0 to n\n"+
			"stats: level is NaN; allowed: above 0 and below 1")
		assert.Zero(t, iv)
	}
	for _, tc := range []struct {
		clusters []Tally
		want     string
	}{
		{[]Tally{{"calm", 1, 2}}, "stats: clusters is 1; allowed: two clusters or more"},
		{[]Tally{{"calm", 3, 2}, {"", -1, 0}}, `stats: clusters["calm"].Passed is 3; allowed: 0 to Trials` +
			"\nstats: clusters[1].Trials is 0; allowed: 1 to 1000000000\nstats: clusters[1].Passed is -1; allowed: 0 to Trials"},
		{[]Tally{{"", 1, mostTrials}, {"", 0, 1}}, `stats: clusters is more than 1000000000 trials; allowed: 1000000000 trials or fewer in all`},
	} {
		_, err := Clustered(tc.clusters, 0.95)
		assert.EqualError(t, err, tc.want)
	}
}

// TestWithin bounds the effective number of trials by the observations, and leaves alone what has
// fewer.
func TestWithin(t *testing.T) {
	// Five answers in each of ten scenarios, judged by eight checks.
	alike := slices.Repeat([]Tally{{"", 32, 40}}, 10)
	share, err := Clustered(alike, .95)
	require.NoError(t, err)
	assert.InDelta(t, 400*101/140.0, share.Effective, 1e-9, "d = 1, f = 10, Σn/m = 40")
	ten := share.Within(10)
	want, err := ClopperPearson(8, 10, .95)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{want.Low, want.High}, []float64{ten.Interval.Low, ten.Interval.High}, 1e-12, "as ten trials")
	assert.Equal(t, []float64{10, 40}, []float64{ten.Effective, ten.DesignEffect})
	assert.Equal(t, 400, ten.Trials)
	for _, n := range []int{400, 1000, 0, -1} {
		assert.Equal(t, share, share.Within(n))
	}
	assert.Zero(t, ClusteredShare{}.Within(5))
	unlike, err := Clustered([]Tally{{"a", 40, 40}, {"b", 0, 40}}, .95)
	require.NoError(t, err)
	assert.Equal(t, unlike, unlike.Within(10), "scenarios that differ have fewer")
}
