package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// first runs a test over the trials and returns its first decision and when.
func first(t *testing.T, test SPRT, trials func(n int) bool, most int) (Decision, int) {
	t.Helper()
	passed := 0
	for n := 1; n <= most; n++ {
		if trials(n) {
			passed++
		}
		s, err := test.Decide(passed, n)
		require.NoError(t, err)
		if s.Decision != Open {
			return s.Decision, n
		}
	}
	return Open, most
}

func TestSPRTPublished(t *testing.T) {
	// Here a pass of the trial is a defective item of the plan, so its "reject the
	// lot" is our Accepted.
	nist := SPRT{P0: 0.01, P1: 0.10, Alpha: 0.05, Beta: 0.10}
	const handbook = "NIST/SEMATECH e-Handbook, 6.2.6: accept at −0.939 + 0.0397·n, reject at 1.205 + 0.0397·n"
	d, n := first(t, nist, func(int) bool { return false }, 100)
	assert.Equal(t, "rejected at 24", fmt.Sprintf("%v at %d", d, n), "no defective one: %s", handbook)
	d, n = first(t, nist, func(int) bool { return true }, 100)
	assert.Equal(t, "accepted at 2", fmt.Sprintf("%v at %d", d, n), "all defective: %s", handbook)

	wald := SPRT{P0: 0.1, P1: 0.3, Alpha: 0.02, Beta: 0.03}
	const book = "Wald 1947, Sequential Analysis, 5.3: p0 = 0.1, p1 = 0.3, α = 0.02, β = 0.03"
	for _, tc := range []struct {
		test SPRT
		intercept0,
		intercept1, slope float64
		digits float64
		source string
	}{
		{nist, -0.939, 1.205, 0.0397, 5e-4, handbook},
		{wald, -2.58, 2.88, 0.186, 5e-3, book},
	} {
		var w walk
		tc.test.walk(&w)
		step := w.pass - w.fail
		assert.InDelta(t, tc.intercept0, w.lower/step, tc.digits, tc.source)
		assert.InDelta(t, tc.intercept1, w.upper/step, tc.digits, tc.source)
		assert.InDelta(t, tc.slope, -w.fail/step, tc.digits, tc.source)
	}
}

func TestDecide(t *testing.T) {
	test := SPRT{P0: 0.8, P1: 0.95, Alpha: 0.05, Beta: 0.05, Max: 60}
	// By hand: a pass is ln(0.95/0.8) = 0.17185, a failure ln(0.05/0.2) = −1.38629, the
	// bounds are ±ln 19 = ±2.94444.
	for _, tc := range []struct {
		passed, n int
		want      Standing
		reason    string
	}{
		{17, 17, Standing{Passes: 1, Trials: 1}, "0.02297 are missing"},
		{18, 18, Standing{Decision: Accepted}, "18 · 0.17185 = 3.0933"},
		{17, 18, Standing{Passes: 9, Trials: 16.524}, "1.40928/0.17185 = 8.2; the drift at 17/18 is 0.085287"},
		{0, 0, Standing{Passes: 18, Trials: 31.3428}, "2.94444/0.17185 = 17.1; the drift at 0.95 is 0.093943"},
		{0, 1, Standing{Passes: 26, Trials: 1.12397}, "4.33073/0.17185 = 25.2; 1.55815/1.38629 to the lower bound"},
		{0, 3, Standing{Decision: Rejected}, "3 · −1.38629 = −4.159"},
		{48, 54, Standing{Passes: 0, Trials: 6}, "18.3 passes are missing, and only 6 trials are left"},
		{54, 60, Standing{}, "cut at Max: open, not decided"},
	} {
		got, err := test.Decide(tc.passed, tc.n)
		require.NoError(t, err)
		assert.Equal(t, tc.want.Decision, got.Decision, "%d of %d: %s", tc.passed, tc.n, tc.reason)
		assert.Equal(t, tc.want.Passes, got.Passes, "%d of %d: %s", tc.passed, tc.n, tc.reason)
		assert.InDelta(t, tc.want.Trials, got.Trials, 1e-3, "%d of %d: %s", tc.passed, tc.n, tc.reason)
	}
	tie := SPRT{P0: 1.0 / 3, P1: 2.0 / 3, Alpha: 1.0 / 3, Beta: 1.0 / 3}
	got, err := tie.Decide(1, 1)
	require.NoError(t, err)
	assert.Equal(t, Accepted, got.Decision, "a ratio of 2 reaches a bound of 2")
	assert.Equal(t, "open accepted rejected Decision(7)", fmt.Sprint(Open, Accepted, Rejected, Decision(7)))
}

