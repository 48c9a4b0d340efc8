package jsonedit

import (
	"bytes"
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/jsonpath"
)

// Find returns the nodes that a path names, in the order of the path's own Find. A path of members and single elements is
// followed in the text; for another one the document is decoded.
func (d *Doc) Find(p *jsonpath.Path) []int {
	if keys, ok := p.Keys(); ok {
		if i, ok := d.Lookup(keys...); ok {
			return []int{i}
		}
		return nil
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(d.Text))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	var nodes []int
	for _, m := range p.Find(v) {
		if i, ok := d.Lookup(m.Keys...); ok {
			nodes = append(nodes, i)
		}
	}
	return nodes
}
