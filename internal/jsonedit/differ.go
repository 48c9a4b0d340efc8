package jsonedit

import (
	"bytes"
	"iter"
	"strconv"
)

// A Difference is a place in which two documents differ.
type Difference struct {
	At   []string // the names and indices that lead to it, until the next difference is asked for
	A, B int      // the nodes there; -1: that document has none
}

// Differences yields the places in which two documents differ, in the order of a, and what b alone has of an object or
// a list after it. Members are compared by their names, of several with one name the last; lists element by element.
// same reports whether two scalars of one kind are equal.
func Differences(a, b *Doc, same func(x, y []byte) bool) iter.Seq[Difference] {
	return func(yield func(Difference) bool) {
		c := comparison{a: a, b: b, same: same, yield: yield}
		c.nodes(0, 0)
	}
}

// A comparison walks two documents side by side, as long as its methods return true.
type comparison struct {
	a, b  *Doc
	same  func(x, y []byte) bool
	yield func(Difference) bool
	at    []string
}

func (c *comparison) nodes(i, k int) bool {
	switch kind := c.a.Kind(i); {
	case kind != c.b.Kind(k):
	case kind == Object || kind == Array:
		return c.parts(i, k)
	case c.same(c.a.Raw(i), c.b.Raw(k)):
		return true
	}
	return c.yield(Difference{c.at, i, k})
}

func (c *comparison) parts(i, k int) bool {
	type part struct {
		step  string
		nodes [2]int
	}
	var parts []part
	names := make(map[string]int)
	for side, d := range [...]*Doc{c.a, c.b} {
		for place, child := range d.Children([...]int{i, k}[side]) {
			step := d.Name(child)
			if d.IsMember(child) {
				known, again := names[step]
				if place = known; !again {
					place = len(parts)
					names[step] = place
				}
			}
			if place == len(parts) {
				parts = append(parts, part{step, [2]int{-1, -1}})
			}
			parts[place].nodes[side] = child
		}
	}
	for place, p := range parts {
		x, y := p.nodes[0], p.nodes[1]
		both := x >= 0 && y >= 0
		if both && bytes.Equal(c.a.Raw(x), c.b.Raw(y)) {
			continue
		}
		if c.a.Kind(i) == Array {
			p.step = strconv.Itoa(place)
		}
		c.at = append(c.at, p.step)
		if both && !c.nodes(x, y) || !both && !c.yield(Difference{c.at, x, y}) {
			return false
		}
		c.at = c.at[:len(c.at)-1]
	}
	return true
}
