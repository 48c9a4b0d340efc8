package glob

import (
	"slices"
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
