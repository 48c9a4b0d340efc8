// Package catalog has the rows of the catalogues of faults and triggers.
//
// A [Row] says everything about one kind of fault or trigger: its name, a
// sentence, its parameters with their bounds, its coordinates, and how it is made
// in Go and from JSON. It stands beside the code of the fault:
//
//	type wait struct {
//		Duration time.Duration `json:"duration" bounds:"min=0" doc:"time until the caller learns of it"`
//	}
//
//	var lostReplyRow = catalog.Fault(catalog.Row{
//		Kind: "lost_reply", Doc: "The callee does its work and the reply is lost.",
//		Go: "fault.LoseReplyAfter(d)", Example: `{"duration":"1s"}`,
//		Class: chaos.ClassTiming, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
//	}, func(p wait) chaos.Fault { return lostReply{p} })
//
//	type lostReply struct{ wait }
//
//	func (f lostReply) Check() error                { return lostReplyRow.Check(f.wait).Err() }
//	func (f lostReply) Describe() chaos.Description { return lostReplyRow.Describe(f.wait) }
//
// Descriptions, checks of bounds, plans in JSON and their schema, the tables in
// the documentation, and the list of faults that an MCP server offers are made
// of rows. The packages fault, when, lies and chaoshttp each return theirs from a
// function Rows. Rows of your own go into planjson.Options.Rows.
//
// A row may be read from many goroutines. It refers to the constructor of its
// fault, so the constructor must not refer to the row: Go would refuse that as
// an initialisation cycle. The methods may.
package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// A Row is one kind of fault or trigger. [Fault], [Trigger] and [InCode] complete
// it with its parameters.
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

	// Base is set in the row of a label, by [Row.Of]: the kind of the fault that it
	// is, under a kind of its own.
	Base string

	// The coordinates of a fault; a trigger has none.
	Layer       chaos.Layer // empty: that of the injection point
	Class       chaos.Class
	Visibility  chaos.Visibility
	Persistence chaos.Persistence
	Effect      chaos.Effect

	trigger bool
	params  reflect.Type
	fields  []strictjson.Field
	bounds  []strictjson.Bound
	build   func(params any) any // nil: it holds Go code
}

// An Order says how far a fault or trigger depends on the order of calls. The zero
// value: not at all, so that calls with keys get the same in every run, at any
// number of workers. docs/determinism.md says what the others mean.
type Order string

// What a fault or trigger may depend on.
const (
	Sequential Order = "needs a sequential lane" // the order of the calls of one lane
	Timed      Order = "depends on time"         // when calls come
	Deliveries Order = "depends on deliveries"   // the order of calls over all lanes
)

// String is the claim in the words of docs/determinism.md.
func (o Order) String() string { return cmp.Or(string(o), "independent of order") }

// None are the parameters of a kind without any.
type None struct{}

// Fault completes the row of a fault with parameters P, which build makes it of.
//
// P is a struct of the parameters, one field for each: string, bool, int, int64,
// uint64 (in JSON a decimal string), float64, [time.Duration] (in JSON "1.5s"),
// error (in JSON its text), [json.RawMessage], another struct, a slice or map of
// these, a pointer to one, [chaos.Fault] or [chaos.When]. Its JSON tags name them;
// without omitempty they are required. Three more tags say what a field means:
//
//   - doc:"…" describes it;
//   - bounds:"min=1,over=0,max=9,enum=a|b" bounds a number, a duration, the length
//     of a list (over and enum: its elements) or of a map, or with enum a text;
//   - allowed:"…" says what is allowed, where the bounds alone say too little.
//
// An optional number that is 0 counts as left out. A struct may be embedded, a
// pointer may not. planjson refuses a row with parameters or tags that have no
// meaning.
//
// The fault checks and describes itself by the parameters it was built of, with
// [Row.Check] and [Row.Describe].
func Fault[P any](r Row, build func(P) chaos.Fault) *Row {
	return complete[P](r, func(params any) any { return build(params.(P)) })
}

