package stats

import (
	"math"

	"github.com/shakedown-go/shakedown/internal/enum"
)

// A Decision of a sequential test has three values. The zero value is Open, so that
// an empty result decides nothing.
type Decision uint8

// The decisions.
const (
	Open     Decision = iota // more trials are needed, or the test was cut at its most
	Accepted                 // the rate is P1, and not P0
	Rejected                 // the rate is P0, and not P1
)

var decisions = enum.Names[Decision]{Package: fields, Field: "decision",
	Of: []string{Open: "open", Accepted: "accepted", Rejected: "rejected"}}

// String returns "open", "accepted" or "rejected", and "Decision(n)" for any other
// value.
func (d Decision) String() string { return decisions.String(d) }

// MarshalText returns "open", "accepted" or "rejected", and a [*FieldError] for any
// other value.
func (d Decision) MarshalText() ([]byte, error) { return decisions.MarshalText(d) }

// UnmarshalText reads exactly what MarshalText writes. Anything else is a
// [*FieldError] and leaves d unchanged.
func (d *Decision) UnmarshalText(text []byte) error { return decisions.UnmarshalText(text, d) }

// An SPRT is Wald's sequential probability ratio test of a rate: trials come one at
// a time, and after each one knows whether to accept, to reject, or to go on.
//
// With s passes and f failures it accepts when
// s·ln(P1/P0) + f·ln((1−P1)/(1−P0)) reaches ln((1−Beta)/Alpha), and rejects when it
// falls to ln(Beta/(1−Alpha)) (A. Wald, Sequential Tests of Statistical Hypotheses,
// 1945). At a rate of P0 or less it accepts with a chance of at most Alpha/(1−Beta),
// at P1 or more it rejects with at most Beta/(1−Alpha), and the two sum to at most
// Alpha + Beta. Between P0 and P1 it may do either. [SPRT.Law] says how often.
//
// Assumptions: independent trials of one rate, and a decision at the first moment
// that there is one. Whoever goes on after it, or looks only now and then, has other
// error rates. A share of the trials of a test that stopped itself is biased: give
// it with [AnyTime]. Do not use it for trials that are copies of each other.
type SPRT struct {
	P0    float64 // the rate that must not pass for P1, from 1e-9
	P1    float64 // the rate that is promised: above P0 by 1e-6 or more, up to 1 − 1e-9
	Alpha float64 // the chance to accept at P0, about: 1e-9 or more
	Beta  float64 // the chance to reject at P1, about: 1e-9 or more; Alpha + Beta below 1
	Max   int     // the most trials, up to 10⁹; 0: no bound. A test that is cut there is open
}

// A Standing is how far a sequential test has come.
type Standing struct {
	Decision Decision `json:"decision"`
	// Passes in a row would accept. 0: it is decided, or so many are not left before
	// Max.
	Passes int `json:"passes"`
	// Trials is about how many further ones the decision takes at the rate seen so
	// far, at most those that are left before Max. Before the first trial it takes
	// the rate for P1. 0: it is decided, or none are left.
	//
	// It is the distance to the bound that the rate leads to over the drift, or,
	// where the rate leads to neither, the mean of a random walk without drift:
	// whichever is less.
	Trials float64 `json:"trials"`
}

// Decide returns the decision after n trials of which passed passed. It depends on
// the counts alone; a caller asks after every trial and stops at the first decision.
// It takes no memory.
//
// Errors are [*FieldError], joined: for a field outside its range, n outside 0…Max,
// and passed outside 0…n.
func (t SPRT) Decide(passed, n int) (Standing, error) {
	most := t.most()
	if !t.valid() || n < 0 || n > most || passed < 0 || passed > n {
		return Standing{}, t.check(func(errs list) {
			errs.Demand(n >= 0 && n <= max(0, most), "n", n, "0 to Max")
			errs.Demand(passed >= 0 && passed <= max(n, 0), "passed", passed, "0 to n")
		})
	}
	var w walk
	t.walk(&w)
	at := w.at(passed, n)
	if d := w.decide(at); d != Open || n == most {
		return Standing{Decision: d}, nil
	}
	left := most - n
	s := Standing{Passes: int(math.Ceil((w.upper - w.slack - at) / w.pass))}
	if s.Passes > left {
		s.Passes = 0
	}
	rate := t.P1
	if n > 0 {
		rate = float64(passed) / float64(n)
	}
	s.Trials = w.further(at, rate)
	if s.Trials > float64(left) {
		s.Trials = float64(left)
	}
	return s, nil
}

// walk is the test as a walk between two bounds.
type walk struct {
	pass, fail   float64 // a step up, and one down
	upper, lower float64
	slack        float64 // a bound that is missed by rounding alone is reached
}

