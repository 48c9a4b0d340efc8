package stats

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPassOfAllSmallCases(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for c := 0; c <= n; c++ {
			for k := 1; k <= n; k++ {
				any, every, all := 0, 0, 0
				for set := range 1 << n { // the trials that are drawn; the first c of n pass
					if bits.OnesCount(uint(set)) == k {
						passed := bits.OnesCount(uint(set & (1<<c - 1)))
						all++
						if passed > 0 {
							any++
						}
						if passed == k {
							every++
						}
					}
				}
				at, err := PassAt([]Tally{{Passed: c, Trials: n}}, k, 0.95)
				require.NoError(t, err)
				assert.InDelta(t, float64(any)/float64(all), at.Value, 1e-14, "pass@%d of %d in %d", k, c, n)
				of, err := PassEvery([]Tally{{Passed: c, Trials: n}}, k, 0.95)
				require.NoError(t, err)
				assert.InDelta(t, float64(every)/float64(all), of.Value, 1e-14, "pass^%d of %d in %d", k, c, n)
				assert.Zero(t, of.Interval, "one task has no spread")
			}
		}
	}
}

func TestPassPublished(t *testing.T) {
	for _, tc := range []struct {
		passed, trials, k int
		want              float64
		source            string
	}{
		{1, 2, 1, 0.5, "Hugging Face evaluate, code_eval, first example: pass@1"},
		{1, 2, 2, 1.0, "Hugging Face evaluate, code_eval, first example: pass@2"},
		{3, 6, 1, 0.5, "openai/human-eval, README: its example samples have a pass@1 of 0.4999999999999999"},
	} {
		got, err := PassAt([]Tally{{Passed: tc.passed, Trials: tc.trials}}, tc.k, 0.95)
		require.NoError(t, err)
		assert.InDelta(t, tc.want, got.Value, 1e-14, tc.source)
	}
}

func TestPassIsStable(t *testing.T) {
	for _, n := range []int{50, 200, 1000, 10_000} {
		for _, c := range []int{1, n / 10, n / 2, n - n/10, n - 3, n - 1} {
			for _, k := range []int{1, 2, 5, 64, 65, 66, n / 2, n - 1, n} {
				if k > n {
					continue
				}
				count := new(big.Int).Binomial(int64(n), int64(k))
				every, _ := new(big.Rat).SetFrac(new(big.Int).Binomial(int64(c), int64(k)), count).Float64()
				none, _ := new(big.Rat).SetFrac(new(big.Int).Binomial(int64(n-c), int64(k)), count).Float64()
				assert.InDelta(t, every, allOf(c, n, k), 1e-12, "C(%d, %d)/C(%d, %d)", c, k, n, k)
				if every > 1e-290 {
					assert.InEpsilon(t, every, allOf(c, n, k), 1e-10, "relatively: C(%d, %d)/C(%d, %d)", c, k, n, k)
				}
				at, err := PassAt([]Tally{{Passed: c, Trials: n}}, k, 0.95)
				require.NoError(t, err)
				assert.InDelta(t, 1-none, at.Value, 1e-12)
			}
		}
	}
}

