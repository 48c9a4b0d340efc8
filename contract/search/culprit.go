package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"

	"github.com/shakedown-go/shakedown/internal/fewest"
	"github.com/shakedown-go/shakedown/internal/text"
)

// culprit is what a search found out about why a source breaks an invariant for reasons of
// one shape.
type culprit struct {
	Invariant, Shape string
	Source           *source // with the parts of Set

	Set      []int                        // the fewest parts of the source that break it
	swaps    map[int]swap                 // milder faults that break it too
	held     map[when.Coord]time.Duration // the longest waits with which it is known to hold
	Smallest *runDigest                   // the run of them; nil: it did not break again
	Cut      bool
	Hits     []hit // what was delivered in it
	Facts    []string
	Sure     *confirmation // of random agents
	Others   []*culprit    // what else in the source breaks the invariant, without one of Set

	within []int // the parts among which it looks; nil: all
}

// Reason is the shape of the reason for which the smallest run broke the invariant.
func (f *culprit) Reason() string {
	if f.Smallest != nil {
		if j := f.Smallest.judgedBy(f.Invariant); j != nil && j.Broke {
			return j.Shape
		}
	}
	return f.Shape
}

// Search looks for the fewest faults of the source, which has been learnt.
func (f *culprit) Search(ask askRun) {
	s := f.Source
	switch {
	case f.Smallest != nil:
	case s.Whole == nil: // cut before it was made
		f.Cut = true
	case s.Random:
		f.searchRandom(ask)
	case s.Whole.Breaks(f.Invariant, f.Shape):
		f.within = s.all()
		f.searchExact(ask)
		f.searchOthers(ask)
	}
}

// run makes the run of a set of parts, some with other faults in their place, or looks it up. ok
// is false if the search was cut.
func (s *source) run(ask askRun, set []int, swaps map[int]swap) (run *runDigest, ok bool) {
	run, ok = ask(s.request(set, swaps))
	if ok && len(set) == 0 {
		s.equal = run.Equal
	}
	return run, ok
}

// searchExact looks for the fewest faults of an agent that repeats itself: one run
// answers a request.
func (f *culprit) searchExact(ask askRun) {
	s := f.Source
	least := fewest.Find(len(f.within), func(places []int) (breaks, ok bool) {
		a, ok := f.Source.run(ask, fewest.Pick(f.within, places), nil)
		return ok && a.Breaks(f.Invariant, f.Shape), ok
	})
	f.Set, f.Cut = fewest.Pick(f.within, least.Set), !least.Minimal
	a, ok := f.Source.run(ask, f.Set, nil) // a run more only if nothing could be left out
	switch {
	case !ok:
		f.Smallest = s.Whole
	case !a.Breaks(f.Invariant, f.Shape):
		return // it does not break again
	default:
		f.Smallest = a
	}
	if !f.Cut {
		f.makeMilder(ask)
	}
	f.Hits = s.named(f.Smallest.Delivered())
	f.state(least, ask)
}

// The most that is asked about other causes in one source.
const (
	maxOthers = 8  // of them
	maxLifted = 64 // sets of faults that are lifted
)

// searchOthers looks for what else breaks the invariant in the source: a set that lacks one
// of the faults found, and that breaks it all the same, has another cause in it (Reiter, A
// Theory of Diagnosis from First Principles, Artificial Intelligence 32, 1987). The source
// may be the only cell that met it.
func (f *culprit) searchOthers(ask askRun) {
	if f.Smallest == nil || f.Cut {
		return
	}
	known := []*culprit{f}
	asked := map[string]bool{}
	for open := [][]int{f.within}; len(open) > 0 && len(known) <= maxOthers; open = open[1:] {
		i := slices.IndexFunc(known, func(k *culprit) bool { return isIn(k.Set, open[0]) })
		if i < 0 {
			a, ok := f.Source.run(ask, open[0], nil)
			if !ok {
				return
			}
			if !a.Broken(f.Invariant) || f.Source.hasLifted(a, open[0]) {
				continue
			}
			other := &culprit{Invariant: f.Invariant, Shape: a.judgedBy(f.Invariant).Shape, Source: f.Source,
				within: open[0]}
			if other.searchExact(ask); other.Smallest == nil {
				continue
			}
			i, known = len(known), append(known, other)
		}
		for _, lifted := range known[i].Set {
			rest := slices.DeleteFunc(slices.Clone(open[0]), func(k int) bool { return k == lifted })
			if key := fmt.Sprint(rest); !asked[key] && len(asked) < maxLifted {
				asked[key] = true
				open = append(open, rest)
			}
		}
	}
	f.Others = known[1:]
}

