package jsonedit

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// Find returns the nodes that a path names, in the order of the path's own Find.
func (d *Doc) Find(p *jsonpath.Path) []int {
	if keys, ok := p.Keys(); ok {
		if i, ok := d.Lookup(keys...); ok {
			return []int{i}
		}
		return nil
	}
	var nodes []int
	for _, m := range p.Find(node{d, 0}) {
		nodes = append(nodes, m.Value.(node).i)
	}
	return nodes
}

// node is a value of a document in the form that paths need.
type node struct {
	d *Doc
	i int
}

func (n node) Member(name string) (child any, ok bool) {
	i, ok := n.d.Member(n.i, name)
	if !ok {
		return nil, false
	}
	return node{n.d, i}, true
}

func (n node) Members(found func(name, child any)) {
	if n.d.Kind(n.i) != Object {
		return
	}
	type member struct {
		name string
		i    int
	}
	members := make([]member, 0, 16)
	for c := n.i + 1; c < int(n.d.Nodes[n.i].Next); c = int(n.d.Nodes[c].Next) {
		members = append(members, member{n.d.Name(c), c})
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	for k, m := range members {
		if k+1 == len(members) || members[k+1].name != m.name { // of equal names the last
			found(m.name, node{n.d, m.i})
		}
	}
}

func (n node) Elements() []any {
	if n.d.Kind(n.i) != Array {
		return nil
	}
	children := n.d.Children(n.i)
	elements := make([]any, len(children))
	for k, c := range children {
		elements[k] = node{n.d, c}
	}
	return elements
}

func (n node) Leaf() bool {
	k := n.d.Kind(n.i)
	return k != Object && k != Array
}

func (n node) Scalar() any {
	switch n.d.Kind(n.i) {
	case Null:
		return nil
	case Bool:
		return n.d.Raw(n.i)[0] == 't'
	case Number:
		return json.Number(n.d.Raw(n.i))
	case String:
		return n.d.String(n.i)
	}
	return n
}

// Path returns the path of node i as package jsonpath writes it.
func (d *Doc) Path(i int) string {
	var keys []any
	for ; d.Nodes[i].Parent >= 0; i = int(d.Nodes[i].Parent) {
		if d.IsMember(i) {
			keys = append(keys, d.Name(i))
		} else {
			keys = append(keys, int(d.Nodes[i].Index))
		}
	}
	slices.Reverse(keys)
	return jsonpath.Match{Keys: keys}.Location()
}
