package stats

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// powerOf is the power of a design by enumeration of all outcomes, with decisions in
// whole numbers. alpha is 1/alphaOne.
func powerOf(d Design, n int, from, to float64, alphaOne int64) float64 {
	alpha := big.NewRat(1, alphaOne)
	binomial := func(x int, p float64) float64 {
		return choose(n, x) * math.Pow(p, float64(x)) * math.Pow(1-p, float64(n-x))
	}
	sum := 0.0
	switch {
	case d.TwoSamples:
		for x := range n + 1 {
			for y := range n + 1 {
				tail := new(big.Rat)
				for i := range y + 1 {
					tail.Add(tail, oneTable(i, Tally{"", x, n}, Tally{"", y, n}))
				}
				if tail.Cmp(alpha) <= 0 {
					sum += binomial(x, from) * binomial(y, to)
				}
			}
		}
	case d.Paired:
		better, worse := d.Noise/2, d.Noise/2+from-to
		for w := range n + 1 {
			for b := range n + 1 - w {
				tail := new(big.Int)
				for i := range b + 1 {
					tail.Add(tail, new(big.Int).Binomial(int64(w+b), int64(i)))
				}
				if new(big.Rat).SetFrac(tail, new(big.Int).Lsh(big.NewInt(1), uint(w+b))).Cmp(alpha) <= 0 {
					sum += choose(n, w) * choose(n-w, b) * math.Pow(worse, float64(w)) * math.Pow(better, float64(b)) *
						math.Pow(1-worse-better, float64(n-w-b))
				}
			}
		}
	default:
		bound, _ := alpha.Float64()
		tail := 0.0
		for x := range n + 1 {
			if tail += binomial(x, from); tail <= bound*(1+1e-9) {
				sum += binomial(x, to)
			}
		}
	}
	return sum
}

// all is more than there is: all of the power is added.
const all = 2

func TestPowerAgainstEnumeration(t *testing.T) {
	for _, d := range []Design{{}, {Paired: true}, {Paired: true, Noise: 0.1}, {TwoSamples: true}} {
		for _, rates := range [][2]float64{{0.95, 0.5}, {0.9, 0.3}, {0.5, 0.06}, {1, 0.6}} {
			from, to := rates[0], rates[1]
			if d.Noise/2 > 1-from {
				continue
			}
			for _, alphaOne := range []int64{2, 20, 100} { // 1/20 is met exactly by 3 of 3 and 0 of 3
				plan := d.plan(from, 1/float64(alphaOne), 16)
				for n := 1; n <= 16; n++ {
					assert.InDelta(t, powerOf(d, n, from, to, alphaOne), plan.power(n, to, all), 1e-11, "%+v %v to %v, %d trials, 1/%d", d, from, to, n, alphaOne)
				}
			}
		}
	}
}

func TestTrialsAgainstEnumeration(t *testing.T) {
	for _, tc := range []struct {
		design   Design
		from, to float64
		most     int // up to which the oracle looks
	}{
		{Design{}, 0.95, 0.75, 120}, {Design{}, 0.9, 0.5, 60}, {Design{}, 0.5, 0.2, 120}, {Design{}, 1, 0.9, 60},
		{Design{Paired: true}, 0.95, 0.7, 40}, {Design{Paired: true, Noise: 0.1}, 0.95, 0.5, 40}, {Design{Paired: true, Noise: 0.2}, 0.8, 0.3, 40},
		{Design{TwoSamples: true}, 0.95, 0.4, 30}, {Design{TwoSamples: true}, 1, 0.5, 30},
	} {
		var powers []float64
		for n := range tc.most + 1 {
			powers = append(powers, powerOf(tc.design, n, tc.from, tc.to, 20))
		}
		for _, power := range []float64{0.5, 0.8, 0.9} {
			want := 0
			for n, p := range powers {
				if p < power {
					want = n + 1
				}
			}
			require.LessOrEqual(t, want, tc.most*4/5, "the oracle looks far enough")
			n, err := Trials(tc.design, tc.from, tc.to, 0.05, power)
			require.NoError(t, err)
			assert.Equal(t, want, n, "%+v, %v to %v, power %v", tc.design, tc.from, tc.to, power)
		}
	}
}

