package search

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"

	"github.com/shakedown-go/shakedown/internal/fewest"
)

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
func (f *culprit) makeMilder(ask askRun) {
	f.swaps, f.held = map[int]swap{}, map[when.Coord]time.Duration{}
	all := len(f.Set)
	for {
		if !f.leaveOut(ask) {
			f.Cut = true
			return
		}
		if f.Source.ByRule {
			break // its parts are no single faults
		}
		changed, held, ok := f.milder(ask)
		if !ok {
			f.Cut = true
			return
		}
		if !changed {
			f.Facts = append(f.Facts, held...)
			break
		}
	}
	if len(f.Set) < all && f.Reason() != f.Shape {
		f.Facts = append(f.Facts,
			"not all faults of the cell are needed: with fewer of them it breaks too, for another reason")
	}
}

// breaks reports whether a run broke the invariant for the reason that is followed: that of
// the smallest run.
func (f *culprit) breaks(a *runDigest) bool { return a.Breaks(f.Invariant, f.Reason()) }

// leaveOut leaves out the faults that are not needed for the reason, then those that are not
// needed for any: a reason that lists what failed is another one with each fault less. It
// reports whether the search goes on.
func (f *culprit) leaveOut(ask askRun) (ok bool) {
	for _, suffices := range []func(*runDigest) bool{
		f.breaks, func(a *runDigest) bool { return a.Broken(f.Invariant) },
	} {
		all, swaps := f.Set, f.swaps
		least := fewest.LeaveOut(len(all), func(places []int) (breaks, ok bool) {
			set := fewest.Pick(all, places)
			a, ok := f.Source.run(ask, set, swaps)
			if breaks = ok && suffices(a); breaks {
				f.Set, f.Smallest = set, a // a smaller set that breaks it is asked about last
			}
			return breaks, ok
		})
		if !least.Minimal {
			return false
		}
		f.swaps = maps.Clone(swaps)
		maps.DeleteFunc(f.swaps, func(i int, _ swap) bool { return !slices.Contains(f.Set, i) })
	}
	return true
}

// milder puts the mildest fault that still breaks it in the place of each, one after the
// other. changed reports whether some fault is now another one, ok whether the search goes
// on. held are the facts about what did not break it in the place of a fault alone.
func (f *culprit) milder(ask askRun) (changed bool, held []string, ok bool) {
	for _, i := range f.Set {
		p := &f.Source.Parts[i]
		own, swapped := f.swaps[i]
		names := []string{}
		for _, w := range ladder(p) {
			if swapped && w.kind == own.kind {
				break
			}
			a, ok := f.with(ask, i, w)
			if !ok {
				return changed, nil, false
			}
			if !a.DeliveredAt(p.Coord()) {
				continue
			}
			if f.breaks(a) {
				f.swaps[i], f.Smallest, changed = w, a, true
				break
			}
			if a.Holds(f.Invariant) {
				names = append(names, w.held)
			}
		}
		if len(names) > 0 {
			held = append(held, "when it only "+alternatives(names)+", it holds")
		}
		shortened, longest, ok := f.shorter(i, ask)
		changed = changed || shortened
		if !ok {
			return changed, nil, false
		}
		if longest > 0 {
			held = append(held, fmt.Sprintf("with %v it holds", longest))
		}
	}
	if len(f.Set) > 1 || len(f.Smallest.Delivered()) > 1 {
		held = nil // they are about one of several faults: one with memory may bring others
	}
	return changed, held, true
}

// with makes the run of the faults with another one in the place of part i.
func (f *culprit) with(ask askRun, i int, w swap) (run *runDigest, ok bool) {
	swaps := maps.Clone(f.swaps)
	swaps[i] = w
	return f.Source.run(ask, f.Set, swaps)
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

// shorter looks for the shortest wait, of two digits, that still breaks it. changed reports
// whether it found one, and ok whether the search goes on. held is the longest shorter wait,
// if the invariant held with it; else 0.
func (f *culprit) shorter(i int, ask askRun) (changed bool, held time.Duration, ok bool) {
	p := &f.Source.Parts[i]
	waited, kind := p.Waited, p.Fault
	own, before := f.swaps[i]
	if before {
		waited, kind = own.wait, own.kind
	}
	other := waitingFaults[kind]
	if other == nil || waited <= 0 {
		return false, 0, true
	}
	holds := map[time.Duration]bool{} // a run may also break otherwise, or decide nothing
	breaks := func(d time.Duration) (yes, ok bool) {
		w := swap{kind: kind, fault: other(d), wait: d}
		a, ok := f.with(ask, i, w)
		if yes = ok && a.DeliveredAt(p.Coord()) && f.breaks(a); yes {
			f.swaps[i], f.Smallest, changed = w, a, true
			return true, true
		}
		holds[d] = ok && a.DeliveredAt(p.Coord()) && a.Holds(f.Invariant)
		return false, ok
	}
	if kind != "latency" { // without a wait it may break as well
		if yes, ok := breaks(0); yes || !ok {
			return changed, 0, ok
		}
	}
	lengths := twoDigits(waited)
	low, high := -1, len(lengths) // the whole wait breaks it
	for first := before; high-low > 1; first = false {
		middle := (low + high) / 2
		if first {
			middle = high - 1 // most likely it is the shortest already
		}
		yes, ok := breaks(lengths[middle])
		if !ok {
			return changed, 0, false
		}
		if yes {
			high = middle
		} else {
			low = middle
		}
	}
	if low >= 0 && holds[lengths[low]] {
		held = lengths[low]
		f.held[p.Coord()] = held
	}
	return changed, held, true
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
