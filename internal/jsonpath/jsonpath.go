// Package jsonpath finds the values of a JSON document that a path names.
//
//	p, err := jsonpath.Parse("$.items[?(@.status=='ok')].name")
//	for _, i := range p.Find(doc) {
//		fmt.Println(doc.Path(i), doc.Raw(i))
//	}
//
// It is the part of RFC 9535 that tolerances and faults need:
//
//	$                       the document
//	.name  ['name']         a member; names and strings may be quoted with ' or "
//	[2]  [-1]               an element, from the front or from the back
//	[*]  .*                 all of them
//	..name  ..*  ..[0]      at any depth
//	[?(@.a.b == 'x')]       those for which a condition holds
//
// A condition compares a path from the candidate (@) with a string, a number, true, false or null. The operators are
// ==, !=, <, <=, > and >=. A path alone is a condition that holds if it finds something. Conditions are joined by &&
// and ||, negated by ! and grouped by parentheses. Paths in conditions have only members and single elements.
//
// Everything else, such as slices, several selectors in one pair of brackets, functions and arithmetic, is an [*Error]
// with its position.
//
// A value is found once, however many ways lead to it. Finding takes time linear in the document for each step of the
// path. A path is immutable and safe for concurrent use.
package jsonpath

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// A Path is a parsed path.
type Path struct{ segments []segment }

// A segment takes one step down, or, where it is deep, that step from every value below.
type segment struct {
	deep, single bool // single: it finds at most one value below another
	pick         selector
}

// A selector calls found with the nodes that it picks among those directly below another.
type selector func(d *jsonedit.Doc, node int, found func(child int))

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

// Find returns the nodes of a document that the path names, parents before what is below them.
func (p *Path) Find(d *jsonedit.Doc) []int { return p.below(d, 0) }

func (p *Path) below(d *jsonedit.Doc, node int) []int {
	nodes := []int{node}
	for _, s := range p.segments {
		if s.deep {
			nodes = topmost(d, nodes)
		}
		var next []int
		found := func(child int) { next = append(next, child) }
		for _, from := range nodes {
			end := from + 1
			if s.deep {
				end = int(d.Nodes[from].Next)
			}
			for i := from; i < end; i++ {
				s.pick(d, i, found)
			}
		}
		nodes = next
	}
	return nodes
}

// topmost leaves out what lies below another node: a step to any depth gets there anyway. Without it a path such as
// $..a..a..a would find one value in a number of ways beyond counting.
func topmost(d *jsonedit.Doc, nodes []int) []int {
	slices.Sort(nodes)
	end := 0
	return slices.DeleteFunc(nodes, func(i int) bool {
		below := i < end
		end = max(end, int(d.Nodes[i].Next))
		return below
	})
}

func member(name string) selector {
	return func(d *jsonedit.Doc, node int, found func(child int)) {
		if child, ok := d.Member(node, name); ok {
			found(child)
		}
	}
}

func element(at int) selector {
	return func(d *jsonedit.Doc, node int, found func(child int)) {
		if d.Kind(node) != jsonedit.Array {
			return
		}
		list, at := d.Children(node), at
		if at < 0 {
			at += len(list)
		}
		if at >= 0 && at < len(list) {
			found(list[at])
		}
	}
}

// those picks the children for which a condition holds.
func those(holds condition) selector {
	return func(d *jsonedit.Doc, node int, found func(child int)) {
		for child := node + 1; child < int(d.Nodes[node].Next); child = int(d.Nodes[child].Next) {
			if holds(d, child) {
				found(child)
			}
		}
	}
}

func anything(*jsonedit.Doc, int) bool { return true }
