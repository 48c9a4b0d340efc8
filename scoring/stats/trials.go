package stats

import (
	"math"

	"github.com/shakedown-go/shakedown/internal/dist"
)

// A Design is how a drop of a rate is looked for. The zero value compares the trials
// of one build with a fixed rate, by the exact binomial test.
type Design struct {
	_ struct{}
	// TwoSamples compares as many trials of each of two builds, by Fisher's exact
	// test.
	TwoSamples bool
	// Paired compares each trial with one of the other build under equal conditions,
	// by McNemar's exact test.
	Paired bool
	// Noise is, for Paired, the share of pairs that differ though nothing changed,
	// half of them for the better: the noise floor. 0: none do.
	Noise float64
}

// mostPlanned bounds the numbers that Trials looks at.
const mostPlanned = 10_000

// Trials returns how many trials, of each build or pairs, it takes to see a drop of
// the rate between from and to with chance power or more, when a drop that is none
// is seen with chance alpha or less. It is the smallest number from which on that
// holds: power is a saw-tooth, as one more trial may ask for one more failure.
//
// All tests are one-sided and exact, and so is their power, by enumeration. A paired
// design has for each pair the chance Noise/2 to get better and Noise/2 + from − to
// to get worse. That the power holds from there on was checked for each number up to
// where Hoeffding's inequality (1963) guarantees it, or to 10,000.
//
// Assumptions: independent trials, one rate for each build, and one comparison: with
// several give alpha divided by their number. Do not use it for trials in scenarios
// without multiplying by the design effect of [Clustered].
//
// Errors are [*FieldError], joined: for rates outside 0…1, to not below from, alpha
// that is not above 0 and up to 0.5, power that is not from 0.5 to below 1, both
// TwoSamples and Paired, Noise without Paired or more than the rates allow, and a
// drop that 10,000 trials do not see.
func Trials(d Design, from, to, alpha, power float64) (int, error) {
	errs := newList()
	errs.Demand(from > 0 && from <= 1, "from", from, "above 0 to 1")
	errs.Demand(to >= 0 && to <= 1 && !(to >= from), "to", to, "0 to below from")
	d.check(errs, from, to)
	checkRates(errs, alpha, power)
	if err := errs.Err(); err != nil {
		return 0, err
	}
	last := int(min(mostPlanned, math.Ceil(d.enough(from-to, alpha, power))))
	plan := d.plan(from, alpha, last)
	n := last
	for n > 0 && plan.power(n, to, power) >= power-rounding {
		n--
	}
	if n == last {
		return 0, fields.Wrong("to", to, "a drop that 10000 trials can see")
	}
	return n + 1, nil
}

// Detectable returns what a given number of trials can see, the inverse of [Trials]:
// the highest rate below from that is told from it with chance power or more.
//
// Formula, assumptions and errors are those of [Trials], and it is an error when not
// even a drop to 0 would be seen, or the largest that Noise allows. trials is from 1
// to 10,000. Since power is a saw-tooth, one more trial may see a little less.
func Detectable(d Design, trials int, from, alpha, power float64) (float64, error) {
	errs := newList()
	errs.Demand(trials >= 1 && trials <= mostPlanned, "trials", trials, "1 to 10000")
	errs.Demand(from > 0 && from <= 1, "from", from, "above 0 to 1")
	d.check(errs, from, min(from, d.Noise/2))
	checkRates(errs, alpha, power)
	if err := errs.Err(); err != nil {
		return 0, err
	}
	plan := d.plan(from, alpha, trials)
	seen := func(to float64) bool { return plan.power(trials, to, power) >= power-rounding }
	lowest := d.Noise / 2
	if !seen(lowest) {
		return 0, fields.Wrong("trials", trials, "enough to see the largest drop there can be")
	}
	to, _ := dist.Bisect(lowest, from, seen)
	return to, nil
}

// rounding is how much a probability may miss a bound that it would reach exactly.
const rounding = 1e-10

func checkRates(errs list, alpha, power float64) {
	errs.Demand(alpha > 0 && alpha <= 0.5, "alpha", alpha, "above 0 to 0.5")
	errs.Demand(power >= 0.5 && power < 1, "power", power, "0.5 to below 1")
}

func (d Design) check(errs list, from, to float64) {
	errs.Demand(!d.Paired || !d.TwoSamples, "Paired", true, "not with TwoSamples")
	switch {
	case !d.Paired:
		errs.Demand(d.Noise == 0, "Noise", d.Noise, "0 without Paired")
	case !(d.Noise >= 0 && d.Noise/2 <= 1-from+rounding && d.Noise/2 <= to+rounding):
		// Pairs can only get better that failed before, and worse to a rate of 0.
		errs.Wrong("Noise", d.Noise, "0 to twice the smaller of 1 - from and to")
	}
}

