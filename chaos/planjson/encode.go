package planjson

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// Encode writes a plan as JSON that [Decode] reads back as the same plan. It is
// indented, with the names of rules filled in. o may be nil.
//
// Faults and triggers that hold Go code or have an unknown kind are refused,
// each with an [*Error] that names its rule, unless o has them.
//
// An error, as of fault.Fail, is written as its text. If callers compare it
// (errors.Is), put it into [Options.Errors] of both sides. An error of a type
// of its own is refused otherwise.
func Encode(p *chaos.Plan, o *Options) ([]byte, error) {
	doc, err := Describe(p, o)
	if err != nil {
		return nil, err
	}
	return doc.Indented()
}

// Describe is [Encode] with data as its result instead of JSON.
func Describe(p *chaos.Plan, o *Options) (*Plan, error) {
	t, err := o.table()
	if err != nil {
		return nil, err
	}
	return t.describe(p)
}

func (t *table) describe(p *chaos.Plan) (*Plan, error) {
	if p == nil {
		return nil, &Error{Reason: Missing, Allowed: "a plan"}
	}
	rules := p.Rules()
	doc := &Plan{Seed: p.Seed(), Rules: make([]Rule, len(rules))}
	var found problems
	for i, r := range rules {
		doc.Rules[i] = Rule{Name: r.Name, Target: r.Target, Limit: r.Limit, CoolDown: Duration(r.CoolDown),
			Group: r.Group, Layer: r.Layer}
		if r.When != nil {
			part := describePart[chaos.When](t, r.Name, r.When, &found)
			doc.Rules[i].When = &part
		}
		doc.Rules[i].Fault = describePart[chaos.Fault](t, r.Name, r.Fault, &found)
	}
	if err := found.err(); err != nil {
		return nil, err
	}
	return doc, nil
}

// describePart writes one fault or trigger, and reads it back to check that
// nothing was lost.
func describePart[T any](t *table, rule string, v T, found *problems) (doc Part) {
	refuse := func(reason Reason, allowed string, cause error) Part {
		found.add(&Error{Rule: rule, Reason: reason, Value: fmt.Sprintf("%T %s", v, doc.Kind), Allowed: allowed,
			Err: cause})
		return Part{}
	}
	described, ok := any(v).(chaos.Described)
	if !ok {
		return refuse(UnknownKind, "faults and triggers with a Describe method", nil)
	}
	d := described.Describe()
	doc = Part{Kind: d.Kind}
	if !sameJSON(d.Params, nil) {
		doc.Params = d.Params
	}
	b := newBinder(t)
	n, err := partNode(doc, t.maxBytes)
	if err != nil {
		return refuse(BadValue, "parameters that are a JSON object", err)
	}
	var back T
	if !b.part(n, reflect.ValueOf(&back).Elem()) {
		var first *Error
		if errors.As(b.Err(), &first) && first.Reason == UnknownKind {
			return refuse(UnknownKind, "a kind of the table, or one of Options.Rows", b.Err())
		}
		return refuse(NeedsCode, "parameters that the kind takes; what holds Go code is handed over in Options",
			b.Err())
	}
	if why := unlike(v, back, d, t); why != "" {
		return refuse(NeedsCode, why, nil)
	}
	return doc
}

// partNode is a part as the decoder sees it.
func partNode(doc Part, maxBytes int) (*strictjson.Node, error) {
	n := &strictjson.Node{Kind: '{'}
	n.Add("kind", &strictjson.Node{Kind: '"', Text: doc.Kind})
	if len(doc.Params) == 0 {
		return n, nil
	}
	found := problems{}
	found.As = func(p *strictjson.Problem) error { return located(p) }
	params := strictjson.Parse(doc.Params, maxBytes, &found.Problems)
	if err := found.err(); err != nil {
		return nil, err
	}
	n.Add("params", params)
	return n, nil
}

// unlike says how the part that was read back differs from the one that was
// written; empty: it does not.
func unlike[T any](v, back T, d chaos.Description, t *table) string {
	if reflect.TypeOf(v) != reflect.TypeOf(back) {
		return fmt.Sprintf("a %T, which is what the kind stands for, or to be handed over in Options", back)
	}
	again := any(back).(chaos.Described).Describe()
	if !sameJSON(d.Params, again.Params) {
		return fmt.Sprintf("parameters that say all there is; they come back as %s",
			strictjson.Short(string(again.Params)))
	}
	if row := t.side(reflect.TypeFor[T]()).rows[d.Kind]; row != nil && row.AsText && !reflect.DeepEqual(v, back) {
		return "an error or value that its text stands for, or one of Options.Errors or Options.Faults"
	}
	return ""
}
