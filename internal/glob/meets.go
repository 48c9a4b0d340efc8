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