func TestDecisionAsText(t *testing.T) {
	for _, d := range []Decision{Open, Accepted, Rejected} {
		text, err := json.Marshal(d)
		require.NoError(t, err)
		assert.Equal(t, `"`+d.String()+`"`, string(text))
		var back Decision
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, d, back)
	}
	_, err := Decision(3).MarshalText()
	assert.EqualError(t, err, "stats: decision is Decision(3); allowed: open, accepted, rejected")
	d := Accepted
	assert.EqualError(t, d.UnmarshalText([]byte("Open")), `stats: decision is "Open"; allowed: open, accepted, rejected`)
	assert.Equal(t, Accepted, d)
}

func TestPathAndCountsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		test := drawTest(t)
		path := rapid.SliceOfN(rapid.Bool(), 0, 200).Draw(t, "path")
		ratio, passed := 0.0, 0 // Wald's likelihood ratio along the path, in logarithms
		for i, ok := range path {
			if ok {
				ratio += math.Log(test.P1) - math.Log(test.P0)
				passed++
			} else {
				ratio += math.Log1p(-test.P1) - math.Log1p(-test.P0)
			}
			want := Open
			upper, lower := math.Log((1-test.Beta)/test.Alpha), math.Log(test.Beta/(1-test.Alpha))
			if math.Abs(ratio-upper) < 1e-9 || math.Abs(ratio-lower) < 1e-9 {
				return // rounding decides
			}
			if ratio > upper {
				want = Accepted
			} else if ratio < lower {
				want = Rejected
			}
			s, err := test.Decide(passed, i+1)
			require.NoError(t, err)
			require.Equal(t, want, s.Decision, "after %d", i+1)
			if want != Open {
				return
			}
			require.GreaterOrEqual(t, s.Trials, 1.0)
			if s.Passes > 1 { // exactly so many passes accept, and one fewer does not
				more, err := test.Decide(passed+s.Passes, i+1+s.Passes)
				require.NoError(t, err)
				require.Equal(t, Accepted, more.Decision)
				fewer, err := test.Decide(passed+s.Passes-1, i+s.Passes)
				require.NoError(t, err)
				require.Equal(t, Open, fewer.Decision)
			}
		}
	})
}

func drawTest(t *rapid.T) SPRT {
	p0 := rapid.Float64Range(0.01, 0.97).Draw(t, "P0")
	return SPRT{
		P0: p0, P1: rapid.Float64Range(p0+0.01, 0.99).Draw(t, "P1"),
		Alpha: rapid.Float64Range(0.001, 0.4).Draw(t, "Alpha"), Beta: rapid.Float64Range(0.001, 0.4).Draw(t, "Beta"),
	}
}

// All sequences of up to 12 trials, each followed to its first decision.
func TestLawAgainstEnumeration(t *testing.T) {
	for _, test := range []SPRT{
		{P0: 0.5, P1: 0.9, Alpha: 0.1, Beta: 0.1}, {P0: 0.3, P1: 0.6, Alpha: 0.3, Beta: 0.2}, {P0: 0.8, P1: 0.95, Alpha: 0.05, Beta: 0.05},
	} {
		for _, most := range []int{1, 2, 5, 12} {
			test.Max = most
			for _, p := range []float64{0, 0.3, 0.5, 0.85, 1} {
				var want Chances
				for path := range 1 << most {
					passes := bits.OnesCount(uint(path))
					chance := math.Pow(p, float64(passes)) * math.Pow(1-p, float64(most-passes))
					d, n := first(t, test, func(n int) bool { return path>>(n-1)&1 == 1 }, most)
					want.Trials += chance * float64(n)
					switch d {
					case Accepted:
						want.Accept += chance
					case Rejected:
						want.Reject += chance
					default:
						want.Open += chance
					}
				}
				got, err := test.Law(p)
				require.NoError(t, err)
				assert.InDelta(t, want.Accept, got.Accept, 1e-12, "%+v at %v", test, p)
				assert.InDelta(t, want.Reject, got.Reject, 1e-12, "%+v at %v", test, p)
				assert.InDelta(t, want.Open, got.Open, 1e-12, "%+v at %v", test, p)
				assert.InDelta(t, want.Trials, got.Trials, 1e-11, "%+v at %v", test, p)
			}
		}
	}
}

