package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
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

	Set      partSet                      // the fewest parts of the source that break it
	swaps    map[int]swap                 // milder faults that break it too
	held     map[when.Coord]time.Duration // the longest waits with which it is known to hold
	Smallest *runDigest                   // the run of them; nil: it did not break again
	Cut      bool
	Hits     []hit // what was delivered in it
	Facts    []string
	Sure     *confirmation // of random agents
	Others   []*culprit    // what else in the source breaks the invariant, without one of Set

	within partSet // the parts among which it looks
}

// Reason is the shape of the reason for which the smallest run broke the invariant.
func (f *culprit) Reason() string {
	if f.Smallest != nil {
		if j := f.Smallest.judgedBy(f.Invariant); j.Broke {
			return j.Shape
		}
	}
	return f.Shape
}

func (f *culprit) say(format string, args ...any) {
	f.Facts = append(f.Facts, fmt.Sprintf(format, args...))
}

// Search looks for the fewest faults of the source, which has been learnt.
func (f *culprit) Search(ask askFunc) {
	s := f.Source
	switch {
	case f.Smallest != nil:
	case s.Whole == nil: // cut before it was made
		f.Cut = true
	case s.Random:
		f.searchRandom(ask)
	case s.Whole.Breaks(f.Invariant, f.Shape) && (s.alone == nil || s.alone.Breaks(f.Invariant, f.Shape)):
		f.within = firstParts(len(s.Parts))
		f.searchExact(ask)
		f.searchOthers(ask)
	}
}

