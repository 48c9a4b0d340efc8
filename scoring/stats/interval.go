package stats

import (
	"math"

	"github.com/shakedown-go/shakedown/internal/dist"
	"github.com/shakedown-go/shakedown/scoring"
)

// ClopperPearson returns the exact interval of passed successes in n independent
// trials of one unknown probability: whatever the probability, at least the share
// level of such intervals contains it.
//
// Its ends are the probabilities at which so many passes or more, and so many or
// fewer, have the chance (1−level)/2 (C. J. Clopper and E. S. Pearson, The use of
// confidence or fiducial limits, Biometrika 26, 1934), found as quantiles of the
// beta distribution. Low is 0 when nothing passed, High 1 when everything did.
//
// Assumptions: independent trials of one probability, and a number of trials that
// was fixed beforehand; see [AnyTime] if one stopped at will, and [Clustered] for
// trials in scenarios. It is wider than it need be on average: where a level that
// holds on average will do, [scoring.Wilson] is shorter.
//
// Errors are [*FieldError], joined: for n outside 1…10⁹, passed outside 0…n, and a
// level that is not between 0 and 1.
func ClopperPearson(passed, n int, level float64) (scoring.Interval, error) {
	errs := newList()
	errs.counts(passed, n)
	errs.level(level)
	if err := errs.Err(); err != nil {
		return scoring.Interval{}, err
	}
	low, high := dist.ClopperPearson(float64(passed), float64(n-passed), level)
	return scoring.Interval{Low: low, High: high, Level: level}, nil
}

// Needed returns how many trials must pass, all of them, until the probability to
// pass is above low with confidence level: the smallest n with lowⁿ ≤ 1−level. For
// 0.95 at level 0.95 it is 59, and for 0.99 it is 299.
//
// The bound is one-sided (S. S. Wilks, Determination of sample sizes for setting
// tolerance limits, 1941); it is the lower end of [ClopperPearson] at 2·level−1.
// Assumptions: independent trials of one probability. Do not use it to go on until
// that many passed in a row: only the first n count.
//
// Errors are [*FieldError], joined: for low or level that are not between 0 and 1,
// and a number above 10⁹.
func Needed(low, level float64) (int, error) {
	errs := newList()
	errs.Demand(low > 0 && low < 1, "low", low, "above 0 and below 1")
	errs.level(level)
	if err := errs.Err(); err != nil {
		return 0, err
	}
	// A power that is equal but for rounding is enough.
	n := math.Ceil(math.Log(1-level)/math.Log(low) - 1e-9)
	if n > mostTrials {
		return 0, fields.Wrong("low", low, "one that 1000000000 trials can show")
	}
	return max(1, int(n)), nil
}

// AnyTime returns an interval that holds however one stopped: one may look after
// every trial and stop when one likes what one sees, and the chance that the
// probability is ever outside, at any look, is at most 1−level.
//
// It contains all p with pˢ·(1−p)ᶠ ≥ (1−level)·B(s+1, f+1) for s passes and f
// failures: those that the mixture of all probabilities, uniform from 0 to 1, has
// not refuted at odds of 1/(1−level) (H. Robbins, Statistical methods related to the
// law of the iterated logarithm, 1970; T. L. Lai, On confidence sequences, 1976;
// by Ville's inequality).
//
// Assumptions: independent trials of one probability; whether to go on may depend on
// all that was seen. It is wider than [ClopperPearson], by a quarter at ten trials and
// by two thirds at some hundreds: where the number of trials was fixed, use that one.
//
// Errors are those of [ClopperPearson].
func AnyTime(passed, n int, level float64) (scoring.Interval, error) {
	errs := newList()
	errs.counts(passed, n)
	errs.level(level)
	if err := errs.Err(); err != nil {
		return scoring.Interval{}, err
	}
	// (n+1) times the binomial probability of what was seen is the left side over
	// the integral.
	bound := math.Log1p(-level) - math.Log1p(float64(n))
	refuted := func(p float64) bool { return dist.LogBinomial(float64(passed), float64(n), p) < bound }
	share := float64(passed) / float64(n)
	iv := scoring.Interval{Low: 0, High: 1, Level: level}
	if passed > 0 {
		iv.Low, _ = dist.Bisect(0, share, refuted)
	}
	if passed < n {
		_, iv.High = dist.Bisect(share, 1, func(p float64) bool { return !refuted(p) })
	}
	return iv, nil
}

