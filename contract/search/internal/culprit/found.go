// Package culprit finds the fewest and mildest faults behind a run that broke. A [Source] is
// such a run, taken apart into what can be left out of it. [Found] is the answer for one
// invariant and shape of reason: by one run a question if the agent repeats itself, else by
// sequential tests.
package culprit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search/internal/lockstep"
	"github.com/shakedown-go/shakedown/contract/search/internal/seen"
	"github.com/shakedown-go/shakedown/contract/search/internal/wording"
	"github.com/shakedown-go/shakedown/internal/fewest"
	"github.com/shakedown-go/shakedown/internal/text"
)

// Found is what a search found out about why a source breaks an invariant for reasons of
// one shape.
type Found struct {
	Invariant, Shape string
	Source           *Source // with the parts of Set

	Set      []int        // the fewest parts of the source that break it
	swaps    map[int]swap // milder faults that break it too
	Smallest *seen.Run    // the run of them; nil: it did not break again
	Cut      bool
	Hits     []seen.Hit // what was delivered in it
	Facts    []string
	Sure     *Confirmed // of random agents
}

// Search looks for the fewest faults of the source, which has been learnt.
func (f *Found) Search(ask lockstep.Ask[*seen.Run]) {
	s := f.Source
	switch {
	case f.Smallest != nil:
	case s.Whole == nil: // cut before it was made
		f.Cut = true
	case s.Random:
		f.searchRandom(ask)
	case s.Whole.Breaks(f.Invariant, f.Shape):
		f.searchExact(ask)
	}
}

// searchExact looks for the fewest faults of an agent that repeats itself: one run
// answers a request.
func (f *Found) searchExact(ask lockstep.Ask[*seen.Run]) {
	s := f.Source
	runs := map[string]*seen.Run{}
	var made maker = func(set []int, swaps map[int]swap) (*seen.Run, bool) {
		r := s.request(set, swaps)
		a, ok := ask(r)
		if ok {
			runs[r.Key] = a
		}
		return a, ok
	}
	least := fewest.Find(len(s.Parts), func(set []int) (breaks, ok bool) {
		a, ok := made(set, nil)
		return ok && a.Breaks(f.Invariant, f.Shape), ok
	})
	f.Set, f.Cut = least.Set, !least.Minimal
	f.Smallest = runs[s.request(f.Set, nil).Key]
	if f.Smallest == nil { // nothing could be left out, or the search was cut
		a, ok := made(f.Set, nil)
		switch {
		case !ok:
			f.Smallest = s.Whole
		case !a.Breaks(f.Invariant, f.Shape):
			return // it does not break again
		default:
			f.Smallest = a
		}
	}
	if least.Minimal && !s.ByRule {
		f.makeMilder(made)
	}
	f.Hits = s.named(f.Smallest.Delivered())
	f.state(least, runs, made)
}

// state states the facts that runs and events show.
func (f *Found) state(least fewest.Result, runs map[string]*seen.Run, made maker) {
	s := f.Source
	if least.Minimal {
		f.stateWithout(made)
	}
	last, later := least.Decided-1, len(s.Parts)-least.Decided
	if slices.Contains(f.Set, last) && later > 0 && !s.ByRule { // else the sentence is of other calls
		at := s.Parts[last]
		f.Facts = append(f.Facts, fmt.Sprintf("it is decided at call %d of %s: it breaks without the %s after that too",
			at.Ordinal+1, at.Target, text.Plural(later, "fault")))
	}
	if s.ByRule && len(f.Set) > 0 {
		fact := "rules were left out as a whole"
		if s.alone != nil && s.alone.Holds(f.Invariant) {
			fact += ": their deliveries alone do not break it"
		}
		f.Facts = append(f.Facts, fact)
	}
	f.Facts = append(f.Facts, wording.FactsOf(f.Smallest, f.Hits)...)
	if calm := runs[s.request(nil, nil).Key]; calm != nil && len(f.Set) > 0 && sameAnswers(calm, f.Smallest) {
		f.Facts = append(f.Facts, "the answer is word for word that of the calm run")
	}
}