// Of returns the row of a label: a fault that is only another one under a kind of
// its own, with the same error, effect on the call and behaviour. Base is the
// kind of base; the example and the coordinates that r leaves empty are those of
// base.
// [Fault] completes it where its parameters are not those of base, else [Label].
func (r Row) Of(base *Row) Row {
	if base == nil {
		return r
	}
	r.Base, r.AsText, r.Order = base.Kind, base.AsText, cmp.Or(r.Order, base.Order)
	r.Example = cmp.Or(r.Example, base.Example)
	r.Layer, r.Class, r.Visibility = cmp.Or(r.Layer, base.Layer), cmp.Or(r.Class, base.Class),
		cmp.Or(r.Visibility, base.Visibility)
	r.Persistence, r.Effect = cmp.Or(r.Persistence, base.Persistence), cmp.Or(r.Effect, base.Effect)
	return r
}

// Label completes the row of a label of base with the parameters of base and their
// bounds. as gives a fault of base the kind, as fault.As does.
func Label(base *Row, r Row, as func(kind string, f chaos.Fault) chaos.Fault) *Row {
	if base == nil {
		return &r // not complete, which is refused where it is used
	}
	r = r.Of(base)
	r.params, r.fields, r.bounds = base.params, base.fields, base.bounds
	if base.build != nil {
		r.build = func(params any) any {
			f, _ := base.build(params).(chaos.Fault)
			return as(r.Kind, f)
		}
	}
	return &r
}

// Trigger is [Fault] for a trigger.
func Trigger[P any](r Row, build func(P) chaos.When) *Row {
	r.trigger = true
	return complete[P](r, func(params any) any { return build(params.(P)) })
}

// InCode completes the row of a fault or, with trigger, of a trigger that holds
// Go code: JSON can name it and its parameters P, and not make it.
func InCode[P any](r Row, trigger bool) *Row {
	r.trigger = trigger
	return complete[P](r, nil)
}

func complete[P any](r Row, build func(any) any) *Row {
	r.params, r.build = reflect.TypeFor[P](), build
	if r.params.Kind() == reflect.Struct {
		r.fields, r.bounds = strictjson.Fields(r.params), strictjson.Bounds(r.params)
	}
	r.AsText = r.AsText || strictjson.Holds(r.params, reflect.TypeFor[error]())
	if r.Example == "" {
		r.Example = "{}"
	}
	return &r
}

// Copies returns copies of rows, which the caller may change: a package keeps its own.
func Copies(rows []*Row) []*Row {
	all := make([]Row, len(rows))
	copies := make([]*Row, len(rows))
	for i, r := range rows {
		all[i] = *r
		copies[i] = &all[i]
	}
	return copies
}

// IsTrigger reports whether the row is of a trigger.
func (r *Row) IsTrigger() bool { return r.trigger }

// HoldsCode reports whether the fault or trigger holds Go code, so that it cannot
// be made of parameters.
func (r *Row) HoldsCode() bool { return r.build == nil }

// Params is the type of the parameters, nil in a row that was not completed.
func (r *Row) Params() reflect.Type { return r.params }

// Build makes the fault or trigger of its parameters, a value of [Row.Params]. It
// is a [chaos.Fault] or [chaos.When]. It is not checked. A row that holds code
// returns nil.
func (r *Row) Build(params any) any {
	if r.build == nil {
		return nil
	}
	return r.build(params)
}

// Describe is the description of a fault or trigger with these parameters, a
// struct as the row has it or one that is written in the same form. Parameters
// that have no JSON, such as NaN, are left out; Check refuses them.
func (r *Row) Describe(params any) chaos.Description {
	d := chaos.Description{Kind: r.Kind, Layer: r.Layer, Class: r.Class, Visibility: r.Visibility,
		Persistence: r.Persistence, Effect: r.Effect}
	switch {
	case len(r.fields) == 0:
	case reflect.TypeOf(params) == r.params:
		d.Params, _ = strictjson.EncodeStruct(params, r.fields, special)
	default:
		d.Params, _ = strictjson.Encode(params, special)
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
	for o := range strictjson.Outliers(r.bounds, reflect.ValueOf(params)) {
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
		list[i] = Parameter{Name: f.Name, Doc: f.Doc, Allowed: cmp.Or(f.Allowed, types.Shape(f)), Optional: f.Optional}
		for _, b := range r.bounds {
			if b.Name == f.Name {
				list[i].Allowed = b.Says()
			}
		}
	}
	return list
}
