package glob

import (
	"strings"
	"unicode/utf8"
)

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
