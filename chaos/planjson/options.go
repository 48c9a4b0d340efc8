package planjson

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/chaossql"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Options say what documents may name in addition to the ready-made kinds. The
// zero value and a nil *Options add nothing. Reading and writing do not change
// them.
type Options struct {
	_ struct{}
	// Rows are kinds of your own, of [catalog.List]. A
	// kind that is taken already is refused.
	Rows []*catalog.Row
	// Faults are faults that hold Go code, such as those of fault.Mutate. Each
	// is written as the kind and parameters of its description, and found by
	// them. Two with the same description are refused.
	Faults []chaos.Fault
	// Triggers are the same for triggers, such as those of when.Args.
	Triggers []chaos.When
	// Errors are errors that documents name by their text, in addition to those
	// of package chaos/fault: callers get that very value. Any other text becomes
	// a plain error.
	Errors []error
}

const maxBytes = 16 << 20 // of a document

func (o *Options) table() (*table, error) {
	o = cmp.Or(o, &Options{})
	t := &table{faults: side{rows: map[string]*catalog.Row{}}, whens: side{rows: map[string]*catalog.Row{}},
		errors: map[string]error{}}
	p := problems()
	for _, r := range Rows() {
		t.side(r.IsTrigger()).rows[r.Kind] = r
	}
	for _, r := range o.Rows {
		t.addRow(r, p)
	}
	for i, f := range o.Faults {
		t.faults.hold(f, fmt.Sprintf("Faults[%d]", i), p)
	}
	for i, w := range o.Triggers {
		t.whens.hold(w, fmt.Sprintf("Triggers[%d]", i), p)
	}
	for _, err := range readyErrors() {
		t.errors[err.Error()] = err
	}
	for i, err := range o.Errors {
		if err == nil {
			p.AddError(&Error{Reason: Missing, Value: fmt.Sprintf("Errors[%d]", i), Allowed: "an error"})
			continue
		}
		t.errors[err.Error()] = err
	}
	return t, p.Err()
}

// addRow checks a row of the user's. A test checks the ready-made ones.
func (t *table) addRow(r *catalog.Row, p *strictjson.Problems) {
	if r == nil || r.Params() == nil || r.Kind == "" {
		p.AddError(&Error{Reason: BadValue, Value: "a row without a kind",
			Allowed: "rows of catalog.List, catalog.Fault or catalog.Trigger, each with a kind"})
		return
	}
	rows, kind := t.side(r.IsTrigger()).rows, "kind "+r.Kind
	_, taken := rows[r.Kind]
	unbindable := newBinder(t).Bindable(r.Params())
	orders := []catalog.Order{"", catalog.Sequential, catalog.Timed, catalog.Deliveries}
	switch {
	case taken:
		p.AddError(&Error{Reason: Duplicate, Value: kind, Allowed: "a name of its own"})
	case unbindable != nil:
		p.AddError(&Error{Reason: WrongType, Value: kind, Err: unbindable, Allowed: "the types that catalog.Made lists"})
	case !json.Valid([]byte(r.Example)):
		p.AddError(&Error{Reason: BadValue, Value: kind + ", Example " + strictjson.Short(r.Example),
			Allowed: "a JSON object"})
	case !slices.Contains(orders, r.Order):
		p.AddError(&Error{Reason: BadValue, Value: kind + ", Order " + strictjson.Short(string(r.Order)),
			Allowed: "empty, catalog.Sequential, catalog.Timed or catalog.Deliveries"})
	default:
		rows[r.Kind] = r
	}
}

func (s *side) hold(v any, place string, p *strictjson.Problems) {
	d, ok := v.(chaos.Described)
	if !ok {
		p.AddError(&Error{Reason: BadValue, Value: place,
			Allowed: "a fault or trigger with a Describe method, by which it is found"})
		return
	}
	doc := d.Describe()
	if s.held(Part{Kind: doc.Kind, Params: doc.Params}) != nil {
		p.AddError(&Error{Reason: Duplicate, Value: fmt.Sprintf("%s, %s %s", place, doc.Kind, doc.Params),
			Allowed: "a description of its own"})
		return
	}
	s.code, s.descr = append(s.code, v), append(s.descr, doc)
}

