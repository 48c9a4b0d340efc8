package planjson

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// A side is all faults or all triggers.
type side struct {
	rows  map[string]*catalog.Row
	code  []any // faults or triggers of Options
	descr []chaos.Description
}

func (s *side) names() []string { return slices.Sorted(maps.Keys(s.rows)) }

// held returns the value of Options with that description, or nil.
func (s *side) held(doc Part) any {
	for i, d := range s.descr {
		if d.Kind == doc.Kind && sameJSON(d.Params, doc.Params) {
			return s.code[i]
		}
	}
	return nil
}

// table is what a document is read with.
type table struct {
	faults, whens side
	errors        map[string]error
	maxBytes      int
}

// side finds the side that builds values of an interface type.
func (t *table) side(of reflect.Type) *side {
	if of == reflect.TypeFor[chaos.When]() {
		return &t.whens
	}
	return &t.faults
}

// sameJSON compares two texts by their values: spaces, the order of members and
// empty parameters do not matter. Numbers are compared as they are written.
func sameJSON(a, b json.RawMessage) bool {
	return bytes.Equal(plainJSON(a), plainJSON(b))
}

func plainJSON(doc json.RawMessage) []byte {
	if len(doc) == 0 {
		return []byte("{}")
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return doc
	}
	text, err := json.Marshal(v) // sorts members
	if err != nil {
		return doc
	}
	return text
}
