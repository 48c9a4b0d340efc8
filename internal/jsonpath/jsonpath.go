// Package jsonpath finds the values of a JSON document that a path names.
//
//	p, err := jsonpath.Parse("$.items[?(@.status=='ok')].name")
//	for _, m := range p.Find(doc) {
//		fmt.Println(m.Location(), m.Value)
//	}
//
// It is the part of RFC 9535 that tolerances and faults need:
//
//	$                       the document
//	.name  ['name']         a member; names and strings may be quoted with ' or "
//	[2]  [-1]               an element, from the front or from the back
//	[1:3]  [:-1]            elements from the first to before the second
//	[*]  .*                 all of them
//	['a','b']  [0,2]        several, in this order
//	..name  ..*  ..[0]      at any depth
//	[?(@.a.b == 'x')]       those for which a condition holds
//
// A condition compares a path from the candidate (@) with a string, a number, true, false or null. The operators are
// ==, !=, <, <=, > and >=. A path alone is a condition that holds if it finds something. Conditions are joined by && and
// ||, negated by ! and grouped by parentheses. Paths in conditions have only members and single elements.
//
// Everything else, such as slices with a step, functions and arithmetic, is an [*Error] with its position.
//
// A document is what encoding/json decodes into an any, with or without UseNumber. Members are taken in the order of
// their names, and a value is found once, however many ways lead to it. A path is immutable and safe for concurrent
// use.
//
// Finding takes time linear in the document for each step of the path. For each match it also takes time and memory for
// its location, which has as many keys as the match is deep. So a step to any depth (..) in a document that is nothing
// but nesting costs the square of its depth.
package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
)

// A Path is a parsed path.
type Path struct {
	text     string
	segments []segment
}

// String returns the text that was parsed.
func (p *Path) String() string { return p.text }

// A Match is one value that a path found.
type Match struct {
	Keys  []any // where it stands below the document: a string for a member, an int for an element
	Value any
}

// Location writes the place of the match as a path that finds it alone, such as $['items'][0].
func (m Match) Location() string {
	var b strings.Builder
	b.WriteByte('$')
	for _, key := range m.Keys {
		writeKey(&b, key)
	}
	return b.String()
}

var escape = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

func writeKey(b *strings.Builder, key any) {
	switch key := key.(type) {
	case string:
		b.WriteString("['" + escape.Replace(key) + "']")
	case int:
		b.WriteString("[" + strconv.Itoa(key) + "]")
	}
}

// An Error says what is wrong with the text of a path.
type Error struct {
	Path   string // the text
	Offset int    // in bytes
	Reason string
}

// Error names the path, the place and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("jsonpath: %q at offset %d: %s", e.Path, e.Offset, e.Reason)
}

// Keys returns the names and elements of a path that has nothing else and so names at most one value: strings, and ints
// that count from the back where they are negative.
func (p *Path) Keys() (keys []any, ok bool) {
	for _, s := range p.segments {
		if !s.single() {
			return nil, false
		}
		switch sel := s.selectors[0].(type) {
		case member:
			keys = append(keys, string(sel))
		case element:
			keys = append(keys, int(sel))
		}
	}
	return keys, true
}
