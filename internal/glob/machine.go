package glob

import (
	"iter"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// machine returns the automaton of a glob, and builds one for a literal.
func machine(g *Glob) *automaton {
	if g.auto != nil {
		return g.auto
	}
	root := node{kind: sequence}
	for _, r := range g.literal {
		root.parts = append(root.parts, node{char: r})
	}
	return build(root)
}

// accepts reports, per state, which letters it accepts.
func (a *automaton) accepts(letters []rune) []set {
	accepts := make([]set, len(a.states))
	for p := range a.states {
		accepts[p] = make(set, (len(letters)+63)/64)
		for i, r := range letters {
			if p != 0 && a.states[p].takes(r) {
				accepts[p].add(i)
			}
		}
	}
	return accepts
}

// letters returns one character for every way in which the states of the automata can tell characters apart: those at
// which a class or a single character begins, or has just ended.
func letters(automata ...*automaton) []rune {
	all := []rune{wrongByte, 0, surrogatesEnd}
	for _, a := range automata {
		for _, n := range a.states[1:] {
			if n.kind == char {
				all = append(all, n.char, n.char+1)
			}
			for _, s := range n.class {
				all = append(all, s.low, s.high+1)
			}
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(r rune) bool { return r != wrongByte && !utf8.ValidRune(r) })
}

// surrogatesEnd is the first character after the surrogates, which no name can have.
const surrogatesEnd = '\uE000'

// Begins reports whether some name matches that starts with prefix and continues without a space; the prefix itself
// counts as one. prefix must end between characters. Begins may report true although only a class that accepts nothing
// but a space stands in the way. It is not for hot paths.
func (g *Glob) Begins(prefix string) bool {
	if g.auto == nil {
		rest, ok := strings.CutPrefix(g.literal, prefix)
		return ok && !strings.Contains(rest, " ")
	}
	return g.auto.reaches(g.auto.after(prefix))
}

// after is the set of states once prefix has been taken; it may be empty.
func (a *automaton) after(prefix string) set {
	current, next := append(set(nil), a.start...), make(set, len(a.start))
	for len(prefix) > 0 {
		r, size := utf8.DecodeRuneInString(prefix)
		if r == utf8.RuneError && size == 1 {
			r = wrongByte
		}
		prefix = prefix[size:]
		a.step(next, current, r)
		current, next = next, current
	}
	return current
}

// reaches reports whether the accepting state can be reached from those in live without a space.
func (a *automaton) reaches(live set) bool {
	for grown := true; grown; {
		grown = false
		for p := range live.all() {
			if p == 0 || a.states[p].kind == char && a.states[p].char == ' ' {
				continue
			}
			for i, word := range a.follow[p] {
				grown = grown || word&^live[i] != 0
				live[i] |= word
			}
		}
	}
	return live.has(0)
}

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
