package jsonedit

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// Find returns the nodes that a path names, in the order of the path's own Find. The document is
// decoded for it, unless the path names one value, as most do.
func (d *Doc) Find(p *jsonpath.Path) (nodes []int) {
	if keys, ok := p.Keys(); ok {
		if i, ok := d.Lookup(keys...); ok {
			return []int{i}
		}
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(d.Text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	for _, m := range p.Find(v) {
		if i, ok := d.Lookup(m.Keys...); ok { // a name that is no UTF-8 is decoded as another one
			nodes = append(nodes, i)
		}
	}
	return nodes
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
