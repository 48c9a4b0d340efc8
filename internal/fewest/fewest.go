// Package fewest finds a smallest set of things that still causes something, by asking
// about one set after the other.
//
// The method is the dichotomic search of "Extracting MUCs from Constraint Networks"
// (Hemery, Lecoutre, Sais and Boussemart, ECAI 2006), followed by leaving out each
// member once. Delta debugging ("Simplifying and Isolating Failure-Inducing Input",
// Zeller and Hildebrandt, IEEE TSE 2002) answers the same question in more runs; the
// package's benchmark has it for comparison.
package fewest

import (
	"encoding/binary"
	"slices"
)

// A Result is what was found of n things that break something together.
type Result struct {
	// Set are the numbers of the things, in order. They break it together.
	Set []int
	// Minimal reports whether none of Set can be left out. It is false only if the
	// search was cut.
	Minimal bool
	// Decided is the length of the shortest beginning of all the things that breaks it
	// alone: what follows it does not save the run, and neither does its absence. 0: it
	// breaks without any of them, or the search was cut before it was known.
	Decided int
	// Asked counts the different sets that were asked about.
	Asked int
}

// Find looks for a smallest set of the things 0 to n-1 that breaks something. All of
// them together must break it. ask reports whether a set of them, in order, does; it
// must not keep the slice. If ok is false, the search is cut and returns the smallest
// set that is known to break it. No set is asked about twice.
//
// What breaks need not be monotone: a larger set may break nothing. If it is monotone
// and the set has k members, about k⌈log2 n⌉ + 2k sets are asked about.
func Find(n int, ask func(set []int) (breaks, ok bool)) Result {
	s := newSearch(n, ask)
	s.find(s.best)
	return s.result()
}

// LeaveOut is Find for a set of which it is likely that nothing can be left out: it leaves
// out each of the things once, and each of the rest again after one that could be. If none
// can, it asks about n sets. Decided is 0.
func LeaveOut(n int, ask func(set []int) (breaks, ok bool)) Result {
	s := newSearch(n, ask)
	s.leaveOut(s.best)
	return s.result()
}

// Pick returns the members of all that have the numbers of a [Result].
func Pick[S ~[]E, E any](all S, numbers []int) S {
	picked := make(S, len(numbers))
	for i, n := range numbers {
		picked[i] = all[n]
	}
	return picked
}

func newSearch(n int, ask func([]int) (bool, bool)) *search {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return &search{ask: ask, known: map[string]bool{key(all): true}, best: all}
}

func (s *search) result() Result {
	return Result{Set: s.best, Minimal: !s.cut, Decided: s.decided, Asked: s.asked}
}

type search struct {
	ask     func([]int) (bool, bool)
	known   map[string]bool
	asked   int
	cut     bool
	best    []int // breaks it
	decided int
}

// find shrinks best.
func (s *search) find(rest []int) {
	var found []int // found and rest together break it
	for first := true; !s.breaks(found); first = false {
		if s.cut {
			return
		}
		end := s.shortest(rest, found)
		if s.cut {
			return
		}
		if first {
			s.decided = end
		}
		found, rest = join(found, rest[end-1:end]), rest[:end-1]
	}
	s.leaveOut(found)
}

// shortest is the length of a shortest beginning of rest that breaks it together with
// found. The whole of rest does, and its empty beginning does not.
func (s *search) shortest(rest, found []int) int {
	holds, breaks := 0, len(rest)
	for breaks-holds > 1 {
		middle := (holds + breaks) / 2
		if s.breaks(join(rest[:middle], found)) {
			breaks = middle
		} else {
			holds = middle
		}
		if s.cut {
			break
		}
	}
	return breaks
}

// leaveOut leaves out each member of a set once. What still breaks it replaces the set.
func (s *search) leaveOut(set []int) {
	for i := 0; i < len(set); {
		without := slices.Delete(slices.Clone(set), i, i+1)
		switch {
		case s.breaks(without):
			set, i = without, 0
		case s.cut:
			return
		default:
			i++
		}
	}
}

// breaks reports whether a set breaks it. When the search is cut, it returns false.
func (s *search) breaks(set []int) bool {
	k := key(set)
	breaks, asked := s.known[k]
	if !asked {
		if s.cut {
			return false
		}
		var ok bool
		if breaks, ok = s.ask(slices.Clone(set)); !ok {
			s.cut = true
			return false
		}
		s.asked++
		s.known[k] = breaks
	}
	if breaks && len(set) < len(s.best) {
		s.best = slices.Clone(set)
	}
	return breaks
}

// join returns the numbers of both, in order.
func join(a, b []int) []int {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return all
}

func key(set []int) string {
	b := make([]byte, 0, 2*len(set))
	for _, i := range set {
		b = binary.AppendUvarint(b, uint64(i))
	}
	return string(b)
}
