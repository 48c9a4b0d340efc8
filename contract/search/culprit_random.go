package search

import (
	"fmt"

	"github.com/shakedown-go/shakedown/internal/fewest"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// How agents that do not repeat themselves are asked.
const (
	enoughBreaks = 4    // of the whole, to know its rate; of the result, to confirm it
	mostRuns     = 24   // to get them
	mostTrials   = 60   // of one question
	freshRuns    = 60   // the number of a set's first run that is none of those that led to it
	leastCalm    = 8    // calm runs beside the confirmation
	rateLevel    = 0.95 // of its interval
	trialAlpha   = 0.01 // the chance to call a set that breaks at an eighth of the rate one that breaks
	trialBeta    = 0.02 // the chance to miss one that breaks at half the rate
)

// A sampler makes the n-th run of a set, or looks it up, and reports whether it broke. ok is false
// if the search was cut.
type sampler func(set partSet, n int) (broke, ok bool)

type confirmation struct {
	set         partSet
	minimal     bool // false: the search was cut
	Broke, Runs int  // the result, run afresh
	Calm        int  // of its calm runs broke
	CalmRuns    int  // beside it; 0: it has no fault
	OK          bool // it broke often enough, and more often than calm runs
}

// fewestRandom looks for the fewest of n parts that break it at least at half the rate of
// all of them.
func fewestRandom(n int, run sampler) (c confirmation) {
	c.set = firstParts(n)
	if c.minimal = c.sample(c.set, 0, run); !c.OK {
		return c
	}
	test := testOf(c.Runs)
	least := fewest.Find(n, func(set []int) (bool, bool) { return run.accepts(test, set) })
	c = confirmation{set: least.Set, minimal: least.Minimal}
	c.minimal = c.minimal && c.confirm(freshRuns, freshRuns, run)
	return c
}

// testOf is the sequential test of whether it breaks at half its rate, where it broke often enough in so many runs.
func testOf(runs int) stats.SPRT {
	rate := float64(enoughBreaks-1) / float64(runs-1) // unbiased, for runs until so many breaks
	return stats.SPRT{P0: rate / 8, P1: rate / 2, Alpha: trialAlpha, Beta: trialBeta, Max: mostTrials}
}

// sample makes runs of a set until it broke often enough. ok is false if the search was cut.
func (c *confirmation) sample(set partSet, first int, run sampler) (ok bool) {
	for c.Runs < mostRuns && c.Broke < enoughBreaks {
		if !run.count(set, first, &c.Broke, &c.Runs) {
			return false
		}
	}
	c.OK = c.Broke == enoughBreaks
	return true
}

// count makes the next run of a set, and counts it.
func (run sampler) count(set partSet, first int, broke, runs *int) (ok bool) {
	b, ok := run(set, first+*runs)
	if ok {
		*runs++
	}
	if b && ok {
		*broke++
	}
	return ok
}

// confirm makes runs of the result from a number on, and calm runs beside them: as many as it
// took, at least leastCalm. If one of these breaks, both go on to mostRuns. The result is
// confirmed only if it broke more than twice as often: in an agent that breaks without any fault
// too, a fault that has nothing to do with it may seem to break it. ok is false if the search was
// cut before it broke often enough.
func (c *confirmation) confirm(first, firstCalm int, run sampler) (ok bool) {
	if !c.sample(c.set, first, run) {
		return false
	}
	if !c.OK || len(c.set) == 0 {
		return true
	}
	more := true
	for least := max(c.Runs, leastCalm); more && (c.CalmRuns < least || c.Calm > 0 && c.CalmRuns < mostRuns); {
		more = run.count(nil, firstCalm, &c.Calm, &c.CalmRuns)
	}
	for more && c.Calm > 0 && c.Runs < mostRuns {
		more = run.count(c.set, first, &c.Broke, &c.Runs)
	}
	c.OK = more && 2*c.Calm*c.Runs < c.Broke*c.CalmRuns
	return true
}

// accepts reports whether a sequential test accepts that a set breaks it. One that stays open does
// not.
func (run sampler) accepts(test stats.SPRT, set partSet) (accepted, ok bool) {
	for passed, n := 0, 0; n < mostTrials; {
		if !run.count(set, 0, &passed, &n) {
			return false, false
		}
		standing, err := test.Decide(passed, n)
		if err != nil || standing.Decision != stats.Open {
			return err == nil && standing.Decision == stats.Accepted, true
		}
	}
	return false, true
}

func (f *culprit) searchRandom(ask askFunc) {
	base, ok := f.breaking(ask)
	if base == nil {
		f.Cut = !ok
		return
	}
	f.Source, f.Smallest = base, base.Whole
	var last *runDigest // the last run of the result that broke under all of its faults
	undecided := 0      // of the calm runs beside the confirmation
	c := fewestRandom(len(base.Parts), func(set partSet, n int) (broke, ok bool) {
		run := ask(base.request(set, nil).numbered(n))
		if run == nil {
			return false, false
		}
		broke = run.Breaks(f.Invariant, f.Shape)
		switch fresh := n >= freshRuns; {
		case len(set) == 0:
			base.equal = run.Equal
			if fresh && !broke && !run.judgedBy(f.Invariant).Holds() {
				undecided++
			}
		case broke && fresh && len(run.Delivered()) >= len(set): // else a run beside it
			last = run
		}
		return broke, true
	})
	f.Set, f.Cut, f.Sure = c.set, !c.minimal, &c
	if last != nil {
		f.Smallest, f.Hits = last, base.named(last.Delivered())
	} else {
		for _, i := range c.set {
			f.Hits = append(f.Hits, base.Parts[i].hit)
		}
	}
	if c.OK && len(c.set) > 0 {
		fact := c.Beside()
		if undecided > 0 {
			fact += fmt.Sprintf(", and %d did not decide it", undecided)
		}
		f.Facts = append(f.Facts, fact)
	}
}

// breaking returns the source with the parts of its first run that breaks it;
// nil: none of mostRuns did, or, with ok false, the search was cut.
func (f *culprit) breaking(ask askFunc) (base *source, ok bool) {
	for n := range mostRuns {
		run := ask(f.Source.own(n))
		if run == nil {
			return nil, false
		}
		if run.Breaks(f.Invariant, f.Shape) {
			own := *f.Source
			own.Whole, own.Key = run, fmt.Sprintf("%s from %d", own.Key, n)
			own.takeApart()
			return &own, true
		}
	}
	return nil, true
}

// Beside is the fact about the calm runs beside the confirmation.
func (c *confirmation) Beside() string {
	return fmt.Sprintf("without any fault it broke in %d of %d runs", c.Calm, c.CalmRuns)
}

func (c *confirmation) Rate() *scoring.Interval {
	iv, err := stats.AnyTime(c.Broke, c.Runs, rateLevel)
	if err != nil {
		return nil
	}
	return &iv
}