// readyErrors are the errors that every document may name by their text.
func readyErrors() []error {
	return []error{
		fault.ErrUnavailable, fault.ErrInternal, fault.ErrRateLimited, fault.ErrResourceExhausted, fault.ErrTimeout,
		fault.ErrConnectionRefused, fault.ErrConnectionReset, fault.ErrNetworkPartition, fault.ErrTokenExpired,
		fault.ErrDeclined,
		context.DeadlineExceeded, context.Canceled, io.EOF, io.ErrUnexpectedEOF,
	}
}

// A side is all faults or all triggers.
type side struct {
	rows  map[string]*catalog.Row
	code  []any // faults or triggers of Options
	descr []chaos.Description
}

// held returns the value of Options with that description, or nil.
func (s *side) held(doc Part) any {
	for i, d := range s.descr {
		if d.Kind == doc.Kind && sameJSON(d.Params, doc.Params) {
			return s.code[i]
		}
	}
	return nil
}

type table struct {
	faults, whens side
	errors        map[string]error
}

func (t *table) side(triggers bool) *side {
	if triggers {
		return &t.whens
	}
	return &t.faults
}

// sameJSON compares parameters by their values. None are an empty object.
func sameJSON(a, b json.RawMessage) bool {
	return jsonhash.Same([]byte(cmp.Or(string(a), "{}")), []byte(cmp.Or(string(b), "{}")))
}

// Rows returns the rows of the ready-made kinds, in the order of
// docs/reference/faults.md. The caller may keep and change the list.
func Rows() []*catalog.Row {
	return slices.Concat(when.Rows(), fault.Rows(), lies.Rows(), chaoshttp.Rows(), chaossql.Rows())
}

// A Kind is one kind of fault or trigger as data, for people and programs that
// write plans. Its parameters and coordinates are those of an example.
type Kind struct {
	chaos.Description
	Doc     string `json:"does"`
	Go      string `json:"go"`                // the constructors
	Trigger bool   `json:"trigger,omitempty"` // else a fault
	// a plan can name it where Options has the Go value, see there
	NeedsCode  bool                `json:"needsCode,omitempty"`
	Parameters []catalog.Parameter `json:"parameters,omitempty"`
}

// Kinds describes the ready-made kinds and the rows of o, in that order. A row
// whose example cannot be read is an error. o may be nil.
func Kinds(o *Options) ([]Kind, error) {
	t, err := o.table()
	if err != nil {
		return nil, err
	}
	rows := Rows()
	if o != nil {
		rows = append(rows, o.Rows...)
	}
	b := newBinder(t)
	kinds := make([]Kind, 0, len(rows))
	for _, r := range rows {
		kinds = append(kinds,
			Kind{Description: b.example(r), Doc: r.Doc, Go: r.Go, Trigger: r.IsTrigger(), NeedsCode: r.HoldsCode(),
				Parameters: r.Parameters()})
	}
	return kinds, b.Err()
}

func (b *binder) example(r *catalog.Row) chaos.Description {
	d := chaos.Description{Kind: r.Kind, Layer: r.Layer, Class: r.Class, Visibility: r.Visibility,
		Persistence: r.Persistence, Effect: r.Effect}
	if r.Example != "{}" {
		d.Params = json.RawMessage(r.Example)
	}
	if r.HoldsCode() {
		return d
	}
	b.Within = "/" + r.Kind + "/params"
	made := reflect.New(reflect.TypeFor[any]()).Elem()
	if n := strictjson.Parse([]byte(r.Example), maxBytes, &b.Problems); n != nil &&
		b.build(r, n, made) {
		if described, ok := made.Interface().(chaos.Described); ok {
			d = described.Describe()
			d.Kind = r.Kind // what documents call it
		}
	}
	return d
}