func TestPassOverTasks(t *testing.T) {
	// By hand: estimates 1, 0.5, 0 have mean 0.5 and standard deviation 0.5; the t
	// quantile of 2 degrees is 4.302653 (NIST/SEMATECH e-Handbook, 1.3.6.7.2).
	tasks := []Tally{{Passed: 4, Trials: 4}, {Passed: 2, Trials: 4}, {Passed: 0, Trials: 9}}
	e, err := PassEvery(tasks, 1, 0.95)
	require.NoError(t, err)
	assert.InDelta(t, 0.5, e.Value, 1e-14)
	assert.Equal(t, 0.0, e.Interval.Low, "0.5 − 4.3027·0.5/√3 is below 0")
	assert.Equal(t, 1.0, e.Interval.High)
	e, err = PassEvery(tasks, 1, 0.5) // quantile 0.8165, which is √(2/3)
	require.NoError(t, err)
	assert.InDelta(t, 0.5-math.Sqrt(2.0/3)*0.5/math.Sqrt(3), e.Interval.Low, 1e-10)
	assert.InDelta(t, 0.5+math.Sqrt(2.0/3)*0.5/math.Sqrt(3), e.Interval.High, 1e-10)
	assert.Equal(t, 3, e.Tasks)

	e, err = PassEvery([]Tally{{Passed: 4, Trials: 4}, {Passed: 8, Trials: 8}}, 3, 0.95)
	require.NoError(t, err)
	assert.Equal(t, Estimate{Value: 1, Tasks: 2}, e, "no spread is not certainty: there is no interval")
	e, err = PassEvery([]Tally{{Passed: 4, Trials: 5}, {Passed: 28, Trials: 36}}, 2, 0.95)
	require.NoError(t, err)
	assert.InDelta(t, 0.6, e.Value, 1e-14, "6/10 and 378/630")
	assert.Zero(t, e.Interval, "both are 3/5, whose quotients differ by rounding")

	pool, err := PassAt([]Tally{{Passed: 10, Trials: 20}}, 10, 0.95)
	require.NoError(t, err)
	apart, err := PassAt([]Tally{{Passed: 10, Trials: 10}, {Passed: 0, Trials: 10}}, 10, 0.95)
	require.NoError(t, err)
	assert.InDelta(t, 0.999995, pool.Value, 1e-6, "pooled trials forget that a task never passes")
	assert.Equal(t, 0.5, apart.Value)
}

func TestPassIsFreeOfOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tasks := make([]Tally, 999)
	sum, squares := 0.0, 0.0
	for i := range tasks {
		n := 5 + rng.IntN(30)
		tasks[i] = Tally{Passed: rng.IntN(n + 1), Trials: n}
		x := allOf(tasks[i].Passed, n, 5)
		sum, squares = sum+x, squares+x*x
	}
	want, err := PassEvery(tasks, 5, 0.95)
	require.NoError(t, err)
	m := float64(len(tasks))
	assert.InDelta(t, sum/m, want.Value, 1e-13)
	deviation := math.Sqrt((squares - sum*sum/m) / (m - 1))
	assert.InDelta(t, 1.96234*deviation/math.Sqrt(m), want.Interval.High-want.Value, 1e-6, "the t quantile of 998 degrees is 1.96234")
	for range 20 {
		rng.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		got, err := PassEvery(tasks, 5, 0.95)
		require.NoError(t, err)
		assert.Equal(t, want, got, "to the last bit")
	}
}

func TestPassRefuses(t *testing.T) {
	few := []Tally{{Name: "refund", Passed: 2, Trials: 2}, {Passed: 3, Trials: 4}, {Passed: 5, Trials: 5}}
	for _, tc := range []struct {
		tasks []Tally
		k     int
		level float64
		want  string
	}{
		{nil, 0, 1, "stats: tasks is empty; allowed: one task or more\nstats: k is 0; allowed: 1 or more\n" +
			"stats: level is 1; allowed: above 0 and below 1"},
		{few, 5, 0.95, `stats: tasks["refund"].Trials is 2; allowed: k or more` + "\nstats: tasks[1].Trials is 4; allowed: k or more"},
		{[]Tally{{Passed: 2, Trials: 1}, {}}, 1, 0.95, "stats: tasks[0].Passed is 2; allowed: 0 to Trials\n" +
			"stats: tasks[1].Trials is 0; allowed: 1 to 1000000000"},
	} {
		for _, f := range []func([]Tally, int, float64) (Estimate, error){PassAt, PassEvery} {
			e, err := f(tc.tasks, tc.k, tc.level)
			assert.EqualError(t, err, tc.want)
			assert.Zero(t, e)
		}
	}
	_, err := PassAt(slices.Repeat(few, 100), 5, 0.95)
	assert.ErrorContains(t, err, "and 180 more problems", "errors are bounded")
}

// choose is C(n, k) as a float.
func choose(n, k int) float64 {
	f, _ := new(big.Float).SetInt(new(big.Int).Binomial(int64(n), int64(k))).Float64()
	return f
}
