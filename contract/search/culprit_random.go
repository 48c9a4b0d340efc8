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

type confirmation struct {
	set         []int
	minimal     bool // false: the search was cut
	Broke, Runs int  // the result, run afresh
	Calm        int  // of its calm runs broke
	CalmRuns    int  // beside it; 0: it has no fault
	OK          bool // it broke often enough, and more often than calm runs
	decided     int
}

// fewestRandom looks for the fewest of n parts that break it at least at half the rate of
// all of them.
func fewestRandom(n int, run runSet[bool]) (c confirmation) {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	c.set = all
	broke, runs, ok := runUntil(enoughBreaks, func(i int) (bool, bool) { return run(all, i) })
	if !ok || broke < enoughBreaks {
		c.Broke, c.Runs, c.minimal = broke, runs, ok
		return c
	}
	rate := float64(enoughBreaks-1) / float64(runs-1) // unbiased, for runs until so many breaks
	test := stats.SPRT{P0: rate / 8, P1: rate / 2, Alpha: trialAlpha, Beta: trialBeta, Max: mostTrials}
	least := fewest.Find(n, func(set []int) (bool, bool) {
		return sequential(test, func(i int) (bool, bool) { return run(set, i) })
	})
	c.set, c.minimal, c.decided = least.Set, least.Minimal, least.Decided
	if !c.minimal {
		return c
	}
	if c.Broke, c.Runs, ok = runUntil(enoughBreaks, func(i int) (bool, bool) { return run(c.set, freshRuns+i) }); !ok {
		c.minimal = false
		return c
	}
	c.OK = c.Broke == enoughBreaks
	if !c.OK || len(c.set) == 0 {
		return c
	}
	c.Compare(func(i int) (bool, bool) { return run(nil, freshRuns+i) },
		func(i int) (bool, bool) { return run(c.set, freshRuns+i) })
	return c
}

// Compare makes calm runs beside the result: as many as it took, at least leastCalm. If one
// breaks, both go on to MostRuns. The result stays confirmed only if it broke more than
// twice as often: in an agent that breaks without any fault too, a fault that has nothing
// to do with it may seem to break it.
func (c *confirmation) Compare(calm, result func(i int) (broke, ok bool)) {
	more := func(run func(int) (bool, bool), broke, runs *int) (ok bool) {
		b, ok := run(*runs)
		if !ok {
			c.OK = false
			return false
		}
		if *runs++; b {
			*broke++
		}
		return true
	}
	for least := max(c.Runs, leastCalm); c.CalmRuns < least || c.Calm > 0 && c.CalmRuns < mostRuns; {
		if !more(calm, &c.Calm, &c.CalmRuns) {
			return
		}
	}
	for c.Calm > 0 && c.Runs < mostRuns {
		if !more(result, &c.Broke, &c.Runs) {
			return
		}
	}
	c.OK = c.OK && 2*c.Calm*c.Runs < c.Broke*c.CalmRuns
}

// runUntil runs until so many broke, within MostRuns. ok is false if the search was cut.
func runUntil(breaks int, run func(i int) (bool, bool)) (broke, runs int, ok bool) {
	for runs < mostRuns && broke < breaks {
		b, ok := run(runs)
		if !ok {
			return broke, runs, false
		}
		if runs++; b {
			broke++
		}
	}
	return broke, runs, true
}

// sequential reports whether a test accepts. One that stays open does not.
func sequential(test stats.SPRT, run func(i int) (bool, bool)) (accepted, ok bool) {
	passed := 0
	for n := 1; n <= mostTrials; n++ {
		b, ok := run(n - 1)
		if !ok {
			return false, false
		}
		if b {
			passed++
		}
		standing, err := test.Decide(passed, n)
		if err != nil || standing.Decision != stats.Open {
			return err == nil && standing.Decision == stats.Accepted, true
		}
	}
	return false, true
}

func (f *culprit) searchRandom(ask askRun) {
	s := f.Source
	base, ok := s.breaking(f, ask)
	if base == nil {
		f.Cut = !ok
		return
	}
	f.Source, f.Smallest = base, base.Whole
	var last *runDigest // the last run of the result that broke under all of its faults
	undecided := 0      // of the calm runs beside the confirmation
	c := fewestRandom(len(base.Parts), func(set []int, n int) (bool, bool) {
		fresh := n >= freshRuns
		a, ok := ask(furtherRun(base.request(set, nil), n))
		if !ok {
			return false, false
		}
		if len(set) == 0 {
			base.equal = a.Equal
		}
		broke := a.Breaks(f.Invariant, f.Shape)
		if broke && fresh && len(set) > 0 && len(a.Delivered()) >= len(set) { // else a run beside it
			last = a
		}
		if fresh && len(set) == 0 && !broke && !a.Holds(f.Invariant) {
			undecided++
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
// nil: none of MostRuns did, or, with ok false, the search was cut.
func (s *source) breaking(f *culprit, ask askRun) (base *source, ok bool) {
	for n := range mostRuns {
		a, ok := ask(s.own(n))
		if !ok {
			return nil, false
		}
		if a.Breaks(f.Invariant, f.Shape) {
			own := *s
			own.Whole, own.Key, own.ByRule = a, fmt.Sprintf("%s from %d", s.Key, n), false
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
