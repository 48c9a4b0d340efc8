package stats

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/shakedown-go/shakedown/internal/dist"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// A Tally is how often something passed: one task, one scenario, or one build. The
// order of its trials is not in it.
type Tally struct {
	Name   string // appears in errors; may be empty
	Passed int    // 0 to Trials
	Trials int    // 1 to 10⁹
}

// An Estimate is the mean over tasks of a share that was estimated for each.
type Estimate struct {
	Value float64 `json:"value"` // from 0 to 1
	// Interval is what the tasks' spread says about the mean over all such tasks. It
	// is the zero value, which means none, for a single task, and for tasks whose
	// estimates are all equal but for rounding: the formula would shrink to a point.
	Interval scoring.Interval `json:"interval,omitzero"`
	Tasks    int              `json:"tasks"`
}

// PassAt estimates pass@k: the chance that at least one of k trials of a task
// passes, averaged over the tasks. It answers "does it work if I may try k times and
// can tell which try was good?".
//
// For a task with c passes in n trials the estimate is 1 − C(n−c, k)/C(n, k), which
// is unbiased (M. Chen et al., Evaluating Large Language Models Trained on Code,
// arXiv 2107.03374, section 2.1). The interval is mean ± t·s/√m, with the standard
// deviation s of the m estimates and the t quantile of m−1 degrees, cut to 0…1.
//
// Assumptions: the trials of a task are independent and alike. The interval takes
// the tasks for a sample of the tasks that matter, and their mean for about normal:
// with fewer than some ten tasks, or almost all estimates equal, do not rely on it.
// Do not pool the trials of all tasks first: two tasks, one that always passes and
// one that never does, have a pass@10 of 0.5, while pooled trials say 0.999. Do not
// use it for agents that act: each failed try may have done harm; see [PassEvery].
//
// Errors are [*FieldError], joined: for no tasks, k below 1, a level that is not
// between 0 and 1, counts that are not allowed, and each task with fewer than k
// trials, as no value comes from fewer. Time is linear in the tasks.
func PassAt(tasks []Tally, k int, level float64) (Estimate, error) {
	return estimate(tasks, k, level, func(t Tally) float64 { return 1 - allOf(t.Trials-t.Passed, t.Trials, k) })
}

// PassEvery estimates pass^k: the chance that all of k trials of a task pass,
// averaged over the tasks. It answers "can I rely on it k times in a row?".
//
// For a task with c passes in n trials the estimate is C(c, k)/C(n, k), which is
// unbiased (S. Yao et al., τ-bench, arXiv 2406.12045, section 3). Interval,
// assumptions, errors and time are those of [PassAt]. The share of passes to the
// power of k is neither: of 1 pass in 2 trials it makes a pass^2 of 0.25, where no
// pair of trials passed.
//
// Do not use it for trials that are copies of each other, such as those of a
// repeatable agent under equal faults: they say nothing about a second try.
func PassEvery(tasks []Tally, k int, level float64) (Estimate, error) {
	return estimate(tasks, k, level, func(t Tally) float64 { return allOf(t.Passed, t.Trials, k) })
}

func estimate(tasks []Tally, k int, level float64, of func(Tally) float64) (Estimate, error) {
	errs := newList()
	errs.Demand(len(tasks) > 0, "tasks", fielderror.Found("empty"), "one task or more")
	errs.Demand(k >= 1, "k", k, "1 or more")
	errs.level(level)
	for i, t := range tasks {
		if t.Trials < 1 || t.Trials > mostTrials || t.Passed < 0 || t.Passed > t.Trials {
			errs.tally(t.path("tasks", i), t)
		} else if t.Trials < k {
			errs.Wrongf("k or more", t.Trials, "%s.Trials", t.path("tasks", i))
		}
	}
	if err := errs.Err(); err != nil {
		return Estimate{}, err
	}
	var sum shares
	for _, t := range tasks {
		sum.add(of(t))
	}
	mean, deviation := sum.moments(len(tasks))
	e := Estimate{Value: mean, Tasks: len(tasks)}
	if deviation > equal {
		half := dist.StudentQuantile(level, len(tasks)-1) * deviation / math.Sqrt(float64(len(tasks)))
		e.Interval = scoring.Interval{Low: max(0, mean-half), High: min(1, mean+half), Level: level}
	}
	return e, nil
}

// equal is a deviation of estimates that rounding alone explains.
const equal = 1e-12

// allOf is C(c, k)/C(n, k), the chance that k of n trials, drawn without
// replacement, are all among c of them, for k ≤ n.
func allOf(c, n, k int) float64 {
	others := n - c
	switch {
	case k > c:
		return 0
	case others == 0:
		return 1
	case min(k, others) > 64: // as a quotient of binomial probabilities, which cancel no digits
		p := float64(k) / float64(n)
		log := dist.LogBinomial(float64(k), float64(c), p) + dist.LogBinomial(0, float64(others), p) -
			dist.LogBinomial(float64(k), float64(n), p)
		return min(1, math.Exp(log))
	}
	// Both are (c−i)/(n−i) for i < k, written with the fewer factors.
	if k > others {
		c, k = n-k, others
	}
	ratio := 1.0
	for i := range k {
		ratio *= float64(c-i) / float64(n-i)
	}
	return ratio
}

// shares sums numbers from 0 to 1 and their squares in fixed point, so that the sums
// are exact and do not depend on the order.
type shares struct{ sum, squares uint128 }

type uint128 struct{ high, low uint64 }

func (u *uint128) add(high, low uint64) {
	var carry uint64
	u.low, carry = bits.Add64(u.low, low, 0)
	u.high += high + carry
}

func (u uint128) big() *big.Int {
	b := new(big.Int).SetUint64(u.high)
	return b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(u.low))
}

// one is the fixed-point 1. Squares then take 100 bits, which leaves room for 2²⁸ of
// them.
const one = 1 << 50

func (s *shares) add(x float64) {
	q := uint64(x*one + 0.5)
	s.sum.add(0, q)
	s.squares.add(bits.Mul64(q, q))
}

// moments returns the mean and the standard deviation (with m−1) of m numbers.
func (s *shares) moments(m int) (mean, deviation float64) {
	count, sum := big.NewInt(int64(m)), s.sum.big()
	mean, _ = new(big.Rat).SetFrac(sum, new(big.Int).Mul(count, big.NewInt(one))).Float64()
	// m·Σx² − (Σx)², which is m·(m−1) variances
	spread := new(big.Int).Mul(count, s.squares.big())
	spread.Sub(spread, new(big.Int).Mul(sum, sum))
	if m < 2 || spread.Sign() <= 0 {
		return mean, 0
	}
	scale := new(big.Int).Mul(big.NewInt(int64(m)), big.NewInt(int64(m-1)))
	scale.Lsh(scale, 100)
	variance, _ := new(big.Rat).SetFrac(spread, scale).Float64()
	return mean, math.Sqrt(variance)
}
