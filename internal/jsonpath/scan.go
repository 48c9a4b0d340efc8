package jsonpath

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

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

func (s *scanner) rest() string { return s.text[s.at:] }

func (s *scanner) done() bool { return s.at == len(s.text) }

// next is the byte that comes next, 0 at the end.
func (s *scanner) next() byte {
	if s.done() {
		return 0
	}
	return s.text[s.at]
}

func (s *scanner) space() {
	for !s.done() && strings.IndexByte(" \t\r\n", s.next()) >= 0 {
		s.at++
	}
}

// take reads the token if it comes next.
func (s *scanner) take(token string) bool {
	if !strings.HasPrefix(s.rest(), token) {
		return false
	}
	s.at += len(token)
	return true
}

// takeWord reads the word if it comes next and ends there.
func (s *scanner) takeWord(word string) bool {
	if !strings.HasPrefix(s.rest(), word) || len(s.rest()) > len(word) && inName(rune(s.rest()[len(word)])) {
		return false
	}
	s.at += len(word)
	return true
}

func (s *scanner) want(token string) {
	if !s.take(token) {
		s.fail("want " + token)
	}
}

// name reads an unquoted name.
func (s *scanner) name() string {
	start := s.at
	for !s.done() {
		r, size := utf8.DecodeRuneInString(s.rest())
		if r == utf8.RuneError && size == 1 {
			s.fail("the path is not UTF-8")
		}
		if !inName(r) {
			break
		}
		s.at += size
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
	s.at++
	var b strings.Builder
	for {
		switch c := s.next(); {
		case s.done():
			s.failAt(start, "the string does not end")
		case c == quote:
			s.at++
			if !utf8.ValidString(b.String()) {
				s.failAt(start, "the string is not UTF-8")
			}
			return b.String()
		case c == '\\':
			s.at++
			if s.done() {
				s.failAt(start, "the string does not end")
			}
			fallthrough
		default:
			b.WriteByte(s.next())
			s.at++
		}
	}
}

// index reads a whole number, negative or not.
func (s *scanner) index() int {
	start := s.at
	s.take("-")
	for '0' <= s.next() && s.next() <= '9' {
		s.at++
	}
	n, err := strconv.Atoi(s.text[start:s.at])
	if err != nil {
		s.failAt(start, "want an index; "+s.text[start:s.at]+" is none")
	}
	return n
}
