package fault

import (
	"cmp"

	"github.com/shakedown-go/shakedown/chaos"
)

// A label gives a fault another row of the catalogue: a kind of its own and
// other coordinates. Error, effect on the call and behaviour stay. An empty
// member keeps what the fault says of itself. nil is no label.
type label struct {
	kind        string
	layer       chaos.Layer
	class       chaos.Class
	persistence chaos.Persistence
}

// named returns the kind under which the fault reports wrong parameters.
func (l *label) named(kind string) string {
	if l == nil {
		return kind
	}
	return cmp.Or(l.kind, kind)
}

// on returns the description d with the members of the label in place of its own.
func (l *label) on(d chaos.Description) chaos.Description {
	if l == nil {
		return d
	}
	d.Kind = cmp.Or(l.kind, d.Kind)
	d.Layer = cmp.Or(l.layer, d.Layer)
	d.Class = cmp.Or(l.class, d.Class)
	d.Persistence = cmp.Or(l.persistence, d.Persistence)
	return d
}
