package planjson

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/lies"
	"github.com/shakedown-go/shakedown/chaos/when"
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
	// MaxBytes bounds the size of a document. 0: 16 MiB.
	MaxBytes int
}

const defaultMaxBytes = 16 << 20

// table makes the tables to read and write with.
func (o *Options) table() (*table, error) {
	o = cmp.Or(o, &Options{})
	t := &table{faults: side{rows: map[string]*catalog.Row{}}, whens: side{rows: map[string]*catalog.Row{}},
		errors: map[string]error{}}
	t.maxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	var p problems
	if t.maxBytes < 0 {
		p.add(&Error{Reason: BadValue, Value: fmt.Sprint(o.MaxBytes), Allowed: "MaxBytes of 0 or more"})
	}
	for _, r := range readyMade() {
		t.sideOf(r).rows[r.Kind] = r
	}
	for _, r := range o.Rows {
		t.addRow(r, &p)
	}
	for i, f := range o.Faults {
		t.faults.hold(f, fmt.Sprintf("Faults[%d]", i), &p)
	}
	for i, w := range o.Triggers {
		t.whens.hold(w, fmt.Sprintf("Triggers[%d]", i), &p)
	}
	for _, err := range readyErrors() {
		t.errors[err.Error()] = err
	}
	for i, err := range o.Errors {
		if err == nil {
			p.add(&Error{Reason: Missing, Value: fmt.Sprintf("Errors[%d]", i), Allowed: "an error"})
			continue
		}
		t.errors[err.Error()] = err
	}
	return t, p.err()
}

func (t *table) sideOf(r *catalog.Row) *side {
	if r.IsTrigger() {
		return &t.whens
	}
	return &t.faults
}

// addRow checks a row of the user's. A test checks the ready-made ones.
func (t *table) addRow(r *catalog.Row, p *problems) {
	if r == nil || r.Params() == nil || r.Kind == "" {
		p.add(&Error{Reason: BadValue, Value: "a row without a kind",
			Allowed: "rows of catalog.List, catalog.Fault or catalog.Trigger, each with a kind"})
		return
	}
	s := t.sideOf(r)
	if _, taken := s.rows[r.Kind]; taken {
		p.add(&Error{Reason: Duplicate, Value: "kind " + r.Kind, Allowed: "a name of its own"})
		return
	}
	if err := newBinder(t).Bindable(r.Params()); err != nil {
		p.add(&Error{Reason: WrongType, Value: "kind " + r.Kind, Err: err,
			Allowed: "the types that catalog.Made lists"})
		return
	}
	if !json.Valid([]byte(r.Example)) {
		p.add(&Error{Reason: BadValue, Value: "kind " + r.Kind + ", Example " + strictjson.Short(r.Example),
			Allowed: "a JSON object"})
		return
	}
	switch r.Order {
	case "", catalog.Sequential, catalog.Timed, catalog.Deliveries:
	default:
		p.add(&Error{Reason: BadValue, Value: "kind " + r.Kind + ", Order " + strictjson.Short(string(r.Order)),
			Allowed: "empty, catalog.Sequential, catalog.Timed or catalog.Deliveries"})
		return
	}
	s.rows[r.Kind] = r
}

// hold keeps a value of Options under its description.
func (s *side) hold(v any, place string, p *problems) {
	d, ok := v.(chaos.Described)
	if !ok {
		p.add(&Error{Reason: BadValue, Value: place,
			Allowed: "a fault or trigger with a Describe method, by which it is found"})
		return
	}
	doc := d.Describe()
	if s.held(Part{Kind: doc.Kind, Params: doc.Params}) != nil {
		p.add(&Error{Reason: Duplicate, Value: fmt.Sprintf("%s, %s %s", place, doc.Kind, doc.Params),
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

// readyMade are the rows of all catalogues.
func readyMade() []*catalog.Row {
	return slices.Concat(when.Rows(), fault.Rows(), lies.Rows(), chaoshttp.Rows())
}