// searchExact looks for the fewest faults of an agent that repeats itself: one run
// answers a request.
func (f *culprit) searchExact(ask askFunc) {
	least := fewest.Find(len(f.within), func(places []int) (breaks, ok bool) {
		run := f.Source.run(ask, fewest.Pick(f.within, places), nil)
		return run != nil && run.Breaks(f.Invariant, f.Shape), run != nil
	})
	f.Set, f.Cut = fewest.Pick(f.within, least.Set), !least.Minimal
	f.Smallest = cmp.Or(f.Source.run(ask, f.Set, nil), f.Source.Whole) // a run more only if nothing could be left out
	if !f.Smallest.Breaks(f.Invariant, f.Shape) {
		f.Smallest = nil // it does not break again
		return
	}
	if !f.Cut {
		f.makeMilder(ask)
	}
	f.Hits = f.Source.named(f.Smallest.Delivered())
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
func (f *culprit) searchOthers(ask askFunc) {
	if f.Smallest == nil || f.Cut {
		return
	}
	known := []*culprit{f}
	asked := map[string]bool{}
	for open := []partSet{f.within}; len(open) > 0 && len(known) <= maxOthers; open = open[1:] {
		i := slices.IndexFunc(known, func(k *culprit) bool { return k.Set.within(open[0]) })
		if i < 0 {
			run := f.Source.run(ask, open[0], nil)
			if run == nil {
				return
			}
			j := run.judgedBy(f.Invariant)
			if !j.Broke || f.Source.hasLifted(run, open[0]) {
				continue
			}
			other := &culprit{Invariant: f.Invariant, Shape: j.Shape, Source: f.Source, within: open[0]}
			if other.searchExact(ask); other.Smallest == nil {
				continue
			}
			i, known = len(known), append(known, other)
		}
		for _, lifted := range known[i].Set {
			rest := open[0].without(lifted)
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
func (s *source) hasLifted(run *runDigest, set partSet) bool {
	return slices.ContainsFunc(run.Hits, func(h *hit) bool {
		i := slices.IndexFunc(s.Parts, func(p part) bool { return p.Rule == h.Rule && p.Coord() == h.Coord() })
		return h.Delivered && i >= 0 && !slices.Contains(set, i)
	})
}

// state states the facts that runs and events show.
func (f *culprit) state(least fewest.Result, ask askFunc) {
	if least.Minimal {
		f.stateWithout(ask)
	}
	last, later := least.Decided-1, len(f.within)-least.Decided
	if last >= 0 && later > 0 && slices.Contains(f.Set, f.within[last]) { // a call of the sentence
		at := &f.Source.Parts[f.within[last]]
		f.say("it is decided at call %d of %s: it breaks without the %s after that too", at.Ordinal+1, at.Target,
			text.Plural(later, "fault"))
	}
	f.Facts = append(f.Facts, factsOf(f.Smallest, f.Hits)...)
	calm := f.Source.run(ask, nil, nil)
	if calm != nil && len(f.Set) > 0 && calm.Answer != 0 && calm.Answer == f.Smallest.Answer {
		f.say("the answer is word for word that of the calm run")
	}
}

// stateWithout states what the runs without one of the faults showed. One that did not
// decide the invariant may have broken it: then the faults need not be the fewest.
func (f *culprit) stateWithout(ask askFunc) {
	n, held, open := len(f.Set), 0, false
	for _, i := range f.Set {
		if run := f.Source.run(ask, f.Set.without(i), f.swaps); run != nil {
			j := run.judgedBy(f.Invariant)
			if j.Holds() {
				held++
			}
			open = open || j.Undecided()
		}
	}
	known := n > 1 && held == n && len(f.Hits) == n
	switch {
	case open && n == 1:
		f.say("without it the run is undecided, so it may break without any fault")
	case open:
		f.say("a run without one of them is undecided, so fewer may break it")
	case known && n == 2:
		f.say("with one of the two it holds")
	case known:
		f.say("without any one of the %d it holds", n)
	}
}

// What a run showed in place of a break.
const (
	itHeld         = "the invariant: it broke, then it did not"
	itWasUndecided = "the invariant: it broke, then the run did not decide it"
	withItsRules   = "the invariant: it broke under the scenario's rules, and not under what they delivered alone"
)

// Instead says what the run that was to break it again showed.
func (f *culprit) Instead() string {
	run, held := f.Source.Whole, itHeld
	if run != nil && run.Breaks(f.Invariant, f.Shape) {
		run, held = f.Source.alone, withItsRules
	}
	switch {
	case run == nil || run.judgedBy(f.Invariant).Holds():
		return held
	case run.judgedBy(f.Invariant).Broke:
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
func (f *culprit) MetBy(run []*contract.Observation) bool {
	hits := hitsOf(run)
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
		for _, d := range p.calls[:len(p.calls)-1] {
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

// A swap puts another fault in the place of a part's.
type swap struct {
	kind  string
	held  string // what the call does then, in a fact
	fault chaos.Fault
	wait  time.Duration
}

var waitingFaults = map[string]func(time.Duration) chaos.Fault{
	"latency": fault.Delay, "timeout": fault.Timeout, "lost_request": fault.LoseRequest,
	"lost_reply": fault.LoseReplyAfter,
}

// makeMilder leaves out the faults that are not needed, puts the mildest that still break it in
// the place of the rest, and again, until neither changes anything. What was tried before with
// the same faults makes no run again. If the search is cut, the result is marked: fewer or
// milder faults may do.
func (f *culprit) makeMilder(ask askFunc) {
	f.swaps, f.held = map[int]swap{}, map[when.Coord]time.Duration{}
	all := len(f.Set)
	for {
		f.leaveOut(ask)
		changed, held := f.milder(ask)
		if f.Cut {
			return
		}
		if !changed {
			f.Facts = append(f.Facts, held...)
			break
		}
	}
	if len(f.Set) < all && f.Reason() != f.Shape {
		f.say("not all faults of the cell are needed: with fewer of them it breaks too, for another reason")
	}
}

// leaveOut leaves out the faults that are not needed for the reason, then those that are not
// needed for any: a reason that lists what failed is another one with each fault less.
func (f *culprit) leaveOut(ask askFunc) {
	for _, suffices := range []func(*runDigest) bool{
		f.breaks, func(a *runDigest) bool { return a.judgedBy(f.Invariant).Broke },
	} {
		all, swaps := f.Set, f.swaps
		least := fewest.LeaveOut(len(all), func(places []int) (breaks, ok bool) {
			set := fewest.Pick(all, places)
			run := f.Source.run(ask, set, swaps)
			if breaks = run != nil && suffices(run); breaks {
				f.Set, f.Smallest = set, run // a smaller set that breaks it is asked about last
			}
			return breaks, run != nil
		})
		if f.Cut = !least.Minimal; f.Cut {
			return
		}
		f.swaps = maps.Clone(swaps)
		maps.DeleteFunc(f.swaps, func(i int, _ swap) bool { return !slices.Contains(f.Set, i) })
	}
}

// breaks reports whether a run broke the invariant for the reason that is followed: that of
// the smallest run.
func (f *culprit) breaks(a *runDigest) bool { return a.Breaks(f.Invariant, f.Reason()) }

// try puts another fault in the place of part i, and keeps it there if that breaks it too. held
// reports whether the invariant held under it. A search that is cut marks the culprit.
func (f *culprit) try(ask askFunc, i int, w swap) (broke, held bool) {
	swaps := maps.Clone(f.swaps)
	swaps[i] = w
	run := f.Source.run(ask, f.Set, swaps)
	if run == nil {
		f.Cut = true
		return false, false
	}
	if !run.DeliveredAt(f.Source.Parts[i].Coord()) {
		return false, false
	}
	if f.breaks(run) {
		f.swaps, f.Smallest = swaps, run
		return true, false
	}
	return false, run.judgedBy(f.Invariant).Holds()
}

// milder puts the mildest fault that still breaks it in the place of each, one after the
// other. changed reports whether some fault is now another one. held are the facts about what did
// not break it in the place of a fault alone.
func (f *culprit) milder(ask askFunc) (changed bool, facts []string) {
	for _, i := range f.Set {
		if f.Cut {
			break
		}
		var names []string
		for _, w := range ladder(&f.Source.Parts[i]) {
			if own, swapped := f.swaps[i]; swapped && w.kind == own.kind {
				break
			}
			broke, held := f.try(ask, i, w)
			if broke {
				changed = true
				break
			}
			if held {
				names = append(names, w.held)
			}
		}
		if len(names) > 0 {
			facts = append(facts, "when it only "+strings.Join(names, ", or ")+", it holds")
		}
		shortened, longest := f.shorten(i, ask)
		changed = changed || shortened
		if longest > 0 {
			facts = append(facts, fmt.Sprintf("with %v it holds", longest))
		}
	}
	if len(f.Set) > 1 || len(f.Smallest.Delivered()) > 1 {
		facts = nil // they are about one of several faults: one with memory may bring others
	}
	return changed, facts
}

// ladder are the milder faults to try in the place of a part's, the mildest first.
func ladder(p *part) []swap {
	fail := swap{kind: "error", held: "fails", fault: fault.Fail(fault.ErrUnavailable)}
	wait := max(p.Waited, time.Second)
	late := swap{kind: "timeout", held: "times out before the work", fault: fault.Timeout(wait), wait: wait}
	lost := swap{kind: "lost_reply", held: "loses its reply", fault: fault.LoseReplyAfter(wait), wait: wait}
	switch p.Fault {
	case "error":
		return nil
	case "timeout", "lost_request":
		return []swap{fail}
	}
	if p.Failed && p.Fault != "lost_reply" && p.Effect != chaos.EffectNone {
		return []swap{fail, late, lost}
	}
	return []swap{fail, late}
}

// shorten looks for the shortest wait of two digits that still breaks it. changed reports
// whether it found one. longest is the longest shorter wait, if the invariant held with it; else 0.
func (f *culprit) shorten(i int, ask askFunc) (changed bool, longest time.Duration) {
	p := &f.Source.Parts[i]
	waited, kind := p.Waited, p.Fault
	own, before := f.swaps[i]
	if before {
		waited, kind = own.wait, own.kind
	}
	waiting := waitingFaults[kind]
	if waiting == nil || waited <= 0 || f.Cut {
		return false, 0
	}
	holds := map[time.Duration]bool{} // a run may also break otherwise, or decide nothing
	breaks := func(d time.Duration) (broke bool) {
		if !f.Cut {
			broke, holds[d] = f.try(ask, i, swap{kind: kind, fault: waiting(d), wait: d})
			changed = changed || broke
		}
		return broke
	}
	if kind != "latency" && breaks(0) { // without a wait it may break as well
		return true, 0
	}
	lengths := twoDigits(waited)
	shortest := len(lengths)                                    // the whole wait breaks it
	if !before || shortest > 0 && breaks(lengths[shortest-1]) { // else it is the shortest already
		shortest = sort.Search(shortest, func(k int) bool { return breaks(lengths[k]) })
	}
	if shortest > 0 && holds[lengths[shortest-1]] && !f.Cut {
		longest = lengths[shortest-1]
		f.held[p.Coord()] = longest
	}
	return changed, longest
}

// twoDigits are the durations of two digits below d, from a millisecond on.
func twoDigits(d time.Duration) (all []time.Duration) {
	for unit := time.Millisecond / 10; unit < d; unit *= 10 {
		for n := time.Duration(10); n < 100 && n*unit < d; n++ {
			all = append(all, n*unit)
		}
	}
	return all
}