// stateWithout states what the runs without one of the faults showed. One that did not
// decide the invariant may have broken it: then the faults need not be the fewest.
func (f *Found) stateWithout(made maker) {
	n, held, open := len(f.Set), 0, false
	for i := range f.Set {
		without := slices.Delete(slices.Clone(f.Set), i, i+1)
		a, ok := made(without, f.swaps)
		switch {
		case !ok:
		case a.Holds(f.Invariant):
			held++
		default:
			j := a.Of(f.Invariant)
			open = open || j == nil || j.Undecided()
		}
	}
	known := n > 1 && held == n && (f.Source.ByRule || len(f.Hits) == n)
	switch {
	case open && n == 1:
		f.Facts = append(f.Facts, "without it the run is undecided, so it may break without any fault")
	case open:
		f.Facts = append(f.Facts, "a run without one of them is undecided, so fewer may break it")
	case known && n == 2:
		f.Facts = append(f.Facts, "with one of the two it holds")
	case known:
		f.Facts = append(f.Facts, fmt.Sprintf("without any one of the %d it holds", n))
	}
}

// sameAnswers reports whether two runs gave the same answers to all prompts.
func sameAnswers(a, b *seen.Run) bool {
	return len(a.Answers) > 0 && slices.Equal(a.Answers, b.Answers)
}

// What a run showed in place of a break.
const (
	ItHeld         = "the invariant: it broke, then it did not"
	ItWasUndecided = "the invariant: it broke, then the run did not decide it"
)

// Instead says what the run that was to break it again showed.
func (f *Found) Instead() string {
	run := f.Source.Whole
	if run != nil && run.Breaks(f.Invariant, f.Shape) {
		run = f.Source.alone // the whole run broke it, its faults alone did not
	}
	switch {
	case run == nil || run.Holds(f.Invariant):
		return ItHeld
	case run.Of(f.Invariant) != nil && run.Of(f.Invariant).Broke:
		return "the invariant: it broke for another reason"
	}
	return ItWasUndecided
}

// MetBy reports whether a run with these hits had the faults that were found: of each rule
// as many at each target. Where parts are rules, it reports whether each was injected.
func (f *Found) MetBy(hits []seen.Hit) bool {
	if f.Source.ByRule {
		return !slices.ContainsFunc(f.Set, func(i int) bool {
			return !slices.ContainsFunc(hits, func(h seen.Hit) bool { return h.Rule == f.Source.Parts[i].Rule })
		})
	}
	type place struct{ rule, target string }
	rules := map[string]string{} // of the scenario, by the names of their milder faults
	for k := range f.swaps {
		rules[f.Source.swapName(k)] = f.Source.Parts[k].Rule
	}
	left := map[place]int{}
	for _, h := range hits {
		if h.Delivered {
			left[place{h.Rule, h.Target}]++
		}
	}
	return !slices.ContainsFunc(f.Hits, func(h seen.Hit) bool {
		at := place{cmp.Or(rules[h.Rule], h.Rule), h.Target}
		left[at]--
		return left[at] < 0
	})
}

// Earlier are the calls that faults with memory see before those on which they are delivered.
func (f *Found) Earlier() (all []contract.Delivery) {
	for _, i := range f.Set {
		p := &f.Source.Parts[i]
		if _, other := f.swaps[i]; other {
			continue
		}
		for _, d := range p.calls[:max(0, len(p.calls)-1)] { // a part that is a rule has none
			if !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
	}
	return all
}

// ExactRules are the rules of the fewest faults, by the exact coordinates of their calls.
func (f *Found) ExactRules() []chaos.Rule {
	exact := *f.Source
	exact.Random = false
	return exact.rulesOf(f.Set, f.swaps)
}
