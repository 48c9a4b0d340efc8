package planjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
	"github.com/shakedown-go/shakedown/internal/text"
)

// binder reads faults and triggers by the rows of a table. What else a document
// holds, the strict reader reads.
type binder struct {
	strictjson.Reader
	table *table
}

// newBinder makes the reader of one document. A fault checks the bounds of its
// parameters itself, and a plan those of its rules.
func newBinder(t *table) *binder {
	b := &binder{table: t}
	b.SkipBounds, b.Problems = true, *problems()
	part := func(shape string) strictjson.Special { return strictjson.Special{Shape: shape, Bind: b.part} }
	b.Special = map[reflect.Type]strictjson.Special{
		reflect.TypeFor[chaos.When]():  part(`a trigger, {"kind": …, "params": {…}}`),
		reflect.TypeFor[chaos.Fault](): part(`a fault, {"kind": …, "params": {…}}`),
		reflect.TypeFor[error]():       {Shape: "a string", Bind: b.named},
	}
	return b
}

// named reads the text of an error: of one that documents name so, or of a plain
// one.
func (b *binder) named(n *strictjson.Node, v reflect.Value) bool {
	text, ok := n.Text()
	if !ok {
		return b.Wrong(n, "a string")
	}
	err, ok := b.table.errors[text]
	if !ok {
		err = errors.New(text)
	}
	v.Set(reflect.ValueOf(err))
	return true
}

// makeOf has a row make a fault or trigger, and has that check and describe itself.
// All of it may be the user's code.
func makeOf(row *catalog.Row, params any) (made any, d *chaos.Description, err error) {
	doing := "making it"
	defer func() {
		if p := recover(); p != nil {
			made, d, err = nil, nil, fmt.Errorf("%s panicked: %v", doing, p)
		}
	}()
	if row.HoldsCode() {
		from := "Options.Faults"
		if row.IsTrigger() {
			from = "Options.Triggers"
		}
		return nil, nil, &Error{Reason: NeedsCode, Allowed: "one of " + from + " that describes itself so"}
	}
	if made = row.Build(params); made == nil {
		return nil, nil, errors.New("nothing was made of it")
	}
	doing = "Check"
	if checked, ok := made.(chaos.Checked); ok {
		err = checked.Check()
	}
	if err == nil { // a fault of the user's may leave the bounds to its row
		err = row.Check(params).Err()
	}
	doing = "Describe"
	if described, ok := made.(chaos.Described); ok && err == nil {
		own := described.Describe()
		d = &own
	}
	return made, d, err
}

// part builds a fault or trigger from {"kind", "params"}, has it check its
// parameters, and reports whether all are right.
func (b *binder) part(n *strictjson.Node, v reflect.Value) bool {
	var doc Part
	if !b.Object(n, reflect.ValueOf(&doc).Elem()) {
		return false
	}
	side := b.table.side(v.Type() == reflect.TypeFor[chaos.When]())
	if code := side.held(doc); code != nil {
		v.Set(reflect.ValueOf(code))
		return true
	}
	row, ok := side.rows[doc.Kind]
	if !ok {
		if b.Full() {
			return false
		}
		b.AddError(&Error{Pointer: n.Pointer() + "/kind", Reason: UnknownKind,
			Value:   strictjson.Short(string(strictjson.Quote(doc.Kind))),
			Allowed: text.OneOf(doc.Kind, slices.Sorted(maps.Keys(side.rows)))})
		return false
	}
	params := n.Get("params")
	if params == nil {
		params = n.Absent("params")
	}
	return b.build(row, params, v)
}

func (b *binder) build(row *catalog.Row, params *strictjson.Node, v reflect.Value) bool {
	in := reflect.New(row.Params()).Elem()
	if !b.Bind(params, in, strictjson.Tag{}) {
		return false
	}
	made, d, err := makeOf(row, in.Interface())
	if err != nil {
		b.explain(err, params)
		return false
	}
	if !b.unused(d, params) {
		return false
	}
	v.Set(reflect.ValueOf(made))
	return true
}

// explain converts what a fault or trigger reports about its parameters into
// errors with the place of each.
func (b *binder) explain(err error, params *strictjson.Node) {
	for _, problem := range fielderror.Apart(err) {
		e := &Error{Pointer: b.Within + params.Pointer(), Reason: BadValue, Err: problem}
		switch p := problem.(type) {
		case *chaos.ParamError:
			where, n := strictjson.Find(params, p.Param)
			e.Pointer, e.Allowed, e.Err = b.Within+where, p.Allowed, &causeOf{nil, p}
			if n != nil {
				e.Value = strictjson.Short(string(n.JSON()))
			} else if p.Value != nil {
				e.Value = strictjson.Short(fmt.Sprint(p.Value))
			}
		case *Error:
			e.Reason, e.Value, e.Allowed, e.Err = p.Reason, p.Value, p.Allowed, p.Err
		}
		b.AddError(e)
	}
}

// causeOf keeps, for errors.As, the error that an [Error] already spelled out.
// Its text is only that of the cause, if there is one.
type causeOf struct{ cause, whole error }

func (c *causeOf) Error() string {
	if c.cause == nil {
		return ""
	}
	return c.cause.Error()
}

func (c *causeOf) Unwrap() error { return c.whole }

// unused refuses parameters without a meaning beside the others, such as a mean
// of a fixed delay: the fault would ignore them.
func (b *binder) unused(d *chaos.Description, params *strictjson.Node) bool {
	if d == nil || params.Len() == 0 {
		return true
	}
	var has map[string]json.RawMessage
	_ = json.Unmarshal(d.Params, &has) // no parameters: none is used
	fits := true
	for i, key := range params.Keys() {
		if _, ok := has[key]; !ok && !strictjson.Empty(params.At(i)) {
			b.AddError(&Error{Pointer: params.At(i).Pointer(), Reason: UnknownField,
				Value:   strictjson.Short(string(params.At(i).JSON())),
				Allowed: "to be left out: it has no meaning beside the other parameters"})
			fits = false
		}
	}
	return fits
}