// A ClusteredShare is a share of trials that come in clusters.
type ClusteredShare struct {
	Value    float64          `json:"value"`    // all passes of all trials, from 0 to 1
	Interval scoring.Interval `json:"interval"` // by cluster
	Clusters int              `json:"clusters"`
	Trials   int              `json:"trials"`
	// Effective is the number of independent trials that would say as much, from 1
	// to Trials.
	Effective float64 `json:"effective"`
	// DesignEffect is Trials/Effective, 1 or more: how many trials it takes to learn
	// as much as from one independent trial.
	DesignEffect float64 `json:"designEffect"`
}

// Clustered returns the interval of a share whose trials come in clusters that are
// alike within, such as the cells of one scenario: a hundred cells of one scenario
// that all break for one reason are closer to one observation than to a hundred.
//
// With x of n passes in each of m clusters, p = Σx/Σn and
// v = m/(m−1)·Σ(xᵢ − p·nᵢ)²/(Σn)², the variance of a ratio (W. G. Cochran, Sampling
// Techniques, 3rd edition, section 3.12), the design effect is d = Σn·v/(p(1−p)), 1 or
// more. It is weighed with c, the larger of d and the Σn/m of clusters that are copies
// within, as (f²·d + c)/(f² + 1), where f is the fewer of the clusters with a pass and of those with
// a failure: near 0 and 1 the clusters that would show v are seldom met. The effective number
// of trials is Σn ÷ that, within 1…Σn, and m where p is 0 or 1. The interval is that of
// [ClopperPearson] with it (after E. L. Korn and B. I. Graubard, Confidence intervals for
// proportions with small expected number of positive counts estimated from survey data,
// Survey Methodology 24, 1998).
//
// Assumptions: the clusters are independent, and a sample of those that matter. With 2 to
// 20 clusters of 45 trials, rates of 80, 95 and 99 % and intra-class correlations from 0
// to 0.8 it covers 92.6 % or more at a nominal 95 %, where [scoring.Wilson] may cover less than
// a tenth. Do not use it for trials of one scenario.
//
// Errors are [*FieldError], joined: for fewer than two clusters, counts that are not
// allowed, more than 10⁹ trials in all, and a level that is not between 0 and 1.
func Clustered(clusters []Tally, level float64) (ClusteredShare, error) {
	errs := newList()
	errs.Demand(len(clusters) >= 2, "clusters", len(clusters), "two clusters or more")
	passed, trials := errs.sums("clusters", clusters)
	errs.level(level)
	if err := errs.Err(); err != nil {
		return ClusteredShare{}, err
	}
	share := ClusteredShare{Value: float64(passed) / float64(trials), Clusters: len(clusters), Trials: trials,
		Interval: scoring.Interval{Level: level, Clusters: len(clusters)}}
	return share.with(effective(clusters)), nil
}

// effective is the number of independent trials that say as much as some clusters.
func effective(clusters []Tally) float64 {
	var passed, trials []int
	for _, c := range clusters {
		passed, trials = append(passed, c.Passed), append(trials, c.Trials)
	}
	return dist.Effective(passed, trials)
}

// with is the share with another effective number of trials.
func (s ClusteredShare) with(effective float64) ClusteredShare {
	s.Effective, s.DesignEffect = effective, float64(s.Trials)/effective
	s.Interval.Low, s.Interval.High = dist.ClopperPearson(s.Value*effective, (1-s.Value)*effective, s.Interval.Level)
	return s
}

// Within returns the share with an effective number of trials of at most observations:
// ten answers that were judged by eight checks are eighty trials, and ten observations.
// A share that has no interval, or observations below 1, is returned as it is.
func (s ClusteredShare) Within(observations int) ClusteredShare {
	if observations < 1 || s.Clusters < 2 || !(s.Effective > float64(observations)) {
		return s
	}
	return s.with(float64(observations))
}
