package glob

import (
	"iter"
	"math/bits"
)

// Meets reports whether some name matches both globs.
func Meets(a, b *Glob) bool {
	x, y := machine(a), machine(b)
	alphabet := letters(x, y)
	xs, ys := x.accepts(alphabet), y.accepts(alphabet)
	seen := make([]set, len(x.states))
	var todo [][2]int
	reach := func(ps, qs set) (end bool) {
		for p := range ps.all() {
			if seen[p] == nil {
				seen[p] = make(set, len(y.start))
			}
			for q := range qs.all() {
				if !seen[p].has(q) {
					seen[p].add(q)
					todo = append(todo, [2]int{p, q})
				}
			}
		}
		return ps.has(0) && qs.has(0)
	}
	if reach(x.start, y.start) {
		return true
	}
	for len(todo) > 0 {
		p, q := todo[len(todo)-1][0], todo[len(todo)-1][1]
		todo = todo[:len(todo)-1]
		if p != 0 && q != 0 && xs[p].meets(ys[q]) && reach(x.follow[p], y.follow[q]) {
			return true
		}
	}
	return false
}

// maxSteps bounds the search of Covers, which is exponential in the pattern of a at worst.
const maxSteps = 1 << 12

// Covers reports whether a matches every name that b matches. It answers false for a pattern that would take too long,
// which only a pattern made for that does.
func Covers(a, b *Glob) bool {
	x, y := machine(a), machine(b)
	alphabet := letters(x, y)
	type position struct {
		state int    // of b
		set   string // the states of a
	}
	seen := make(map[position]bool)
	type step struct {
		state int
		set   set
	}
	var todo []step
	reach := func(qs, ps set) (covered bool) {
		if qs.has(0) && !ps.has(0) {
			return false
		}
		if ps.meets(x.always) {
			return true
		}
		key := ps.key()
		for q := range qs.all() {
			at := position{q, key}
			if q == 0 || seen[at] {
				continue
			}
			seen[at] = true
			todo = append(todo, step{q, ps})
		}
		return len(seen) <= maxSteps
	}
	if !reach(y.start, x.start) {
		return false
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, r := range alphabet {
			if !y.states[s.state].takes(r) {
				continue
			}
			next := make(set, len(x.start))
			x.step(next, s.set, r)
			if !reach(y.follow[s.state], next) {
				return false
			}
		}
	}
	return true
}

// all ranges over the states in a set.
func (s set) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(w*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// key is a set as the key of a map.
func (s set) key() string {
	b := make([]byte, 0, 8*len(s))
	for _, word := range s {
		for shift := 0; shift < 64; shift += 8 {
			b = append(b, byte(word>>shift))
		}
	}
	return string(b)
}
