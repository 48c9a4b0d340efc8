// Package catalog has the rows of the catalogues of faults and triggers.
//
// A [Row] says everything about one kind of fault or trigger: its name, a
// sentence, its parameters with their bounds, its coordinates, and how it is made
// in Go and from JSON. A kind is a row and a function, and makes its faults:
//
//	type wait struct {
//		Duration time.Duration `json:"duration" bounds:"min=0" doc:"time until the caller learns of it"`
//	}
//
//	func LoseRequest(d time.Duration) chaos.Fault { return loseRequest.Of(wait{d}) }
//
//	var loseRequest = &catalog.Inject[wait]{
//		Row: catalog.Row{Kind: "lost_request", Doc: "The request is lost, and the caller sees a time-out.",
//			Go: "fault.LoseRequest(d)", Example: `{"duration":"1s"}`,
//			Class: chaos.ClassOmission, Visibility: chaos.Explicit, Effect: chaos.EffectNone},
//		Inject: func(ctx context.Context, _ chaos.Call, p wait, args any, next chaos.Next) (any, error) {
//			return timesOut(ctx, p.Duration, args, next)
//		},
//	}
//
// There is a type for each thing that a fault or trigger can be: [Inject] acts on
// a call, [Fail] makes an error, [Remember] keeps something between calls, [Stream]
// acts on a stream; [Match] and [Ordinal] choose calls. [Own] makes faults and
// triggers of a type of your own, [Label] gives a fault another name.
//
// Descriptions, checks of bounds, plans in JSON, tables in the documentation, and the
// list of an MCP server are made of rows. Those of your own go into
// planjson.Options.Rows.
//
// A kind is a literal, so that a program links those alone whose constructors it
// calls. The function of a kind must not refer to the kind, nor to its constructor:
// Go would refuse that as an initialisation cycle. The methods of its parameters
// may. Kinds and rows may be used from many goroutines.
//
// Stability: may change.
package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// A Row is one kind of fault or trigger. The kind completes it with its parameters.
type Row struct {
	Kind    string // such as "lost_reply"; unique among the faults, or among the triggers
	Doc     string // one sentence: what happens to a call, or which calls
	Go      string // the constructors, as documentation shows them
	Example string // parameters as a JSON object of which the kind can be made; empty: {}

	// AsText is set where the fault keeps a Go value of which a parameter is only
	// the text. A plan is then written as JSON only if the text gives an equal value
	// back. A row with a parameter of type error is so without being told.
	AsText bool

	// Order is what repeats from run to run of a fault or trigger like Example; empty:
	// it is independent of order. Another constructor of the kind may depend on more,
	// and a combination depends on what its parts do.
	Order Order

	// InCode is set where it holds Go code: JSON can name it, and not make it.
	InCode bool

	// Base is set by [Label]: the kind of the fault that the label renames.
	Base string

	// The coordinates of a fault; a trigger has none.
	Layer       chaos.Layer // empty: that of the injection point
	Class       chaos.Class
	Visibility  chaos.Visibility  // empty: implicit, and of [Fail] explicit
	Persistence chaos.Persistence // empty: transient
	Effect      chaos.Effect      // empty: done, and of [Fail] none

	trigger bool
	params  reflect.Type
	fields  []strictjson.Field
	bounds  []strictjson.Field
	build   func(row *Row, params any) any // nil: the row was not completed
	self    *Row                           // of a copy, the row that faults and triggers are made by
	base    *Row                           // of a label, the row of the kind that it renames
}

// An Order says how far a fault or trigger depends on the order of calls. The zero
// value: not at all, so that calls with keys get the same in every run, at any
// number of workers. docs/reference/determinism.md says what the others mean.
type Order string

// What a fault or trigger may depend on.
const (
	Sequential Order = "needs a sequential lane" // the order of the calls of one lane
	Timed      Order = "depends on time"         // when calls come
	Deliveries Order = "depends on deliveries"   // the order of calls over all lanes
)

// String is the claim in the words of docs/reference/determinism.md.
func (o Order) String() string { return cmp.Or(string(o), "independent of order") }

// None are the parameters of a kind without any.
type None struct{}

// complete completes a row by the type of its parameters.
func complete[P any](r Row, trigger bool, build func(*Row, P) any) *Row {
	r.trigger, r.params, r.self = trigger, reflect.TypeFor[P](), &r
	r.build = func(row *Row, params any) any { return build(row, params.(P)) }
	if r.params.Kind() == reflect.Struct {
		r.fields, r.bounds = strictjson.Fields(r.params), strictjson.Bounds(r.params)
	}
	r.AsText = r.AsText || strictjson.Holds(r.params, reflect.TypeFor[error]())
	r.Example = cmp.Or(r.Example, "{}")
	if !trigger {
		r.Visibility, r.Effect = cmp.Or(r.Visibility, chaos.Implicit), cmp.Or(r.Effect, chaos.EffectDone)
		r.Persistence = cmp.Or(r.Persistence, chaos.Transient)
	}
	return &r
}

// Fault completes the row of a fault that needs no kind: build makes it of its
// parameters P, and it checks and describes itself.
func Fault[P any](r Row, build func(P) chaos.Fault) *Row {
	return complete(r, false, func(_ *Row, p P) any { return build(p) })
}

// Trigger is [Fault] for a trigger.
func Trigger[P any](r Row, build func(P) chaos.When) *Row {
	return complete(r, true, func(_ *Row, p P) any { return build(p) })
}

