package planjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
)

// A Kind is a kind of fault or trigger that plans can be written with: its
// name, its parameters and how to make one. [FaultKind] and [WhenKind] make
// kinds of your own, for [Options.Kinds].
type Kind struct {
	name    string // as its Describe method says
	code    string // the Go constructors, as the documentation shows them
	doc     string // one sentence
	example string // parameters that decode
	trigger bool
	held    bool // holds Go code: only those of Options have a data form
	params  reflect.Type
	make    func(params any, t *table) (any, error)
}

// FaultKind makes a kind of fault of your own. name is what the fault's
// Describe method says, and doc one sentence about it for the schema.
//
// P is a struct of the parameters, one field for each: string, bool, int,
// int64, uint64 (in JSON a decimal string), float64, [time.Duration] (in JSON
// "1.5s"), [json.RawMessage], another struct, a slice or map of these,
// [chaos.Fault] or [chaos.When]. Its JSON tags name them; without omitempty
// they are required. A tag doc:"…" describes a field in the schema, and
// bounds:"min=1,over=0,max=9,enum=a|b" bounds it there.
//
// build makes the fault. Its error, and those of the fault's Check method,
// become errors of the document: a [*chaos.ParamError] at the member that its
// Param names. The fault must describe itself by the parameters it was built
// from.
func FaultKind[P any](name, doc string, build func(P) (chaos.Fault, error)) Kind {
	return newKind(false, name, doc, func(p P, _ *table) (any, error) { return build(p) })
}

// WhenKind is [FaultKind] for a trigger.
func WhenKind[P any](name, doc string, build func(P) (chaos.When, error)) Kind {
	return newKind(true, name, doc, func(p P, _ *table) (any, error) { return build(p) })
}

// Name is the kind's name, such as "lost_reply".
func (k Kind) Name() string { return k.name }

func newKind[P any](trigger bool, name, doc string, build func(P, *table) (any, error)) Kind {
	return Kind{name: name, doc: doc, trigger: trigger, params: reflect.TypeFor[P](),
		make: func(params any, t *table) (made any, err error) {
			defer func() {
				if p := recover(); p != nil {
					made, err = nil, fmt.Errorf("making it panicked: %v", p)
				}
			}()
			made, err = build(params.(P), t)
			if err == nil && made == nil {
				err = errors.New("nothing was made of it")
			}
			return made, err
		}}
}

// faultRow and whenRow are rows of the ready-made tables. The example is for
// the documentation and for the tests, which deliver each of them.
func faultRow[P any](name, code, doc, example string, build func(P) chaos.Fault) Kind {
	k := newKind(false, name, doc, func(p P, _ *table) (any, error) { return build(p), nil })
	k.code, k.example = code, example
	return k
}

func whenRow[P any](name, code, doc, example string, build func(P) chaos.When) Kind {
	k := newKind(true, name, doc, func(p P, _ *table) (any, error) { return build(p), nil })
	k.code, k.example = code, example
	return k
}

// inCode is a row of a kind that holds Go code: it is looked up in Options,
// never built.
func inCode[P any](trigger bool, name, code, doc, example string) Kind {
	from := "Options.Faults"
	if trigger {
		from = "Options.Triggers"
	}
	k := newKind(trigger, name, doc, func(P, *table) (any, error) {
		return nil, &Error{Reason: NeedsCode, Allowed: "one of " + from + " that describes itself so"}
	})
	k.code, k.example, k.held = code, example, true
	return k
}

// none are no parameters.
type none struct{}

// A side is all faults or all triggers.
type side struct {
	kinds map[string]Kind
	code  []any // faults or triggers of Options
	descr []chaos.Description
}

func (s *side) names() []string { return slices.Sorted(maps.Keys(s.kinds)) }

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
