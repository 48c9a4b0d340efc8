package jsonpath

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// A condition reports whether a candidate is selected.
type condition func(candidate any) bool

// filter picks the children for which a condition holds.
type filter struct{ holds condition }

func (f filter) pick(v any, found func(key, child any)) {
	all{}.pick(v, func(key, child any) {
		if f.holds(child) {
			found(key, child)
		}
	})
}

// condition reads "or" over "and" over single comparisons.
func (s *scanner) condition() condition {
	c := s.conjunction()
	for s.space(); s.take("||"); s.space() {
		left, right := c, s.conjunction()
		c = func(v any) bool { return left(v) || right(v) }
	}
	return c
}

func (s *scanner) conjunction() condition {
	c := s.term()
	for s.space(); s.take("&&"); s.space() {
		left, right := c, s.term()
		c = func(v any) bool { return left(v) && right(v) }
	}
	return c
}

func (s *scanner) term() condition {
	s.space()
	switch {
	case s.take("!"):
		inner := s.term()
		return func(v any) bool { return !inner(v) }
	case s.take("("):
		inner := s.condition()
		s.space()
		s.want(")")
		return inner
	}
	return s.comparison()
}

// comparison reads a path from the candidate, alone or compared with a literal.
func (s *scanner) comparison() condition {
	if !s.take("@") {
		s.fail("want a path that begins with @")
	}
	start := s.at
	segments := s.segments()
	for _, seg := range segments {
		if !seg.single() {
			s.failAt(start, "a path in a condition has only members and single elements")
		}
	}
	find := (&Path{segments: segments}).Find
	s.space()
	holds, ok := s.operator()
	if !ok {
		return func(v any) bool { return len(find(v)) > 0 }
	}
	s.space()
	literal := s.literal()
	return func(v any) bool {
		found := find(v)
		return len(found) > 0 && holds(found[0].Value, literal)
	}
}

func (s segment) single() bool {
	if s.deep || len(s.selectors) != 1 {
		return false
	}
	switch s.selectors[0].(type) {
	case member, element:
		return true
	}
	return false
}

func (s *scanner) operator() (holds func(a, b any) bool, ok bool) {
	ordered := func(fits func(order int) bool) func(a, b any) bool {
		return func(a, b any) bool {
			order, ok := compare(a, b)
			return ok && fits(order)
		}
	}
	switch {
	case s.take("=="):
		return equal, true
	case s.take("!="):
		return func(a, b any) bool { return !equal(a, b) }, true
	case s.take("<="):
		return ordered(func(o int) bool { return o <= 0 }), true
	case s.take(">="):
		return ordered(func(o int) bool { return o >= 0 }), true
	case s.take("<"):
		return ordered(func(o int) bool { return o < 0 }), true
	case s.take(">"):
		return ordered(func(o int) bool { return o > 0 }), true
	}
	return nil, false
}

func (s *scanner) literal() any {
	switch c := s.next(); {
	case c == '\'' || c == '"':
		return s.quoted()
	case s.takeWord("true"):
		return true
	case s.takeWord("false"):
		return false
	case s.takeWord("null"):
		return nil
	}
	start := s.at
	for !s.done() && strings.IndexByte("+-.0123456789eE", s.next()) >= 0 {
		s.at++
	}
	n, err := strconv.ParseFloat(s.text[start:s.at], 64)
	if err != nil {
		s.failAt(start, "want a string, a number, true, false or null")
	}
	return n
}

// equal holds for two values that compare as equal, and for the same true, false or null.
func equal(a, b any) bool {
	if order, ok := compare(a, b); ok {
		return order == 0
	}
	switch a.(type) {
	case bool, nil:
		return a == b
	}
	return false
}

// compare orders numbers and strings among themselves.
func compare(a, b any) (order int, ok bool) {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return cmp.Compare(x, y), ok
	}
	x, isText := a.(string)
	y, isToo := b.(string)
	return cmp.Compare(x, y), isText && isToo
}

func number(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}