func TestDetectable(t *testing.T) {
	for _, d := range []Design{{}, {Paired: true}, {Paired: true, Noise: 0.1}, {TwoSamples: true}} {
		for _, n := range []int{8, 20, 60} {
			to, err := Detectable(d, n, 0.95, 0.05, 0.8)
			require.NoError(t, err)
			plan := d.plan(0.95, 0.05, n)
			assert.GreaterOrEqual(t, plan.power(n, to, all), 0.8-1e-9, "%+v %d", d, n)
			assert.Less(t, plan.power(n, to+1e-6, all), 0.8, "%+v %d: a smaller drop is not seen", d, n)
			if needed, err := Trials(d, 0.95, to-1e-6, 0.05, 0.8); assert.NoError(t, err) {
				assert.LessOrEqual(t, needed, 3*n, "%+v: about the inverse of Trials", d)
			}
		}
	}
	to, err := Detectable(Design{Paired: true}, 20, 0.95, 0.05, 0.8)
	require.NoError(t, err)
	assert.Equal(t, "0.63", fmt.Sprintf("%.2f", math.Floor(to*100)/100), "20 pairs see a drop from 95 % to 63 %")
}

func TestTrialsRefuse(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		design                 Design
		from, to, alpha, power float64
		want                   string
	}{
		{Design{}, nan, nan, nan, nan, "stats: from is NaN; allowed: above 0 to 1\nstats: to is NaN; allowed: 0 to below from\n" +
			"stats: alpha is NaN; allowed: above 0 to 0.5\nstats: power is NaN; allowed: 0.5 to below 1"},
		{Design{Noise: 0.1}, 0.8, 0.8, 0.6, 0.4, "stats: to is 0.8; allowed: 0 to below from\nstats: Noise is 0.1; allowed: 0 without Paired\n" +
			"stats: alpha is 0.6; allowed: above 0 to 0.5\nstats: power is 0.4; allowed: 0.5 to below 1"},
		{Design{Paired: true, TwoSamples: true, Noise: 0.2}, 0.95, 0.5, 0.05, 0.8, "stats: Paired is true; allowed: not with TwoSamples\n" +
			"stats: Noise is 0.2; allowed: 0 to twice the smaller of 1 - from and to"},
		{Design{Paired: true, Noise: 0.2}, 0.5, 0.05, 0.05, 0.8, "stats: Noise is 0.2; allowed: 0 to twice the smaller of 1 - from and to"},
		{Design{}, 0.95, 0.9499, 0.05, 0.8, "stats: to is 0.9499; allowed: a drop that 10000 trials can see"},
	} {
		n, err := Trials(tc.design, tc.from, tc.to, tc.alpha, tc.power)
		assert.EqualError(t, err, tc.want)
		assert.Zero(t, n)
	}
	_, err := Detectable(Design{}, 0, 0.5, 0.05, 0.8)
	assert.EqualError(t, err, "stats: trials is 0; allowed: 1 to 10000")
	_, err = Detectable(Design{Paired: true}, 4, 0.95, 0.05, 0.8)
	assert.EqualError(t, err, "stats: trials is 4; allowed: enough to see the largest drop there can be")
	_, err = Detectable(Design{Paired: true, Noise: 0.4}, 100, 0.1, 0.05, 0.8)
	assert.EqualError(t, err, "stats: Noise is 0.4; allowed: 0 to twice the smaller of 1 - from and to",
		"more trials would not help: where a tenth pass, a fifth cannot get worse")
}

// TestTrialsOfSmallRates: where thousands of trials of rare passes are compared, with J. T.
// Casagrande, M. C. Pike and P. G. Smith, An improved approximate formula for calculating
// sample sizes for comparing two binomial distributions, Biometrics 34, 1978. It is within
// some per cent of Fisher's exact test.
func TestTrialsOfSmallRates(t *testing.T) {
	for _, rates := range [][2]float64{{.02, .01}, {.05, .04}} {
		from, to := rates[0], rates[1]
		const z05, z20 = 1.6449, .8416 // quantiles of the normal distribution
		mean, drop := (from+to)/2, from-to
		n := math.Pow(z05*math.Sqrt(2*mean*(1-mean))+z20*math.Sqrt(from*(1-from)+to*(1-to)), 2) / (drop * drop)
		n = n / 4 * math.Pow(1+math.Sqrt(1+4/(n*drop)), 2)
		trials, err := Trials(Design{TwoSamples: true}, from, to, .05, .8)
		require.NoError(t, err)
		assert.InEpsilon(t, n, trials, .03, "%v to %v", from, to)
		seen, err := Detectable(Design{TwoSamples: true}, trials, from, .05, .8)
		require.NoError(t, err)
		assert.InDelta(t, to, seen, .0005)
	}
	_, err := Trials(Design{TwoSamples: true}, 1e-9, 0, .05, .8)
	assert.Error(t, err, "10,000 trials pass once in 100,000 times")
}