// IsTrigger reports whether the row is of a trigger.
func (r *Row) IsTrigger() bool { return r.trigger }

// HoldsCode reports whether the fault or trigger holds Go code, so that it cannot
// be made of parameters.
func (r *Row) HoldsCode() bool { return r.InCode || r.build == nil }

// Params is the type of the parameters, nil in a row that was not completed.
func (r *Row) Params() reflect.Type { return r.params }

// Build makes the fault or trigger of its parameters, a value of [Row.Params]. It
// is a [chaos.Fault] or [chaos.When]. It is not checked. A row that holds code
// returns nil.
func (r *Row) Build(params any) any {
	if r.HoldsCode() {
		return nil
	}
	return r.build(r.self, params)
}

// Describe is the description of a fault or trigger with these parameters, a value
// of [Row.Params]. Those that have no JSON, such as NaN, are left out; Check refuses
// them.
func (r *Row) Describe(params any) chaos.Description {
	d := chaos.Description{Kind: r.Kind, Layer: r.Layer, Class: r.Class, Visibility: r.Visibility,
		Persistence: r.Persistence, Effect: r.Effect}
	d.Params, _ = strictjson.EncodeStruct(nil, reflect.ValueOf(params), r.fields, special)
	if string(d.Params) == "{}" {
		d.Params = nil // all were left out
	}
	return d
}

// Check collects which parameters lie outside of their bounds, in the order of
// their fields; of a list whose length is allowed, which elements. The fault adds
// what bounds cannot say, and returns [Check.Err].
func (r *Row) Check(params any) *Check {
	c := &Check{Kind: r.Kind}
	if r.bounds == nil {
		return c
	}
	if reflect.TypeOf(params) != r.params {
		c.That(false, "params", fmt.Sprintf("a %T", params), fmt.Sprintf("a %v, as the row has it", r.params))
		return c
	}
	for _, o := range strictjson.Outliers(r.bounds, reflect.ValueOf(params)) {
		c.That(false, o.Place, o.Value.Interface(), o.Allowed)
	}
	return c
}

// special writes what only this package knows: faults and triggers as their kind
// and parameters, or as the name of their type if they have no description;
// errors as their text.
func special(v any) json.RawMessage {
	switch v := v.(type) {
	case error:
		text, _ := json.Marshal(v.Error()) // a string always has JSON
		return text
	case chaos.Described:
		d := v.Describe()
		return part(d.Kind, d.Params)
	case chaos.Fault, chaos.When: // without a description
		return part(fmt.Sprintf("%T", v), nil)
	}
	return nil
}

func part(kind string, params json.RawMessage) json.RawMessage {
	text, _ := json.Marshal(struct {
		Kind   string          `json:"kind"`
		Params json.RawMessage `json:"params,omitempty"`
	}{kind, params})
	return text
}

// A Parameter is one parameter of a kind, for documentation.
type Parameter struct {
	Name     string `json:"name"`
	Doc      string `json:"doc,omitempty"`
	Allowed  string `json:"allowed"` // its bounds or type, in words
	Optional bool   `json:"optional,omitempty"`
}

// Parameters lists the parameters in the order of their fields.
func (r *Row) Parameters() []Parameter {
	part := func(shape string) strictjson.Special { return strictjson.Special{Shape: shape} }
	types := strictjson.Reader{Special: map[reflect.Type]strictjson.Special{
		reflect.TypeFor[chaos.When](): part("a trigger"), reflect.TypeFor[chaos.Fault](): part("a fault"),
		reflect.TypeFor[error](): part("a string"),
	}}
	list := make([]Parameter, len(r.fields))
	for i, f := range r.fields {
		list[i] = Parameter{Name: f.Name, Doc: f.Doc, Optional: f.Optional,
			Allowed: cmp.Or(f.Allowed, types.Shape(f))}
	}
	return list
}

// A Check collects the problems of one fault or trigger. The zero value with
// its Kind set is ready to use.
type Check struct {
	Kind     string // of the fault or trigger, such as "prob"
	problems []error
}

// That adds a problem unless ok: the parameter, its value (nil: none was given) and
// what is allowed instead.
func (c *Check) That(ok bool, param string, value any, allowed string) {
	if !ok {
		c.problems = append(c.problems, &chaos.ParamError{Kind: c.Kind, Param: param, Value: value, Allowed: allowed})
	}
}

// Wait is the check that most faults need: a time that can pass.
func (c *Check) Wait(param string, d time.Duration) {
	c.That(d >= 0, param, d, "a duration of 0 or more")
}

// Part adds the problems of a part that is itself [chaos.Checked], each with
// the place of the part; another part has none.
func (c *Check) Part(place string, part any) {
	if checked, ok := part.(chaos.Checked); ok {
		for _, problem := range fielderror.Apart(checked.Check()) {
			c.problems = append(c.problems, located(problem, fmt.Sprintf("%s: %s: ", c.Kind, place)))
		}
	}
}

// Err joins the problems; nil: there are none.
func (c *Check) Err() error { return errors.Join(c.problems...) }

// located says of a part's problem which part it is of.
func located(problem error, place string) error {
	if p, ok := problem.(*chaos.ParamError); ok {
		inner := *p
		inner.Kind = place + p.Kind
		return &inner
	}
	return fmt.Errorf("%s%w", place, problem)
}
