package jsonpath

import (
	"maps"
	"slices"
	"strings"
)

// A segment takes one step down, or, where it is deep, that step from every value below.
type segment struct {
	deep      bool
	selectors []selector
}

// A selector picks among the children of a value. One that does not fit the value picks none.
type selector interface {
	pick(v any, found func(key, child any))
}

// Find returns the values of doc that the path names, parents before their children.
func (p *Path) Find(doc any) []Match {
	matches := []Match{{Value: doc}}
	for _, s := range p.segments {
		if s.deep {
			matches = topmost(matches)
		}
		var next []Match
		for _, m := range matches {
			s.step(m, &next)
		}
		if len(s.selectors) > 1 {
			next = distinct(next)
		}
		matches = next
	}
	return matches
}

// topmost leaves out what lies below another match: a step to any depth gets there anyway. Without it a path such as
// $..a..a..a would find one value in a number of ways beyond counting.
func topmost(matches []Match) []Match {
	starts := make(map[string]bool, len(matches))
	for _, m := range matches {
		starts[m.Location()] = true
	}
	return slices.DeleteFunc(matches, func(m Match) bool {
		var b strings.Builder
		b.WriteByte('$')
		for _, key := range m.Keys {
			if starts[b.String()] {
				return true
			}
			writeKey(&b, key)
		}
		return false
	})
}

// distinct leaves out what was found before.
func distinct(matches []Match) []Match {
	seen := make(map[string]bool, len(matches))
	return slices.DeleteFunc(matches, func(m Match) bool {
		at := m.Location()
		again := seen[at]
		seen[at] = true
		return again
	})
}

func (s segment) step(from Match, to *[]Match) {
	if leaf(from.Value) {
		return
	}
	for _, sel := range s.selectors {
		sel.pick(from.Value, func(key, child any) { *to = append(*to, from.below(key, child)) })
	}
	if s.deep {
		keys := from.Keys
		if len(keys) == cap(keys) {
			keys = slices.Grow(keys, 8) // which children share: what is found copies its keys
		}
		all{}.pick(from.Value, func(key, child any) { s.step(Match{Keys: append(keys, key), Value: child}, to) })
	}
}

// below is the match of a child. The keys are copied: siblings must not share what they append to.
func (m Match) below(key, child any) Match {
	return Match{Keys: append(slices.Clip(m.Keys), key), Value: child}
}

type member string

func (name member) pick(v any, found func(key, child any)) {
	object, _ := v.(map[string]any)
	if child, ok := object[string(name)]; ok {
		found(string(name), child)
	}
}

type element int

func (i element) pick(v any, found func(key, child any)) {
	list := elementsOf(v)
	at := int(i)
	if at < 0 {
		at += len(list)
	}
	if at >= 0 && at < len(list) {
		found(at, list[at])
	}
}

type all struct{}

func (all) pick(v any, found func(key, child any)) {
	object, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		found(name, object[name])
	}
	for i, child := range elementsOf(v) {
		found(i, child)
	}
}

// span is a slice from one element to before another; a nil bound is the end on its side.
type span struct{ from, to *int }

func (s span) pick(v any, found func(key, child any)) {
	list := elementsOf(v)
	for i := bound(s.from, 0, len(list)); i < bound(s.to, len(list), len(list)); i++ {
		found(i, list[i])
	}
}

func bound(i *int, otherwise, length int) int {
	switch {
	case i == nil:
		return otherwise
	case *i < 0:
		return max(0, *i+length)
	}
	return min(*i, length)
}

func elementsOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// leaf reports whether a value has no children.
func leaf(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
