package stats

import (
	"math"

	"github.com/shakedown-go/shakedown/internal/dist"
	"github.com/shakedown-go/shakedown/scoring"
)

// Corrected returns the share that is true of judged things when a judge, who errs at
// times, said it of those that passed. They come in clusters that are alike within, such as
// the answers of a scenario; one cluster is independent things. right says how often it was
// said of things of which it is true, and wrong how often it was not said of things of which
// it is not: the sensitivity and the specificity, each measured on a sample of its own.
//
// With p = passed/n over all clusters, S = right and T = wrong as shares the estimate is
// (p+T−1)/(S+T−1), within 0…1 (W. J. Rogan and B. Gladen, Estimating prevalence from the results of a
// screening test, American Journal of Epidemiology 107, 1978). The interval counts the
// doubt in all three shares (Z. Lang and J. Reiczigel, Confidence limits for prevalence of
// disease adjusted for estimated sensitivity and specificity, Preventive Veterinary
// Medicine 113, 2014): of z²/2 more of z² more judged things, and of one more of two more
// in each sample, the estimate is q with the variance
//
//	v = (p(1−p)/n + q²·S(1−S)/nS + (1−q)²·T(1−T)/nT) / (S+T−1)²
//
// and the ends are q + d ± z·√v with d = 2z²·(q·S(1−S)/nS − (1−q)·T(1−T)/nT), within 0…1,
// and as wide as it takes to hold the estimate. With several clusters n is in v the number of
// independent things that would say as much (see [Clustered]), times z²/t² for the t of
// Student's distribution with one degree less than clusters. Simulated with ten clusters of 50
// at correlations of 0.1 to 0.99, the interval of 95 % holds the truth in 89 % or more, and as
// if independent in 49 % to 88 %.
// The share of passed is not within it by itself: a judge of many false alarms says little.
//
// Assumptions: independent clusters and samples, and a judge that errs on the judged things
// as often as on the samples.
//
// Errors are [*FieldError], joined: for no clusters, counts that [Clustered] does not allow, and
// for right and wrong that are together 1 or less, as shares: the judge is then no better
// than a coin, and nothing follows.
func Corrected(judged []Tally, right, wrong Tally, level float64) (float64, scoring.Interval, error) {
	errs := newList()
	errs.Demand(len(judged) >= 1, "judged", len(judged), "one cluster or more")
	passed, n := errs.sums("judged", judged)
	errs.tally("right", right)
	errs.tally("wrong", wrong)
	errs.level(level)
	if err := errs.Err(); err != nil {
		return 0, scoring.Interval{}, err
	}
	se, sp := share(right, 0), share(wrong, 0)
	if se+sp <= 1 {
		return 0, scoring.Interval{}, fields.Wrong("right+wrong", se+sp, "above 1, as shares")
	}
	value := within01((float64(passed)/float64(n) + sp - 1) / (se + sp - 1))
	z := dist.NormalQuantile(level)
	many := effective(judged)
	if len(judged) > 1 { // the variance between clusters is an estimate too
		t := dist.StudentQuantile(level, len(judged)-1)
		many *= z * z / (t * t)
	}
	many += z * z
	p := (float64(passed)/float64(n)*(many-z*z) + z*z/2) / many
	se, sp = share(right, 1), share(wrong, 1)
	iv := scoring.Interval{Low: 0, High: 1, Level: level}
	if len(judged) > 1 {
		iv.Clusters = len(judged)
	}
	if se+sp <= 1 { // of samples so small all may be chance
		return value, iv, nil
	}
	q := (p + sp - 1) / (se + sp - 1)
	ofSe := se * (1 - se) / float64(right.Trials+2)
	ofSp := sp * (1 - sp) / float64(wrong.Trials+2)
	v := (p*(1-p)/many + q*q*ofSe + (1-q)*(1-q)*ofSp) / ((se + sp - 1) * (se + sp - 1))
	d := 2 * z * z * (q*ofSe - (1-q)*ofSp)
	iv.Low, iv.High = min(value, within01(q+d-z*math.Sqrt(v))), max(value, within01(q+d+z*math.Sqrt(v)))
	return value, iv, nil
}

// share is the share of a tally with more passes, and as many failures.
func share(t Tally, more float64) float64 {
	return (float64(t.Passed) + more) / (float64(t.Trials) + 2*more)
}

func within01(x float64) float64 { return min(1, max(0, x)) }
