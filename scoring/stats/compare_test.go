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

	"github.com/shakedown-go/shakedown/scoring"
)

func TestMcNemar(t *testing.T) {
	const paper = "Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91, exact conditional test"
	for _, tc := range []struct {
		pairs  Pairs
		want   float64
		source string
	}{
		{Pairs{Both: 1, Worse: 1, Better: 7, Neither: 12}, 0.0703, paper + " of Bentur et al. 2009"},
		{Pairs{Both: 59, Worse: 6, Better: 16, Neither: 80}, 0.0525, paper + " of Cavo et al. 2012"},
		{Pairs{Both: 9}, 1, "no pair differs"},
		{Pairs{Worse: 5}, 0.0625, "2/2⁵: five pairs are never enough"},
		{Pairs{Worse: 12}, 2.0 / 4096, "2/2¹²"},
	} {
		p, err := McNemar(tc.pairs)
		require.NoError(t, err)
		assert.InDelta(t, tc.want, p.TwoSided, 0.00005, tc.source)
	}
	for n := range 60 { // against whole numbers
		for b := 0; b <= n; b++ {
			sum := new(big.Int)
			for i := range min(b, n-b) + 1 {
				sum.Add(sum, new(big.Int).Binomial(int64(n), int64(i)))
			}
			want, _ := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
			p, err := McNemar(Pairs{Worse: b, Better: n - b})
			require.NoError(t, err)
			assert.InDelta(t, min(1, 2*want), p.TwoSided, 1e-12)
			sum.SetInt64(0)
			for i := range n - b + 1 { // as many better, or fewer
				sum.Add(sum, new(big.Int).Binomial(int64(n), int64(i)))
			}
			want, _ = new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
			assert.InDelta(t, want, p.Worse, 1e-12)
			mirrored, err := McNemar(Pairs{Both: 7, Worse: n - b, Better: b, Neither: 1})
			require.NoError(t, err)
			assert.Equal(t, p.TwoSided, mirrored.TwoSided, "symmetrical, and pairs that do not differ do not count")
		}
	}
}

func TestPairedDifferencePublished(t *testing.T) {
	for _, tc := range []struct {
		pairs            Pairs
		value, low, high float64
		digits           float64
		source           string
	}{
		{Pairs{Both: 59, Worse: 16, Better: 6, Neither: 80}, -0.0621, -0.1186, -0.0046, 5e-5,
			"Cavo et al. 2012, square-and-add interval; tests of Fagerland, Lydersen and Laake's R package contingencytables, chapter 8"},
		{Pairs{Both: 14, Worse: 0, Better: 5, Neither: 22}, 0.122, 0.011, 0.226, 5e-4,
			"Altman, Machin, Bryant and Gardner 2000, Statistics with Confidence, table 6.2"},
	} {
		d, err := PairedDifference(tc.pairs, 0.95)
		require.NoError(t, err)
		assert.InDelta(t, tc.value, d.Value, tc.digits, tc.source)
		assert.InDelta(t, tc.low, d.Low, tc.digits, tc.source)
		assert.InDelta(t, tc.high, d.High, tc.digits, tc.source)
		assert.Equal(t, 0.95, d.Level)
	}
}

func TestPairedDifferenceLaws(t *testing.T) {
	const n = 12
	for a := range n + 1 {
		for b := range n + 1 - a {
			for c := range n + 1 - a - b {
				p := Pairs{Both: a, Worse: b, Better: c, Neither: n - a - b - c}
				d, err := PairedDifference(p, 0.95)
				require.NoError(t, err)
				assert.InDelta(t, float64(c-b)/n, d.Value, 1e-15)
				assert.True(t, -1 <= d.Low && d.Low < d.Value+1e-15 && d.Value-1e-15 < d.High && d.High <= 1, "%+v: %+v", p, d)
				back, err := PairedDifference(Pairs{Both: a, Worse: c, Better: b, Neither: n - a - b - c}, 0.95)
				require.NoError(t, err)
				assert.InDelta(t, -d.High, back.Low, 1e-14, "the other way round it is negated")
				fails, err := PairedDifference(Pairs{Both: p.Neither, Worse: c, Better: b, Neither: a}, 0.95)
				require.NoError(t, err)
				assert.InDelta(t, -d.High, fails.Low, 1e-14, "and so it is for failures")
			}
		}
	}
}

// oneTable is the exact chance of x passes after, given the margins.
func oneTable(x int, before, after Tally) *big.Rat {
	binomial := func(n, k int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }
	passes := before.Passed + after.Passed
	if x > after.Trials || passes-x > before.Trials || passes-x < 0 {
		return new(big.Rat)
	}
	ways := binomial(after.Trials, x)
	ways.Mul(ways, binomial(before.Trials, passes-x))
	return new(big.Rat).SetFrac(ways, binomial(before.Trials+after.Trials, passes))
}

