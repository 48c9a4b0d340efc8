package glob

import (
	"math/bits"
	"unicode/utf8"
)

// A program is what a pattern does, from step 0 to its last one, which accepts.
type program []step

// A step takes a character and goes on at next, or goes on at next and at other without one.
type step struct {
	kind        kind
	char        rune // that it takes, or anything
	next, other int
	then        set  // next, and where that leads without a character
	rest        bool // it takes every rest of a name, and each may be the last
}

type kind uint8

const (
	take kind = iota
	fork
	accept
)

// anything stands for all characters in a step. wrongByte is a byte of a name that is no character; no pattern can
// contain it.
const anything, wrongByte rune = -2, -1

// maxWords is the size of a set: a byte of a pattern makes up to two steps.
const maxWords = (2*maxLength+1)/64 + 1

// A set has a bit for each step of a program.
type set []uint64

func (s set) has(at int) bool { return s[at/64]>>(at%64)&1 != 0 }

func (s set) add(t set) {
	for w, word := range t {
		s[w] |= word
	}
}

func (p program) words() int { return len(p)/64 + 1 }

// after returns the steps that a name leads to, or that a part of it does if every rest matches from there. It uses two
// empty sets, one of which it returns.
func (p program) after(name string, current, next set) set {
	p.reach(current, 0)
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && size == 1 {
			r = wrongByte
		}
		name = name[size:]
		clear(next)
		alive := false
		for w, word := range current {
			for ; word != 0; word &= word - 1 {
				s := &p[w*64+bits.TrailingZeros64(word)]
				if s.rest {
					return current
				}
				if s.kind == take && (s.char == r || s.char == anything) {
					next.add(s.then)
					alive = true
				}
			}
		}
		if current, next = next, current; !alive {
			break
		}
	}
	return current
}

// reach adds a step to a set, and those that it goes on at without a character.
func (p program) reach(in set, at int) {
	if in.has(at) {
		return
	}
	in[at/64] |= 1 << (at % 64)
	if s := &p[at]; s.kind == fork {
		p.reach(in, s.next)
		p.reach(in, s.other)
	}
}
