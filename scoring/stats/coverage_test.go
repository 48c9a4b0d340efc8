package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/golden"
	"github.com/shakedown-go/shakedown/scoring"
)

// intervals are those at 95 % of s passes in n trials, kept as they are asked for.
type intervals struct {
	of   func(passed, n int, level float64) (scoring.Interval, error)
	kept map[[2]int]scoring.Interval
}

func newIntervals(of func(int, int, float64) (scoring.Interval, error)) intervals {
	return intervals{of, make(map[[2]int]scoring.Interval)}
}

// three are the kinds that the tables compare, in their order.
func three() []intervals {
	return []intervals{newIntervals(scoring.Wilson), newIntervals(ClopperPearson), newIntervals(AnyTime)}
}

// contain reports whether the interval of s passes in n trials contains p.
func (v intervals) contain(t *testing.T, s, n int, p float64) bool {
	t.Helper()
	iv, ok := v.kept[[2]int{s, n}]
	if !ok {
		var err error
		iv, err = v.of(s, n, 0.95)
		require.NoError(t, err)
		v.kept[[2]int{s, n}] = iv
	}
	return iv.Low <= p && p <= iv.High
}

// percents is a column of a table.
func percents(covered ...float64) string {
	var each []string
	for _, c := range covered {
		each = append(each, fmt.Sprintf("%.1f", 100*c))
	}
	return fmt.Sprintf("%19s", strings.Join(each, "/"))
}

var shareGrid = []float64{0.01, 0.05, 0.1, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99}

// The exact chance that an interval at 95 % contains the probability, for trials
// whose number was fixed.
func TestCoverageOfFixedNumbers(t *testing.T) {
	var b strings.Builder
	b.WriteString("exact coverage in percent at 95 %, number of trials fixed: Wilson / Clopper-Pearson / any-time\n\n     n")
	for _, p := range shareGrid {
		fmt.Fprintf(&b, "%19.2f", p)
	}
	b.WriteString("\n")
	kinds := three()
	for _, n := range []int{1, 2, 5, 10, 20, 50, 100, 200} {
		fmt.Fprintf(&b, "%6d", n)
		for _, p := range shareGrid {
			covered := make([]float64, len(kinds))
			for s := range n + 1 {
				chance := choose(n, s) * math.Pow(p, float64(s)) * math.Pow(1-p, float64(n-s))
				for i, kind := range kinds {
					if kind.contain(t, s, n, p) {
						covered[i] += chance
					}
				}
			}
			assert.GreaterOrEqual(t, covered[1], 0.95-1e-12, "Clopper-Pearson, n %d, p %v", n, p)
			assert.GreaterOrEqual(t, covered[2], 0.95-1e-12, "any-time, n %d, p %v", n, p)
			b.WriteString(percents(covered...))
		}
		b.WriteString("\n")
	}
	golden.Equal(t, "coverage_fixed.txt", []byte(b.String()))
}

// A stopping rule says when someone who looks after every trial stops.
type stopping struct {
	name  string
	stops func(s, n int, outside bool) bool
}

var stoppings = []stopping{
	{"when it misses", func(_, _ int, outside bool) bool { return outside }}, // the worst there is
	{"at a failure", func(s, n int, _ bool) bool { return s < n }},
	{"3 ahead", func(s, n int, _ bool) bool { return 2*s-n >= 3 || n-2*s >= 3 }},
	{"share 90 %", func(s, n int, _ bool) bool { return n >= 10 && 10*s >= 9*n }},
	{"share below half", func(s, n int, _ bool) bool { return n >= 5 && 2*s < n }},
}

// coverage is the exact chance that the interval at the moment of stopping contains
// p, if one stops after most trials at the latest.
func (r stopping) coverage(t *testing.T, kind intervals, p float64, most int) float64 {
	covered := 0.0
	open := []float64{1} // by the passes so far
	for n := 1; n <= most; n++ {
		next := make([]float64, n+1)
		for s, chance := range open {
			next[s] += chance * (1 - p)
			next[s+1] += chance * p
		}
		for s, chance := range next {
			if chance == 0 {
				continue
			}
			inside := kind.contain(t, s, n, p)
			if n == most || r.stops(s, n, !inside) {
				if inside {
					covered += chance
				}
				next[s] = 0
			}
		}
		open = next
	}
	return covered
}