func TestLawAgainstSimulation(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 1))
	test := SPRT{P0: 0.8, P1: 0.95, Alpha: 0.05, Beta: 0.05, Max: 60}
	for _, p := range []float64{0.75, 0.8, 0.88, 0.95, 0.99} {
		const runs = 5000
		counts := map[Decision]float64{}
		trials := 0.0
		for range runs {
			d, n := first(t, test, func(int) bool { return rng.Float64() < p }, test.Max)
			counts[d]++
			trials += float64(n)
		}
		law, err := test.Law(p)
		require.NoError(t, err)
		for d, want := range map[Decision]float64{Accepted: law.Accept, Rejected: law.Reject, Open: law.Open} {
			assert.InDelta(t, want, counts[d]/runs, 4*math.Sqrt(0.25/runs), "%v at %v", d, p)
		}
		assert.InEpsilon(t, law.Trials, trials/runs, 0.05, "mean length at %v", p)
	}
}

func TestErrorRatesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		test := drawTest(t)
		test.Max = rapid.IntRange(1, 400).Draw(t, "Max")
		at0, err := test.Law(test.P0)
		require.NoError(t, err)
		at1, err := test.Law(test.P1)
		require.NoError(t, err)
		const slack = 1e-10
		assert.LessOrEqual(t, at0.Accept, test.Alpha/(1-test.Beta)+slack)
		assert.LessOrEqual(t, at1.Reject, test.Beta/(1-test.Alpha)+slack)
		assert.LessOrEqual(t, at0.Accept+at1.Reject, test.Alpha+test.Beta+slack)

		p := rapid.Float64Range(0, 1).Draw(t, "p")
		law, err := test.Law(p)
		require.NoError(t, err)
		assert.InDelta(t, 1, law.Accept+law.Reject+law.Open, 1e-10)
		assert.True(t, law.Trials >= 1-slack && law.Trials <= float64(test.Max))
		higher, err := test.Law(min(1, p+0.05))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, higher.Accept, law.Accept-slack, "a better rate is accepted more often")
		assert.LessOrEqual(t, higher.Reject, law.Reject+slack)
		test.Max += 50
		longer, err := test.Law(p)
		require.NoError(t, err)
		assert.LessOrEqual(t, longer.Open, law.Open+slack, "more trials leave less open")
	})
}

func TestSPRTRefuses(t *testing.T) {
	good := SPRT{P0: 0.8, P1: 0.95, Alpha: 0.05, Beta: 0.05, Max: 20}
	nan := math.NaN()
	for _, tc := range []struct {
		test      SPRT
		passed, n int
		want      string
	}{
		{SPRT{}, 0, 0, "stats: P0 is 0; allowed: 1e-9 to below P1\nstats: P1 is 0; allowed: P0 + 1e-6 to 1 - 1e-9\n" +
			"stats: Alpha is 0; allowed: 1e-9 or more, and below 1 together with Beta\n" +
			"stats: Beta is 0; allowed: 1e-9 or more, and below 1 together with Alpha"},
		{SPRT{P0: nan, P1: nan, Alpha: nan, Beta: nan, Max: -1}, 0, 0, "stats: P0 is NaN; allowed: 1e-9 to below P1\n" +
			"stats: P1 is NaN; allowed: P0 + 1e-6 to 1 - 1e-9\nstats: Alpha is NaN; allowed: 1e-9 or more, and below 1 together with Beta\n" +
			"stats: Beta is NaN; allowed: 1e-9 or more, and below 1 together with Alpha\nstats: Max is -1; allowed: 0 to 1000000000"},
		{SPRT{P0: 0.9, P1: 0.8, Alpha: 0.5, Beta: 0.5}, 0, 0, "stats: P1 is 0.8; allowed: P0 + 1e-6 to 1 - 1e-9\n" +
			"stats: Beta is 0.5; allowed: 1e-9 or more, and below 1 together with Alpha"},
		{good, 22, 21, "stats: n is 21; allowed: 0 to Max\nstats: passed is 22; allowed: 0 to n"},
		{good, -1, -1, "stats: n is -1; allowed: 0 to Max\nstats: passed is -1; allowed: 0 to n"},
	} {
		s, err := tc.test.Decide(tc.passed, tc.n)
		assert.EqualError(t, err, tc.want)
		assert.Zero(t, s)
	}
	good.Max = 0
	_, err := good.Law(1.5)
	assert.EqualError(t, err, "stats: Max is 0; allowed: 1 to 10000\nstats: p is 1.5; allowed: 0 to 1")
}
