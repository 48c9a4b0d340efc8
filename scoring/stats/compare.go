package stats

import (
	"math"
	"slices"

	"github.com/shakedown-go/shakedown/internal/dist"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// Pairs counts pairs of trials, one before a change and one after, by what passed.
type Pairs struct {
	Both    int `json:"both"`    // passed before and after
	Worse   int `json:"worse"`   // passed before alone
	Better  int `json:"better"`  // passed after alone
	Neither int `json:"neither"` // failed before and after
}

func (p Pairs) check(errs list) {
	for _, c := range []struct {
		field string
		count int
	}{{"Both", p.Both}, {"Worse", p.Worse}, {"Better", p.Better}, {"Neither", p.Neither}} {
		errs.Demand(c.count >= 0 && c.count <= mostTrials/4, c.field, c.count, "0 to 250000000")
	}
}

// A PValue is the chance of what was seen, or of something farther from what is
// expected, if nothing changed. Small is evidence of a change, and large is none of
// the contrary.
type PValue struct {
	TwoSided float64 `json:"twoSided"` // in either direction, from 0 to 1
	// Worse is in the direction of fewer passes alone, from 0 to 1: what [Trials] is
	// about. Whoever uses it must have looked for a drop from the start.
	Worse float64 `json:"worse"`
}

// McNemar returns the p value of a change, from pairs: the chance that so uneven a
// split of the pairs that differ, or a more uneven one, comes about if a pair is as
// often worse as it is better. Pairs that are equal before and after do not count.
//
// It is exact: two-sided min(1, 2·Σ C(n, i)/2ⁿ over i ≤ min(Worse, Better)), with
// n = Worse + Better, and for the worse the sum over i ≤ Better (Q. McNemar, Note on
// the sampling error of the difference between correlated proportions, Psychometrika
// 12, 1947). With no pair that differs it is 1, and two-sided with fewer than six it is
// never below 0.05.
//
// Assumptions: independent pairs, each of two trials under equal conditions, such as
// the same scenario, faults and trial. Do not use it for pairs of one scenario as if
// they were independent; see [SignFlip]. A small p value does not say that the change
// is large; see [PairedDifference].
//
// Errors are [*FieldError], joined: for a count outside 0…250000000.
func McNemar(p Pairs) (PValue, error) {
	errs := newList()
	p.check(errs)
	if err := errs.Err(); err != nil {
		return PValue{}, err
	}
	n := p.Worse + p.Better
	return PValue{
		TwoSided: min(1, 2*dist.AtMost(min(p.Worse, p.Better), n, 0.5)),
		Worse:    dist.AtMost(p.Better, n, 0.5),
	}, nil
}

// A Difference is the difference of two shares, and its interval.
type Difference struct {
	Value float64 `json:"value"` // the share after less the share before, from −1 to 1
	Low   float64 `json:"low"`   // from −1 to Value
	High  float64 `json:"high"`  // from Value to 1
	Level float64 `json:"level"` // confidence, between 0 and 1, both exclusive
}

// PairedDifference returns how much the share of passes changed, from pairs: below 0
// it fell.
//
// The interval is method 10 of R. G. Newcombe, Improved confidence intervals for the
// difference between binomial proportions based on paired data, Statistics in
// Medicine 17, 1998: the distances of both shares to the ends of their [scoring.Wilson]
// intervals, added as squares, less what their correlation accounts for.
//
// Assumptions: those of [McNemar]. The interval is approximate, and covers close to
// its level from about ten pairs on. Where no pair differs it does not shrink to a
// point, and that is right: few pairs cannot show that nothing changed.
//
// Errors are [*FieldError], joined: for no pairs, a count outside 0…250000000, and a
// level that is not between 0 and 1.
func PairedDifference(p Pairs, level float64) (Difference, error) {
	errs := newList()
	p.check(errs)
	errs.Demand(p != Pairs{}, "Pairs", fielderror.Found("empty"), "one pair or more")
	errs.level(level)
	if err := errs.Err(); err != nil {
		return Difference{}, err
	}
	a, b, c, d := float64(p.Both), float64(p.Better), float64(p.Worse), float64(p.Neither)
	n, z := a+b+c+d, dist.NormalQuantile(level)
	after, before := (a+b)/n, (a+c)/n
	lowAfter, highAfter := dist.Wilson(after, n, z)
	lowBefore, highBefore := dist.Wilson(before, n, z)

	// The correlation of the two, corrected for continuity where it is positive.
	correlation := 0.0
	if margins := (a + b) * (c + d) * (a + c) * (b + d); margins > 0 {
		product := a*d - b*c
		if product > 0 {
			product = max(0, product-n/2)
		}
		correlation = max(-1, min(1, product/math.Sqrt(margins)))
	}
	reach := func(x, y float64) float64 { return math.Sqrt(max(0, x*x-2*correlation*x*y+y*y)) }
	value := (b - c) / n
	return Difference{
		Value: value,
		Low:   max(-1, value-reach(after-lowAfter, highBefore-before)),
		High:  min(1, value+reach(highAfter-after, before-lowBefore)),
		Level: level,
	}, nil
}

// mostFisher bounds the time of FisherExact.
const mostFisher = 1_000_000

// FisherExact returns the p value of a difference between two builds whose trials are
// not paired: the chance of what was seen, or of anything as improbable or more, if
// both pass with equal probability, given how many passed in all.
//
// For the worse it is the sum of the hypergeometric probabilities of as many passes
// after, or fewer (R. A. Fisher, The Design of Experiments, 1935, section 5); two-sided
// that of all that are not above the probability of what was seen (J. O. Irwin, 1935,
// and R's fisher.test).
//
// Assumptions: independent trials, each build of one probability. Do not use it where
// trials can be paired: [McNemar] sees smaller changes with as many trials. It is
// conservative: with few trials its error rate is well below the level.
//
// Errors are [*FieldError], joined: for counts that are not allowed, and more than
// 10⁶ trials on one side. Time grows with the passes or failures, whichever are
// fewer.
func FisherExact(before, after Tally) (PValue, error) {
	errs := newList()
	for _, side := range []struct {
		path string
		Tally
	}{{"before", before}, {"after", after}} {
		errs.tally(side.path, side.Tally)
		if side.Trials > mostFisher && side.Trials <= mostTrials {
			errs.Wrong(side.path+".Trials", side.Trials, "1 to 1000000")
		}
	}
	if err := errs.Err(); err != nil {
		return PValue{}, err
	}
	h := hypergeometric{draws: after.Trials, passes: before.Passed + after.Passed, all: before.Trials + after.Trials}
	low, high := h.ends()
	peak := float64(h.draws+1) * float64(h.passes+1) / float64(h.all+2) // an int of 32 bits would overflow
	mode := max(low, min(high, int(peak)))
	// Weights relative to the mode. Far away they become 0, as they do in a sum.
	weights := make([]float64, high-low+1)
	weights[mode-low] = 1
	for x := mode; x < high && weights[x-low] > 0; x++ {
		weights[x+1-low] = weights[x-low] * h.ratio(x)
	}
	for x := mode; x > low && weights[x-low] > 0; x-- {
		weights[x-1-low] = weights[x-low] / h.ratio(x-1)
	}
	bound := weights[after.Passed-low] * (1 + 1e-7) // equal ones differ by rounding
	fewer := 0.0
	for _, w := range weights[:after.Passed-low+1] {
		fewer += w
	}
	slices.Sort(weights)
	extreme, sum := 0.0, 0.0
	for _, w := range weights {
		if sum += w; w <= bound {
			extreme = sum
		}
	}
	return PValue{TwoSided: extreme / sum, Worse: min(1, fewer/sum)}, nil
}

// hypergeometric is the law of the passes among some draws, if so many of all pass.
type hypergeometric struct{ draws, passes, all int }

func (h hypergeometric) ends() (low, high int) {
	return max(0, h.draws+h.passes-h.all), min(h.draws, h.passes)
}

// ratio is the probability of x+1 over that of x.
func (h hypergeometric) ratio(x int) float64 {
	return float64(h.draws-x) / float64(x+1) * (float64(h.passes-x) / float64(h.all-h.draws-h.passes+x+1))
}

// Holm adjusts the p values of several comparisons made at once, in their order: a
// comparison whose adjusted value is at most α may be called a difference, and the
// chance to call even one that is none is at most α.
//
// Sorted upwards, the i-th of m is the largest of (m−j+1)·p over j ≤ i, and at most 1
// (S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian
// Journal of Statistics 6, 1979).
//
// Assumptions: each p value is valid by itself; they may depend on each other in any
// way. All comparisons that were made belong in, not only those that look good. Do
// not use it to pick candidates for a closer look, where a share of false ones is
// fine: it is strict.
//
// Errors are [*FieldError], joined: for values outside 0…1. Without any it returns
// none.
func Holm(p []float64) ([]float64, error) {
	errs := newList()
	order := make([]int, len(p))
	for i, x := range p {
		order[i] = i
		if !(x >= 0 && x <= 1) {
			errs.Wrongf("0 to 1", x, "p[%d]", i)
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(p))
	largest := 0.0
	for rank, i := range order {
		largest = max(largest, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = largest
	}
	return adjusted, nil
}