func TestCoverageWhenStoppingAtWill(t *testing.T) {
	var b strings.Builder
	b.WriteString("exact coverage in percent at 95 %, stopping at will within 150 trials: Wilson / Clopper-Pearson / any-time\n\n")
	fmt.Fprintf(&b, "%-18s", "stops")
	kinds := three()
	grid := []float64{0.05, 0.3, 0.5, 0.8, 0.95}
	for _, p := range grid {
		fmt.Fprintf(&b, "%19.2f", p)
	}
	b.WriteString("\n")
	for _, rule := range stoppings {
		fmt.Fprintf(&b, "%-18s", rule.name)
		for _, p := range grid {
			var covered []float64
			for _, kind := range kinds {
				covered = append(covered, rule.coverage(t, kind, p, 150))
			}
			assert.GreaterOrEqual(t, covered[2], 0.95, "any-time, %s, p %v", rule.name, p)
			b.WriteString(percents(covered...))
		}
		b.WriteString("\n")
	}
	golden.Equal(t, "coverage_stopping.txt", []byte(b.String()))
}

// gamma draws from the gamma distribution (Marsaglia and Tsang 2000).
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(rng, shape+1) * math.Pow(rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	for {
		x := rng.NormFloat64()
		v := 1 + x/math.Sqrt(9*d)
		if v = v * v * v; v > 0 && math.Log(rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// clusters draws scenarios whose rates come from a beta distribution, with so many cells each.
func clusters(rng *rand.Rand, scenarios, cells int, mean, correlation float64) (all []Tally, passed int) {
	for range scenarios {
		rate := mean
		if correlation > 0 {
			size := 1/correlation - 1
			x, y := gamma(rng, mean*size), gamma(rng, (1-mean)*size)
			rate = x / (x + y)
		}
		own := Tally{Trials: cells}
		for range cells {
			if rng.Float64() < rate {
				own.Passed++
			}
		}
		all, passed = append(all, own), passed+own.Passed
	}
	return all, passed
}

// TestCoverageByCluster: near 1 the clusters that would show how alike trials are were seldom
// met, and the interval holds all the same.
func TestCoverageByCluster(t *testing.T) {
	const cells, runs = 45, 400
	wilsons := newIntervals(scoring.Wilson)
	var b strings.Builder
	fmt.Fprintf(&b, "simulated coverage in percent at 95 %%, %d cells a scenario, %d runs\n\n", cells, runs)
	b.WriteString("mean  scenarios  correlation  clustered  Wilson  points wide\n")
	for _, mean := range []float64{0.8, 0.95, 0.99} {
		for _, scenarios := range []int{5, 10, 20} {
			for _, correlation := range []float64{0.1, 0.4, 0.8} {
				rng := rand.New(rand.NewPCG(uint64(scenarios), uint64(1000*correlation)))
				clustered, wilson, wide := 0, 0, 0.0
				for range runs {
					tallies, passed := clusters(rng, scenarios, cells, mean, correlation)
					c, err := Clustered(tallies, 0.95)
					require.NoError(t, err)
					if c.Interval.Low <= mean && mean <= c.Interval.High {
						clustered++
					}
					wide += c.Interval.High - c.Interval.Low
					if wilsons.contain(t, passed, cells*scenarios, mean) {
						wilson++
					}
				}
				share := float64(clustered) / runs
				// Four standard deviations of 400 runs at 93 % are 5 points.
				assert.GreaterOrEqual(t, share, 0.88, "mean %v, %d scenarios, %v", mean, scenarios, correlation)
				fmt.Fprintf(&b, "%4.0f  %9d  %11.1f  %9.0f  %6.0f  %.0f\n", 100*mean, scenarios, correlation, 100*share,
					100*float64(wilson)/runs, 100*wide/runs)
			}
		}
	}
	golden.Equal(t, "coverage_clustered.txt", []byte(b.String()))
}