func (t *SPRT) walk(w *walk) {
	w.pass, w.fail = math.Log(t.P1/t.P0), math.Log((1-t.P1)/(1-t.P0))
	w.upper, w.lower = math.Log((1-t.Beta)/t.Alpha), math.Log(t.Beta/(1-t.Alpha))
	w.slack = 1e-12 * (w.upper - w.lower)
}

func (w *walk) at(passed, n int) float64 {
	return float64(passed)*w.pass + float64(n-passed)*w.fail
}

func (w *walk) decide(at float64) Decision {
	switch {
	case at >= w.upper-w.slack:
		return Accepted
	case at <= w.lower+w.slack:
		return Rejected
	}
	return Open
}

// further is about how many steps lead from here to a bound: the distance to the one
// ahead over the drift, or the product of both distances over the variance, whichever
// is less.
func (w *walk) further(at, rate float64) float64 {
	up, down := w.upper-at, at-w.lower
	step := w.pass - w.fail
	drift := w.fail + rate*step
	variance := rate * (1 - rate) * step * step
	ahead, behind := up, down
	if drift < 0 {
		ahead, behind, drift = down, up, -drift
	}
	n := 0.0
	if drift*behind >= variance {
		n = ahead / drift
	} else {
		n = ahead * behind / variance
	}
	if n < 1 {
		return 1
	}
	return n
}

// most is the most trials.
func (t *SPRT) most() int {
	if t.Max == 0 {
		return mostTrials
	}
	return t.Max
}

const least = 1e-9 // of probabilities, so that steps and bounds are finite

func (t *SPRT) valid() bool {
	return t.P0 >= least && t.P1-t.P0 >= 1e-6 && t.P1 <= 1-least &&
		t.Alpha >= least && t.Beta >= least && t.Alpha+t.Beta < 1 && t.Max >= 0 && t.Max <= mostTrials
}

func (t *SPRT) check(more func(list)) error {
	errs := newList()
	errs.Demand(t.P0 >= least && t.P0 < 1, "P0", t.P0, "1e-9 to below P1")
	errs.Demand(t.P1-t.P0 >= 1e-6 && t.P1 <= 1-least, "P1", t.P1, "P0 + 1e-6 to 1 - 1e-9")
	errs.Demand(t.Alpha >= least && t.Alpha < 1, "Alpha", t.Alpha, "1e-9 or more, and below 1 together with Beta")
	errs.Demand(t.Beta >= least && t.Beta < 1 && !(t.Alpha+t.Beta >= 1), "Beta", t.Beta,
		"1e-9 or more, and below 1 together with Alpha")
	errs.Demand(t.Max >= 0 && t.Max <= mostTrials, "Max", t.Max, "0 to 1000000000")
	more(errs)
	return errs.Err()
}

// Chances is what a sequential test does at a rate.
type Chances struct {
	Accept float64 `json:"accept"` // the chance that it accepts
	Reject float64 `json:"reject"` // the chance that it rejects
	Open   float64 `json:"open"`   // the chance that it is cut at Max; the three sum to 1
	Trials float64 `json:"trials"` // the mean number of trials
}

// mostLaw bounds the time of Law.
const mostLaw = 10_000

// Law returns what the test does, cut at Max, if each trial passes with probability
// p: exactly, by following the chance of every number of passes from trial to trial.
//
// Assumptions: those of [SPRT]. Its time grows with Max times the numbers of passes
// between the bounds.
//
// Errors are [*FieldError], joined: for a field outside its range, Max outside
// 1…10000, and p outside 0…1.
func (t SPRT) Law(p float64) (Chances, error) {
	err := t.check(func(errs list) {
		errs.Demand(t.Max != 0 && t.Max <= mostLaw, "Max", t.Max, "1 to 10000")
		errs.Demand(p >= 0 && p <= 1, "p", p, "0 to 1")
	})
	if err != nil {
		return Chances{}, err
	}
	var w walk
	t.walk(&w)
	var c Chances
	open := make([]float64, t.Max+2) // by the passes so far, from low to high
	open[0] = 1
	low, high := 0, 0
	for n := 1; n <= t.Max && low <= high; n++ {
		for s := low; s <= high; s++ {
			c.Trials += open[s] // all that are open take another trial
		}
		high++
		for s := high; s > low; s-- {
			open[s] = open[s]*(1-p) + open[s-1]*p
		}
		open[low] *= 1 - p
		for ; low <= high && w.decide(w.at(low, n)) == Rejected; low++ {
			c.Reject += open[low]
		}
		for ; low <= high && w.decide(w.at(high, n)) == Accepted; high-- {
			c.Accept += open[high]
			open[high] = 0
		}
	}
	for s := low; s <= high; s++ {
		c.Open += open[s]
	}
	// Sums of roundings may be a unit above.
	c.Accept, c.Reject, c.Open = min(1, c.Accept), min(1, c.Reject), min(1, c.Open)
	c.Trials = min(float64(t.Max), c.Trials)
	return c, nil
}
