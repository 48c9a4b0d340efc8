// Package glob matches the names of injection points against patterns.
//
//	?        one character
//	*        any run of characters, an empty one and '/' and '.' included
//	{a,b*}   one of the alternatives, which are patterns themselves, nested ones too, and may be empty
//	\x       the character x itself, whatever it is
//
// The whole name has to match, case included: orders.{get,list*} matches orders.get and orders.list_open, and neither
// orders.getter nor Orders.get. A comma outside braces stands for itself. Empty braces and an empty pattern are
// refused, because they are usually mistakes, and so are the brackets of classes, which other globs have.
//
// A pattern becomes a program of about one step a character. A name runs through it once, with all the steps that it
// may have come to side by side in a bit set. For n characters of name and m of pattern that is at worst
// O(n·m·(1+m/64)) machine steps: nothing backtracks, and alternatives are not multiplied out. Match does not allocate.
package glob

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxLength is how many bytes a pattern may have. It bounds the program, and so the stack that Match needs.
const maxLength = 1023

// A Glob is a compiled pattern. It does not change and is safe for concurrent use. The zero value matches the empty
// name alone; Compile makes all others.
type Glob struct {
	pattern string
	steps   program // nil: it matches pattern
}

// Compile reads a pattern. Its error is a *SyntaxError.
func Compile(pattern string) (*Glob, error) {
	if pattern != "" && len(pattern) <= maxLength && utf8.ValidString(pattern) && !strings.ContainsAny(pattern, `?*[]{}\`) {
		return &Glob{pattern: pattern}, nil // most are names, of which parse would make a program
	}
	steps, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	return &Glob{pattern: pattern, steps: steps}, nil
}

// Literal returns a pattern that matches name and nothing else.
func Literal(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if strings.IndexByte(`*?[]{},\`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// String returns the pattern as Compile got it.
func (g *Glob) String() string { return g.pattern }

// Match reports whether all of name matches. In a name that is not valid UTF-8 each wrong byte is a character of its
// own, which only * and ? take.
func (g *Glob) Match(name string) bool {
	if g.steps == nil {
		return name == g.pattern
	}
	var sets [2][maxWords]uint64
	words := g.steps.words()
	return g.steps.after(name, sets[0][:words], sets[1][:words]).has(len(g.steps) - 1)
}

// program returns the steps of a glob, also of a literal.
func (g *Glob) program() program {
	if g.steps != nil {
		return g.steps
	}
	p := parser{pattern: Literal(g.pattern)}
	_ = p.sequence(false) // a literal has no errors
	return p.program()
}

// Begins reports whether some name matches that starts with prefix and continues without a space; the prefix itself
// counts as one. prefix must end between characters. It is not for hot paths.
func (g *Glob) Begins(prefix string) bool {
	steps := g.program()
	live := steps.after(prefix, make(set, steps.words()), make(set, steps.words()))
	for grown := true; grown; {
		grown = false
		for at, s := range steps {
			if s.kind == take && s.char != ' ' && live.has(at) && !live.has(s.next) {
				live.add(s.then)
				grown = true
			}
		}
	}
	return live.has(len(steps) - 1)
}

// Meets reports whether some name matches both globs. It tries each pair of their steps once.
func Meets(a, b *Glob) bool {
	x, y := a.program(), b.program()
	seen := make([]bool, len(x)*len(y))
	todo := [][2]int{{0, 0}}
	for len(todo) > 0 {
		p, q := todo[len(todo)-1][0], todo[len(todo)-1][1]
		todo = todo[:len(todo)-1]
		if seen[p*len(y)+q] {
			continue
		}
		seen[p*len(y)+q] = true
		switch s, t := &x[p], &y[q]; {
		case s.kind == fork:
			todo = append(todo, [2]int{s.next, q}, [2]int{s.other, q})
		case t.kind == fork:
			todo = append(todo, [2]int{p, t.next}, [2]int{p, t.other})
		case s.kind == accept && t.kind == accept:
			return true
		case s.kind == take && t.kind == take && (s.char == anything || t.char == anything || s.char == t.char):
			todo = append(todo, [2]int{s.next, t.next})
		}
	}
	return false
}

// A SyntaxError says why a pattern was refused.
type SyntaxError struct {
	Pattern string
	Offset  int    // in bytes, of the element at fault
	Reason  string // what is wrong and what is allowed instead
}

// Error names the pattern, the offset and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("glob: pattern %q, offset %d: %s", e.Pattern, e.Offset, e.Reason)
}

const (
	reasonEmpty      = "empty; use * to match every name"
	reasonLong       = "longer than 1023 bytes, the most that is allowed"
	reasonUTF8       = "invalid UTF-8; a pattern is UTF-8 text"
	reasonEscape     = `nothing after \; write \\ for the character itself`
	reasonGroup      = `alternatives without an end; close them with }, or write \{ for the character itself`
	reasonEmptyGroup = `no alternatives between { and }; name some, as in {a,b}, and write \{\} for the characters themselves`
	reasonBrace      = `} without a { before it; write \} for the character itself`
	reasonBracket    = `classes are not known; write {a,b} for alternatives, and \[ or \] for the character itself`
)
