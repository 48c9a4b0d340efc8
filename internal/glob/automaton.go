package glob

import (
	"math/bits"
	"unicode/utf8"
)

// An automaton has a state for each element of a pattern that takes characters, and the accepting state 0. In a set of
// states, "p is in" means that p may take the next character; that 0 is in means that the name may end here.
//
// It is the position automaton of Glushkov, "The abstract theory of automata" (1961): no empty moves, so that a step is
// a union of precomputed sets.
type automaton struct {
	states []node
	follow []set // follow[p]: the states after p has taken a character
	start  set
	always set // states from which every rest of a name matches
}

// A set has a bit for each state. All sets of an automaton are of one length.
type set []uint64

const maxWords = (maxLength + 1 + 63) / 64

func (s set) add(p int)      { s[p/64] |= 1 << (p % 64) }
func (s set) has(p int) bool { return s[p/64]>>(p%64)&1 != 0 }

func (s set) union(t set) {
	for w := range s {
		s[w] |= t[w]
	}
}

func (s set) meets(t set) bool {
	for w := range s {
		if s[w]&t[w] != 0 {
			return true
		}
	}
	return false
}

func build(root node) *automaton {
	a := &automaton{states: make([]node, 1), follow: make([]set, 1)}
	words := (root.size() + 1 + 63) / 64
	end := make(set, words)
	end.add(0)
	a.always = make(set, words)
	a.start = a.before(&root, end)
	return a
}

// size counts the states that n needs.
func (n *node) size() int {
	if n.kind < sequence {
		return 1
	}
	sum := 0
	for i := range n.parts {
		sum += n.parts[i].size()
	}
	return sum
}

// before adds the states of n and returns those that may take a character when n comes next and the states in rest
// follow. It works from the end of the pattern, where what follows is known.
func (a *automaton) before(n *node, rest set) set {
	switch n.kind {
	case sequence:
		for i := len(n.parts) - 1; i >= 0; i-- {
			rest = a.before(&n.parts[i], rest)
		}
		return rest
	case alternatives:
		first := make(set, len(rest))
		for i := range n.parts {
			first.union(a.before(&n.parts[i], rest))
		}
		return first
	}
	p := len(a.states)
	first := make(set, len(rest))
	first.add(p)
	follow := rest
	if n.kind == star {
		first.union(rest)
		follow = first
		if rest.has(0) {
			a.always.add(p)
		}
	}
	a.states = append(a.states, *n)
	a.follow = append(a.follow, follow)
	return first
}

// wrongByte stands for a byte of a name that is no character; no pattern can contain it.
const wrongByte rune = -1

func (a *automaton) match(name string) bool {
	var buffers [2][maxWords]uint64
	current, next := a.start, set(buffers[0][:len(a.start)])
	spare := set(buffers[1][:len(a.start)])
	for len(name) > 0 {
		if current.meets(a.always) {
			return true
		}
		r, size := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && size == 1 {
			r = wrongByte
		}
		name = name[size:]
		if !a.step(next, current, r) {
			return false
		}
		current, next, spare = next, spare, next
	}
	return current.has(0)
}

// step puts into next the states that follow those in current that take r, and reports whether there are any.
func (a *automaton) step(next, current set, r rune) bool {
	clear(next)
	alive := false
	for w, bitset := range current {
		for ; bitset != 0; bitset &= bitset - 1 {
			p := w*64 + bits.TrailingZeros64(bitset)
			if p != 0 && a.states[p].takes(r) {
				next.union(a.follow[p])
				alive = true
			}
		}
	}
	return alive
}
