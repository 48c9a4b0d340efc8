package jsonpath

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// maxLength keeps what a path can cost in stack and time small; no path in use is near it.
const maxLength = 4096

// Parse reads a path. White space around it is allowed. The error is an [*Error].
func Parse(text string) (p *Path, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *Error:
			p, err = nil, v
		default:
			panic(v)
		}
	}()
	s := &scanner{text: strings.TrimSpace(text)}
	if len(s.text) > maxLength {
		s.fail("the path is too long")
	}
	s.want("$")
	p = &Path{segments: s.segments()}
	if s.at < len(s.text) {
		s.fail("want . or [ or the end")
	}
	return p, nil
}

// scanner reads the text from the front. Its methods that may fail panic with an *Error, which Parse recovers: a
// grammar reads better without a check behind every token.
type scanner struct {
	text string
	at   int
}

func (s *scanner) fail(reason string) { s.failAt(s.at, reason) }

func (s *scanner) failAt(offset int, reason string) {
	panic(&Error{Path: s.text, Offset: offset, Reason: reason})
}

// next is the byte that comes next, 0 at the end.
func (s *scanner) next() byte {
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// nextIn reports whether one of the bytes comes next.
func (s *scanner) nextIn(bytes string) bool {
	return s.at < len(s.text) && strings.IndexByte(bytes, s.next()) >= 0
}

// run reads bytes of a set.
func (s *scanner) run(set string) string {
	start := s.at
	for s.nextIn(set) {
		s.at++
	}
	return s.text[start:s.at]
}

// skip reads the token if it comes next.
func (s *scanner) skip(token string) bool {
	found := strings.HasPrefix(s.text[s.at:], token)
	if found {
		s.at += len(token)
	}
	return found
}

// take reads the token if it comes next, perhaps behind white space.
func (s *scanner) take(token string) bool {
	start := s.at
	if s.space(); s.skip(token) {
		return true
	}
	s.at = start
	return false
}

func (s *scanner) space() { s.run(" \t\r\n") }

func (s *scanner) want(token string) {
	if !s.take(token) {
		s.space()
		s.fail("want " + token)
	}
}

func (s *scanner) segments() (segments []segment) {
	for s.nextIn(".[") {
		var seg segment
		deep := s.skip("..")
		if s.skip("[") {
			seg = s.selector()
			s.want("]")
		} else {
			if !deep {
				s.skip(".")
			}
			seg = s.dotted()
		}
		if deep {
			seg.deep, seg.single = true, false
		}
		segments = append(segments, seg)
	}
	return segments
}

func (s *scanner) dotted() segment {
	if s.skip("*") {
		return segment{pick: those(anything)}
	}
	return segment{single: true, pick: member(s.name())}
}

// selector reads what stands behind an opening bracket.
func (s *scanner) selector() segment {
	s.space()
	switch {
	case s.take("*"):
		return segment{pick: those(anything)}
	case s.nextIn(`'"`):
		return segment{single: true, pick: member(s.quoted())}
	case s.take("?"):
		return segment{pick: those(s.condition())}
	}
	start := s.at
	index, err := strconv.Atoi(s.run("-0123456789"))
	if err != nil {
		s.failAt(start, "want a quoted name, an index, * or a filter ?(…)")
	}
	return segment{single: true, pick: element(index)}
}

// name reads an unquoted name.
func (s *scanner) name() string {
	start := s.at
	for i, r := range s.text[start:] {
		if r == utf8.RuneError && !strings.HasPrefix(s.text[start+i:], "\uFFFD") {
			s.failAt(start+i, "the path is not UTF-8")
		}
		if !inName(r) {
			break
		}
		s.at = start + i + utf8.RuneLen(r)
	}
	if s.at == start {
		s.fail("want a name; names with other characters than letters, digits, _ and - are written ['name']")
	}
	return s.text[start:s.at]
}

func inName(r rune) bool {
	return r == '_' || r == '-' || r >= 0x80 || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// quoted reads a string in single or double quotes; a backslash takes the next character as it is.
func (s *scanner) quoted() string {
	start, quote := s.at, s.next()
	var text []byte
	for s.at++; s.at < len(s.text); s.at++ {
		c := s.text[s.at]
		switch {
		case c == quote:
			s.at++
			if !utf8.Valid(text) {
				s.failAt(start, "the string is not UTF-8")
			}
			return string(text)
		case c == '\\' && s.at+1 < len(s.text):
			s.at++
			c = s.text[s.at]
		}
		text = append(text, c)
	}
	s.failAt(start, "the string does not end")
	return ""
}

// A condition reports whether node i is selected.
type condition func(d *jsonedit.Doc, i int) bool

// condition reads "or" over "and" over single comparisons.
func (s *scanner) condition() condition {
	c := s.conjunction()
	for s.take("||") {
		left, right := c, s.conjunction()
		c = func(d *jsonedit.Doc, i int) bool { return left(d, i) || right(d, i) }
	}
	return c
}

func (s *scanner) conjunction() condition {
	c := s.term()
	for s.take("&&") {
		left, right := c, s.term()
		c = func(d *jsonedit.Doc, i int) bool { return left(d, i) && right(d, i) }
	}
	return c
}

func (s *scanner) term() condition {
	switch {
	case s.take("!"):
		inner := s.term()
		return func(d *jsonedit.Doc, i int) bool { return !inner(d, i) }
	case s.take("("):
		inner := s.condition()
		s.want(")")
		return inner
	}
	return s.comparison()
}

// comparison reads a path from the candidate, alone or compared with a literal.
func (s *scanner) comparison() condition {
	if !s.take("@") {
		s.space()
		s.fail("want a path that begins with @")
	}
	start := s.at
	path := &Path{segments: s.segments()}
	for _, seg := range path.segments {
		if !seg.single {
			s.failAt(start, "a path in a condition has only members and single elements")
		}
	}
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if s.take(op) {
			compare := s.literal()
			return func(d *jsonedit.Doc, i int) bool {
				found := path.below(d, i)
				if len(found) == 0 {
					return false
				}
				order, ok := compare(d, found[0])
				return holds(op, order, ok)
			}
		}
	}
	return func(d *jsonedit.Doc, i int) bool { return len(path.below(d, i)) > 0 }
}

// holds reports whether an operator holds for two values in that order; ok is false if they have none.
func holds(op string, order int, ok bool) bool {
	switch op {
	case "==":
		return ok && order == 0
	case "!=":
		return !ok || order != 0
	case "<=":
		return ok && order <= 0
	case ">=":
		return ok && order >= 0
	case "<":
		return ok && order < 0
	}
	return ok && order > 0
}

// literal reads a literal and returns what compares a node with it: numbers and strings among themselves, and true,
// false and null with the same word.
func (s *scanner) literal() func(d *jsonedit.Doc, i int) (order int, ok bool) {
	s.space()
	start := s.at
	if s.nextIn(`'"`) {
		text := s.quoted()
		return func(d *jsonedit.Doc, i int) (int, bool) {
			return cmp.Compare(d.String(i), text), d.Kind(i) == jsonedit.String
		}
	}
	if word := s.run("abcdefghijklmnopqrstuvwxyz"); word == "true" || word == "false" || word == "null" {
		return func(d *jsonedit.Doc, i int) (int, bool) { return 0, string(d.Raw(i)) == word }
	}
	s.at = start
	number, err := strconv.ParseFloat(s.run("+-.0123456789eE"), 64)
	if err != nil {
		s.failAt(start, "want a string, a number, true, false or null")
	}
	return func(d *jsonedit.Doc, i int) (int, bool) {
		n, err := strconv.ParseFloat(string(d.Raw(i)), 64)
		return cmp.Compare(n, number), err == nil && d.Kind(i) == jsonedit.Number
	}
}
