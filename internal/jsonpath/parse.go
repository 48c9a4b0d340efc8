package jsonpath

import "strings"

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
	p = &Path{text: text, segments: s.segments()}
	if !s.done() {
		s.fail("want . or [ or the end")
	}
	return p, nil
}

func (s *scanner) segments() []segment {
	var segments []segment
	for {
		switch {
		case s.take(".."):
			if s.next() == '[' {
				segments = append(segments, segment{deep: true, selectors: s.brackets()})
			} else {
				segments = append(segments, segment{deep: true, selectors: []selector{s.dotted()}})
			}
		case s.take("."):
			segments = append(segments, segment{selectors: []selector{s.dotted()}})
		case s.next() == '[':
			segments = append(segments, segment{selectors: s.brackets()})
		default:
			return segments
		}
	}
}

func (s *scanner) dotted() selector {
	if s.take("*") {
		return all{}
	}
	return member(s.name())
}

func (s *scanner) brackets() []selector {
	s.want("[")
	var selectors []selector
	for {
		s.space()
		selectors = append(selectors, s.selector())
		s.space()
		if !s.take(",") {
			s.want("]")
			return selectors
		}
	}
}

func (s *scanner) selector() selector {
	switch c := s.next(); {
	case c == '*':
		s.at++
		return all{}
	case c == '\'' || c == '"':
		return member(s.quoted())
	case c == '?':
		s.at++
		return filter{s.condition()}
	case c == ':' || c == '-' || '0' <= c && c <= '9':
		return s.elements()
	}
	s.fail("want a quoted name, an index, a slice, * or a filter ?(…)")
	return nil
}

// elements reads an index or a slice.
func (s *scanner) elements() selector {
	var from, to *int
	if s.next() != ':' {
		i := s.index()
		s.space()
		if s.next() != ':' {
			return element(i)
		}
		from = &i
	}
	s.want(":")
	s.space()
	if c := s.next(); c == '-' || '0' <= c && c <= '9' {
		i := s.index()
		to = &i
		s.space()
	}
	if s.next() == ':' {
		s.fail("slices with a step are not supported")
	}
	return span{from, to}
}