func TestFisherExact(t *testing.T) {
	for _, tc := range []struct {
		before, after Tally
		want          float64
		source        string
	}{
		{Tally{"milk", 3, 4}, Tally{"tea", 1, 4}, 0.4857, "Fisher's tea tasting, as R's help of fisher.test prints it"},
		{Tally{"dizygotic", 2, 17}, Tally{"monozygotic", 10, 13}, 0.0005367, "Fisher's criminal twins, as R's help of fisher.test prints it"},
	} {
		p, err := FisherExact(tc.before, tc.after)
		require.NoError(t, err)
		assert.InDelta(t, tc.want, p.TwoSided, tc.want/8000, tc.source)
	}
	for m := 1; m <= 7; m++ {
		for n := 1; n <= 7; n++ {
			for x := range m + 1 {
				for y := range n + 1 {
					before, after := Tally{"", x, m}, Tally{"", y, n}
					seen, sum := oneTable(y, before, after), new(big.Rat)
					for i := range x + y + 1 {
						if other := oneTable(i, before, after); other.Cmp(seen) <= 0 {
							sum.Add(sum, other)
						}
					}
					want, _ := sum.Float64()
					p, err := FisherExact(before, after)
					require.NoError(t, err)
					assert.InDelta(t, want, p.TwoSided, 1e-12, "%+v %+v", before, after)
					sum.SetInt64(0)
					for i := range y + 1 {
						sum.Add(sum, oneTable(i, before, after))
					}
					want, _ = sum.Float64()
					assert.InDelta(t, want, p.Worse, 1e-12, "%+v %+v", before, after)
					swapped, err := FisherExact(after, before)
					require.NoError(t, err)
					assert.InDelta(t, p.TwoSided, swapped.TwoSided, 1e-12, "symmetrical")
				}
			}
		}
	}
	p, err := FisherExact(Tally{"", 950_000, 1_000_000}, Tally{"", 850_000, 1_000_000})
	require.NoError(t, err)
	assert.Equal(t, PValue{}, p, "too small for a float; with an int of 32 bits too (GOARCH=386)")
}

func TestHolm(t *testing.T) {
	got, err := Holm([]float64{.50, .003, .32, .054, .0003})
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{0.64, 0.012, 0.64, 0.162, 0.0015}, got, 1e-12, "the example of pingouin.holm's documentation")
	none, err := Holm(nil)
	require.NoError(t, err)
	assert.Empty(t, none)

	// Holm is the closed test with Bonferroni's rule (Marcus, Peritz and Gabriel
	// 1976): the adjusted value of i is the largest |S|·min p over the sets S with i.
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		p := make([]float64, 1+rng.IntN(7))
		for i := range p {
			p[i] = math.Pow(float64(rng.IntN(20))/19, 3) // ties, 0 and 1 among them
		}
		got, err := Holm(p)
		require.NoError(t, err)
		for i := range p {
			want := 0.0
			for set := range 1 << len(p) {
				if set>>i&1 == 1 {
					least := 1.0
					for j := range p {
						if set>>j&1 == 1 {
							least = min(least, p[j])
						}
					}
					want = max(want, min(1, float64(bits.OnesCount(uint(set)))*least))
				}
			}
			assert.InDelta(t, want, got[i], 1e-14, "%v of %v", i, p)
		}
		back := slices.Clone(p)
		slices.Reverse(back)
		turned, err := Holm(back)
		require.NoError(t, err)
		slices.Reverse(turned)
		assert.Equal(t, got, turned, "free of order")
	}
}

func TestHolmKeepsItsRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const runs, alpha = 4000, 0.05
	for _, fields := range []int{1, 5, 90} {
		alarms := 0
		for range runs {
			p := make([]float64, fields)
			for i := range p { // no field changed: pairs are as often worse as better
				worse := bits.OnesCount64(rng.Uint64() >> 44)
				field, err := McNemar(Pairs{Worse: worse, Better: 20 - worse})
				require.NoError(t, err)
				p[i] = field.TwoSided
			}
			adjusted, err := Holm(p)
			require.NoError(t, err)
			if slices.Min(adjusted) <= alpha {
				alarms++
			}
		}
		assert.LessOrEqual(t, float64(alarms)/runs, alpha+3*math.Sqrt(alpha*(1-alpha)/runs), "%d fields", fields)
	}
}

func TestSignFlipPublished(t *testing.T) {
	darwin := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	p, err := SignFlip(darwin, 0)
	require.NoError(t, err)
	assert.Equal(t, PValue{2 * 863.0 / 32768, 1 - 835.0/32768}, p, "Fisher 1935, The Design of Experiments, section 21: Darwin's maize, "+
		"863 of 32,768 sums are 314 or more, and 835 are more")
}

func TestSignFlipAgainstAllSigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for round := range 300 {
		whole := make([]int, 1+rng.IntN(9))
		changes := make([]float64, len(whole))
		sum := 0
		for i := range whole {
			whole[i] = rng.IntN(9) - 4
			changes[i] = float64(whole[i])
			if round%2 == 0 {
				changes[i] /= 7 // so that sums are rounded
			}
			sum += whole[i]
		}
		hits, low := 0, 0
		for signs := range 1 << len(whole) {
			other := 0
			for i, x := range whole {
				other += x * (1 - 2*(signs>>i&1))
			}
			if max(other, -other) >= max(sum, -sum) {
				hits++
			}
			if other <= sum {
				low++
			}
		}
		p, err := SignFlip(changes, 9)
		require.NoError(t, err)
		all := float64(int(1) << len(whole))
		assert.InDelta(t, float64(hits)/all, p.TwoSided, 1e-12, "%v", whole)
		assert.InDelta(t, float64(low)/all, p.Worse, 1e-12, "%v", whole)
		rng.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		again, err := SignFlip(changes, 9)
		require.NoError(t, err)
		assert.Equal(t, p, again, "free of order")
	}
}

func TestSignFlipDraws(t *testing.T) {
	ones := slices.Repeat([]float64{.5}, 30)
	for i := range 9 {
		ones[i] = -.5
	}
	p, err := SignFlip(ones, 1)
	require.NoError(t, err)
	exact, err := McNemar(Pairs{Worse: 9, Better: 21}) // equal sizes are the sign test
	require.NoError(t, err)
	assert.InDelta(t, exact.TwoSided, p.TwoSided, 4*math.Sqrt(exact.TwoSided/flipDraws), "draws come close")
	assert.InDelta(t, 1, p.Worse, 0.02, "it is far better")
	again, err := SignFlip(ones, 1)
	require.NoError(t, err)
	assert.Equal(t, p, again, "the same seed")
	slices.Reverse(ones)
	again, err = SignFlip(ones, 1)
	require.NoError(t, err)
	assert.Equal(t, p, again, "free of order")
	sure, err := SignFlip(slices.Repeat([]float64{1e300}, 100), 1)
	require.NoError(t, err)
	assert.Equal(t, PValue{1.0 / (1 + flipDraws), 1}, sure, "never 0")
	zeros, err := SignFlip(append(make([]float64, 50), 1, 2), 1)
	require.NoError(t, err)
	assert.Equal(t, PValue{0.5, 1}, zeros, "clusters that did not change do not count")
}

func TestSignFlipKeepsItsRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const runs, alpha = 3000, 0.05
	for _, clusters := range []int{6, 10, 16} {
		alarms, drops := 0, 0
		for range runs {
			changes := make([]float64, clusters)
			for i := range changes { // whole scenarios change together, in either direction
				changes[i] = float64(rng.IntN(3)-1) * float64(1+rng.IntN(20))
			}
			p, err := SignFlip(changes, 1)
			require.NoError(t, err)
			if p.TwoSided <= alpha {
				alarms++
			}
			if p.Worse <= alpha {
				drops++
			}
		}
		bound := alpha + 3*math.Sqrt(alpha*(1-alpha)/runs)
		assert.LessOrEqual(t, float64(alarms)/runs, bound, "%d clusters", clusters)
		assert.LessOrEqual(t, float64(drops)/runs, bound, "%d clusters, for the worse", clusters)
	}
}

func TestComparisonsRefuse(t *testing.T) {
	bad := Pairs{Both: -1, Neither: mostTrials}
	const counts = "stats: Both is -1; allowed: 0 to 250000000\nstats: Neither is 1000000000; allowed: 0 to 250000000"
	_, err := McNemar(bad)
	assert.EqualError(t, err, counts)
	_, err = PairedDifference(bad, 2)
	assert.EqualError(t, err, counts+"\nstats: level is 2; allowed: above 0 and below 1")
	_, err = PairedDifference(Pairs{}, 0.9)
	assert.EqualError(t, err, "stats: Pairs is empty; allowed: one pair or more")
	_, err = FisherExact(Tally{Passed: 2, Trials: 1}, Tally{Passed: 1, Trials: mostFisher + 1})
	assert.EqualError(t, err, "stats: before.Passed is 2; allowed: 0 to Trials\nstats: after.Trials is 1000001; allowed: 1 to 1000000")
	_, err = Holm([]float64{0.5, -0.1, math.NaN()})
	assert.EqualError(t, err, "stats: p[1] is -0.1; allowed: 0 to 1\nstats: p[2] is NaN; allowed: 0 to 1")
	_, err = SignFlip(nil, 1)
	assert.EqualError(t, err, "stats: changes is 0; allowed: 1 to 10000 clusters")
	_, err = SignFlip([]float64{1, math.Inf(1), math.NaN()}, 1)
	assert.EqualError(t, err, "stats: changes[1] is +Inf; allowed: a finite number\nstats: changes[2] is NaN; allowed: a finite number")
	var field *scoring.FieldError
	assert.ErrorAs(t, err, &field)
}
