package dist_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/internal/dist"
)

const tolerance = 1e-10

// binomials are the exact probabilities of 0 to n passes for p = num/den.
func binomials(n int, num, den int64) []*big.Rat {
	p := big.NewRat(num, den)
	q := new(big.Rat).Sub(big.NewRat(1, 1), p)
	power := func(r *big.Rat, k int) *big.Rat {
		e := big.NewInt(int64(k))
		return new(big.Rat).SetFrac(new(big.Int).Exp(r.Num(), e, nil), new(big.Int).Exp(r.Denom(), e, nil))
	}
	out := make([]*big.Rat, n+1)
	for x := range out {
		c := new(big.Rat).SetInt(new(big.Int).Binomial(int64(n), int64(x)))
		out[x] = c.Mul(c, power(p, x)).Mul(c, power(q, n-x))
	}
	return out
}

func float(r *big.Rat) float64 { f, _ := r.Float64(); return f }

func TestBinomialAgainstRationals(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 20, 61, 300} {
		for _, p := range [][2]int64{{1, 1000}, {1, 7}, {1, 2}, {17, 20}, {999, 1000}} {
			share := float64(p[0]) / float64(p[1])
			sum := new(big.Rat)
			for x, want := range binomials(n, p[0], p[1]) {
				w := float(want)
				if w > 1e-300 {
					assert.InEpsilon(t, w, math.Exp(dist.LogBinomial(float64(x), float64(n), share)), tolerance, "%d of %d at %v", x, n, share)
				}
				sum.Add(sum, want)
				assert.InDelta(t, float(sum), dist.AtMost(x, n, share), tolerance, "at most %d of %d at %v", x, n, share)
				if w := float(sum); w > 1e-300 {
					require.InEpsilon(t, w, dist.AtMost(x, n, share), 1e-9, "relatively: at most %d of %d at %v", x, n, share)
				}
			}
		}
	}
	assert.Equal(t, 0.0, dist.AtMost(-1, 5, 0.5))
	assert.Equal(t, 1.0, dist.AtMost(5, 5, 0.5))
}

// A sum of logarithms with 300 bits, as rationals would be too long.
func TestBinomialOfManyTrials(t *testing.T) {
	const n = 100_000
	term := new(big.Float).SetPrec(300).SetInt64(1) // C(n, x) / 2^n, from x = 0
	term.SetMantExp(term, -n)
	sum := new(big.Float).SetPrec(300).Set(term)
	for x := 1; x <= n/2; x++ {
		term.Mul(term, new(big.Float).SetInt64(int64(n-x+1)))
		term.Quo(term, new(big.Float).SetInt64(int64(x)))
		sum.Add(sum, term)
		if x == 48_000 || x == 49_700 || x == n/2 {
			want, _ := sum.Float64()
			assert.InEpsilon(t, want, dist.AtMost(x, n, 0.5), tolerance, "at most %d", x)
			point, _ := term.Float64()
			assert.InEpsilon(t, point, math.Exp(dist.LogBinomial(float64(x), n, 0.5)), tolerance)
		}
	}
}

func TestNormalQuantile(t *testing.T) {
	const source = "Wichura 1988, algorithm AS 241, and any table of the normal distribution"
	for level, want := range map[float64]float64{
		0.5: 0.674489750196082, 0.9: 1.644853626951473, 0.95: 1.959963984540054, 0.99: 2.575829303548901, 0.998: 3.090232306167813,
	} {
		assert.InDelta(t, want, dist.NormalQuantile(level), tolerance, source)
	}
}

func TestStudentQuantile(t *testing.T) {
	const table = "NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, critical values of Student's t"
	for _, tc := range []struct {
		degrees     int
		level, want float64
	}{
		{3, 0.95, 3.182}, {4, 0.95, 2.776}, {9, 0.90, 1.833}, {9, 0.95, 2.262}, {9, 0.99, 3.250}, {19, 0.95, 2.093},
		{30, 0.95, 2.042}, {100, 0.95, 1.984},
	} {
		assert.InDelta(t, tc.want, dist.StudentQuantile(tc.level, tc.degrees), 0.0005, "%s, %d degrees", table, tc.degrees)
	}
	for _, level := range []float64{1e-6, 0.1, 0.5, 0.8, 0.95, 0.99, 0.999999} {
		cauchy := math.Tan(math.Pi / 2 * level)
		assert.InEpsilon(t, cauchy, dist.StudentQuantile(level, 1), tolerance, "one degree is Cauchy's distribution")
		two := level * math.Sqrt2 / math.Sqrt(1-level*level)
		assert.InEpsilon(t, two, dist.StudentQuantile(level, 2), tolerance, "two degrees have a closed form")
		// With four: I = ¾·(s − s³/3)·… in closed form: level = s·(3−s²)/2, s = t/√(4+t²).
		s, _ := dist.Bisect(0, 1, func(s float64) bool { return s*(3-s*s)/2 < level })
		assert.InEpsilon(t, 2*s/math.Sqrt(1-s*s), dist.StudentQuantile(level, 4), tolerance, "so do four")
	}
	assert.InDelta(t, dist.NormalQuantile(0.95), dist.StudentQuantile(0.95, 1e9), 1e-8, "many degrees are the normal distribution")
}

func TestBetaOfHalves(t *testing.T) {
	for x := 0.0; x <= 1; x += 1.0 / 64 {
		assert.InDelta(t, 2/math.Pi*math.Asin(math.Sqrt(x)), dist.Beta(0.5, 0.5, x), tolerance, "the arc sine distribution")
		assert.InDelta(t, math.Pow(x, 7.5), dist.Beta(7.5, 1, x), tolerance)
	}
}

func TestBetaLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(0.5, 1e6).Draw(t, "a")
		b := rapid.Float64Range(0.5, 1e6).Draw(t, "b")
		x := rapid.Float64Range(0, 1).Draw(t, "x")
		v := dist.Beta(a, b, x)
		assert.True(t, v >= 0 && v <= 1, "%v", v)
		if x != 1-(1-x) {
			x = 1 - (1 - x) // so that the mirrored argument is exact
			v = dist.Beta(a, b, x)
		}
		assert.InDelta(t, 1-v, dist.Beta(b, a, 1-x), tolerance, "mirrored")
		assert.LessOrEqual(t, v, dist.Beta(a, b, min(1, x+1e-3))+tolerance, "monotone")
	})
}

func TestBetaQuantileInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := float64(rapid.IntRange(1, 5000).Draw(t, "a"))
		b := float64(rapid.IntRange(1, 5000).Draw(t, "b"))
		chance := rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "chance")
		x := dist.BetaQuantile(a, b, chance)
		assert.InDelta(t, chance, dist.Beta(a, b, x), 1e-9)
	})
}