// hasLifted reports whether a part that is not in a set was delivered in its run all the same: a
// later one that needs its call brought it along.
func (s *source) hasLifted(run *runDigest, set []int) bool {
	return !s.ByRule && slices.ContainsFunc(run.Hits, func(h *hit) bool {
		i := slices.IndexFunc(s.Parts, func(p part) bool { return p.Rule == h.Rule && p.Coord() == h.Coord() })
		return h.Delivered && i >= 0 && !slices.Contains(set, i)
	})
}

func isIn(set, other []int) bool {
	return !slices.ContainsFunc(set, func(i int) bool { return !slices.Contains(other, i) })
}

// state states the facts that runs and events show.
func (f *culprit) state(least fewest.Result, ask askRun) {
	s := f.Source
	if least.Minimal {
		f.stateWithout(ask)
	}
	last, later := least.Decided-1, len(f.within)-least.Decided
	if last >= 0 && later > 0 && !s.ByRule && slices.Contains(f.Set, f.within[last]) { // a call of the sentence
		at := s.Parts[f.within[last]]
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
	f.Facts = append(f.Facts, factsOf(f.Smallest, f.Hits)...)
	if calm, ok := f.Source.run(ask, nil, nil); ok && len(f.Set) > 0 && sameAnswers(calm, f.Smallest) {
		f.Facts = append(f.Facts, "the answer is word for word that of the calm run")
	}
}

// stateWithout states what the runs without one of the faults showed. One that did not
// decide the invariant may have broken it: then the faults need not be the fewest.
func (f *culprit) stateWithout(ask askRun) {
	n, held, open := len(f.Set), 0, false
	for i := range f.Set {
		without := slices.Delete(slices.Clone(f.Set), i, i+1)
		a, ok := f.Source.run(ask, without, f.swaps)
		switch {
		case !ok:
		case a.Holds(f.Invariant):
			held++
		default:
			j := a.judgedBy(f.Invariant)
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

func sameAnswers(a, b *runDigest) bool {
	return len(a.Answers) > 0 && slices.Equal(a.Answers, b.Answers)
}

// What a run showed in place of a break.
const (
	itHeld         = "the invariant: it broke, then it did not"
	itWasUndecided = "the invariant: it broke, then the run did not decide it"
)

// Instead says what the run that was to break it again showed.
func (f *culprit) Instead() string {
	run := f.Source.Whole
	if run != nil && run.Breaks(f.Invariant, f.Shape) {
		run = f.Source.alone // the whole run broke it, its faults alone did not
	}
	switch {
	case run == nil || run.Holds(f.Invariant):
		return itHeld
	case run.judgedBy(f.Invariant) != nil && run.judgedBy(f.Invariant).Broke:
		return "the invariant: it broke for another reason"
	}
	return itWasUndecided
}

// isLong reports whether a wait is as long as that of a fault that was found. One between the
// longest that held and the shortest of two digits that did not broke a cell of its own.
func (f *culprit) isLong(h hit, waited time.Duration) bool {
	held, known := f.held[h.Coord()]
	return waitingFaults[h.Fault] == nil || waited >= h.Waited || known && waited > held
}

// MetBy reports whether a run had the faults that were found, call by call, with waits that are
// as long. A call of a run that has none with its arguments is the one of its number.
// Where parts are rules, it reports whether each was injected.
func (f *culprit) MetBy(run []*contract.Observation) bool {
	hits := hitsOf(run)
	if f.Source.ByRule {
		return !slices.ContainsFunc(f.Set, func(i int) bool {
			return !slices.ContainsFunc(hits, func(h hit) bool { return h.Rule == f.Source.Parts[i].Rule })
		})
	}
	made := map[operation]bool{}
	for _, o := range run {
		for i := range o.Events {
			made[operationOf(&o.Events[i])] = true
		}
	}
	rules := map[string]string{} // of the scenario, by the names of their milder faults
	for k := range f.swaps {
		rules[f.Source.swapName(k)] = f.Source.Parts[k].Rule
	}
	return !slices.ContainsFunc(f.Hits, func(h hit) bool {
		rule := cmp.Or(rules[h.Rule], h.Rule)
		return !slices.ContainsFunc(hits, func(met hit) bool {
			same := met.Op() == h.Op() && met.Occurrence == h.Occurrence ||
				!made[h.Op()] && met.Lane == h.Lane && met.Target == h.Target && met.Ordinal == h.Ordinal
			return same && met.Delivered && met.Rule == rule && f.isLong(h, met.Waited)
		})
	})
}

// Earlier are the calls that faults with memory see before those on which they are delivered.
func (f *culprit) Earlier() (all []contract.Delivery) {
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
func (f *culprit) ExactRules() []chaos.Rule {
	exact := *f.Source
	exact.Random = false
	return exact.rulesOf(f.Set, f.swaps)
}