// enough is a number of trials from which on the power holds by Hoeffding's
// inequality: a sum of n terms within a range of 1 strays from its mean by s or more
// with a chance of at most exp(−2s²/n), under no drop and under the drop.
func (d Design) enough(drop, alpha, power float64) float64 {
	a, b := math.Sqrt(-math.Log(alpha)), math.Sqrt(-math.Log1p(-power))
	root := (a + b) / math.Sqrt2 / drop // the terms are the trials
	switch {
	case d.TwoSamples:
		root = (math.Sqrt2*a + b) / drop // twice as many terms
	case d.Paired:
		root = (a + b) * math.Sqrt2 / drop // terms from −1 to 1
	}
	return root*root + 2 + 2/drop // for the whole numbers between
}

// A plan knows the power of a design for the numbers of trials up to a bound. It may
// stop adding when there is enough.
type plan interface {
	power(n int, to, enough float64) float64
}

func (d Design) plan(from, alpha float64, last int) plan {
	alpha += rounding * alpha
	switch {
	case d.TwoSamples:
		return newTwoSamples(from, alpha, last)
	case d.Paired:
		return newPairedPlan(d.Noise, from, alpha, last)
	}
	return fixedRate{from, alpha}
}

// fixedRate sees a drop when as few passes have a chance of at most alpha at from.
type fixedRate struct{ from, alpha float64 }

func (f fixedRate) power(n int, to, _ float64) float64 {
	passes := searchLast(n, func(x int) bool { return dist.AtMost(x, n, f.from) <= f.alpha })
	return dist.AtMost(passes, n, to)
}

// pairedPlan sees a drop when as few of the pairs that differ are better.
type pairedPlan struct {
	noise, from float64
	better      []int // by the number of pairs that differ, the most that are better; −1: none
}

func newPairedPlan(noise, from, alpha float64, last int) pairedPlan {
	p := pairedPlan{noise: noise, from: from, better: make([]int, last+1)}
	most := -1
	for differ := range p.better { // with one more pair as many or one more may be better
		if most+1 < differ && dist.AtMost(most+1, differ, 0.5) <= alpha {
			most++
		}
		p.better[differ] = most
	}
	return p
}

func (p pairedPlan) power(n int, to, enough float64) float64 {
	better := p.noise / 2
	differ := min(1, p.noise+p.from-to)
	sum := 0.0
	eachBinomial(n, differ, func(m int, chance float64) bool {
		sum += chance * dist.AtMost(p.better[m], m, min(1, better/differ))
		return sum < enough
	})
	return sum
}

// twoSamples sees a drop when, given all passes, as few of the second build have a
// chance of at most alpha.
type twoSamples struct {
	from, alpha float64
	logs        []float64 // ln i!
}

func newTwoSamples(from, alpha float64, last int) twoSamples {
	t := twoSamples{from, alpha, make([]float64, 2*last+1)}
	for i := 1; i < len(t.logs); i++ {
		t.logs[i] = t.logs[i-1] + math.Log(float64(i))
	}
	return t
}

func (t twoSamples) power(n int, to, enough float64) float64 {
	sum, most, known := 0.0, -1, false
	eachBinomial(n, t.from, func(before int, chance float64) bool {
		// As many passes after as before, or more, have a chance above 1/2. It may be a sum of
		// terms of which the first, far out in the other tail, is too small for a float.
		seen := func(after int) bool { return after < before && t.chance(n, before, after) <= t.alpha }
		if !known { // with one more pass before, as many after are still seen
			most, known = searchLast(n, seen), true
		}
		for most < n && seen(most+1) {
			most++
		}
		sum += chance * dist.AtMost(most, n, to)
		return sum < enough
	})
	return sum
}

// chance is that of after or fewer passes of the second build, of n trials each,
// given the passes of both.
func (t twoSamples) chance(n, before, after int) float64 {
	choose := func(n, k int) float64 { return t.logs[n] - t.logs[k] - t.logs[n-k] }
	h := hypergeometric{draws: n, passes: before + after, all: 2 * n}
	low, _ := h.ends()
	term := math.Exp(choose(n, after) + choose(n, before) - choose(2*n, before+after))
	sum := 0.0
	for x := after; ; x-- {
		sum += term
		if x == low || term < 1e-17*sum || sum > t.alpha {
			return sum
		}
		term /= h.ratio(x - 1)
	}
}

// searchLast returns the last x from 0 to n for which ok holds, if it holds up to
// some x and not beyond; −1 if it holds for none.
func searchLast(n int, ok func(int) bool) int {
	low, high := -1, n+1
	for high-low > 1 {
		if middle := low + (high-low)/2; ok(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// eachBinomial calls f with all numbers of passes in n trials, upwards, until it
// returns false; but for some whose chances sum to less than 1e-11.
func eachBinomial(n int, p float64, f func(x int, chance float64) bool) {
	if p <= 0 || p >= 1 {
		f(int(p)*n, 1)
		return
	}
	mean := p * float64(n)
	reach := 8*math.Sqrt(mean*(1-p)) + 30
	first, last := max(0, int(mean-reach)), min(n, int(mean+reach))
	chance := math.Exp(dist.LogBinomial(float64(first), float64(n), p))
	odds := p / (1 - p)
	for x := first; x <= last; x++ {
		if chance > 1e-15 && !f(x, chance) {
			return
		}
		chance *= odds * float64(n-x) / float64(x+1)
	}
}
