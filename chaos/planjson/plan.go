package planjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// A Plan is a plan as data: the arguments of [chaos.NewPlan], with kinds and
// parameters instead of Go values for faults and triggers. Its JSON is what
// [Decode] reads. [Describe] makes one from a plan; [Plan.Build] makes a plan
// from it.
type Plan struct {
	Seed  uint64 `json:"seed,string"` // in JSON a decimal string, since not every reader keeps 64 bits
	Rules []Rule `json:"rules"`
}

// A Rule is a [chaos.Rule] as data.
type Rule struct {
	Name     string      `json:"name,omitempty"`
	Target   string      `json:"target"`
	When     *Part       `json:"when,omitempty"` // nil: every call
	Fault    Part        `json:"fault"`
	Limit    int         `json:"limit,omitempty"`
	CoolDown Duration    `json:"coolDown,omitempty"`
	Group    string      `json:"group,omitempty"`
	Layer    chaos.Layer `json:"layer,omitempty"`
}

// A Part is a fault or trigger as data: a [chaos.Description] without its
// coordinates, which follow from the kind.
type Part struct {
	Kind   string          `json:"kind"`
	Params json.RawMessage `json:"params,omitempty"` // a JSON object; empty: none
}

// A Duration is a time.Duration that is written as Go writes it, such as
// "1.5s".
type Duration time.Duration

// MarshalText writes the duration as "1.5s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads "1.5s". The error is that of [time.ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	t, err := time.ParseDuration(string(text))
	*d = Duration(t)
	return err
}

// MarshalJSON writes an empty list if there are no rules, since [Decode]
// requires one.
func (p Plan) MarshalJSON() ([]byte, error) {
	type plain Plan
	if p.Rules == nil {
		p.Rules = []Rule{}
	}
	return json.Marshal(plain(p))
}

// Build makes a [chaos.Plan]. The error joins every problem, each an [*Error]
// with its place in the JSON of p.
func (p *Plan) Build(o *Options) (*chaos.Plan, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, &Error{Reason: BadValue, Err: err}
	}
	return Decode(data, o)
}

// Indented returns the plan as it is best kept in a file: long lines are broken
// and indented, with a final newline. The same plan gives the same bytes.
func (p *Plan) Indented() ([]byte, error) {
	n, err := nodeOf(p, math.MaxInt)
	if err != nil {
		return nil, err
	}
	return n.Pretty(), nil
}

// nodeOf is the document of a value that has JSON of at most so many bytes.
func nodeOf(v any, most int) (*strictjson.Node, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, &Error{Reason: BadValue, Err: err}
	}
	found := problems()
	n := strictjson.Parse(data, most, found)
	return n, found.Err()
}

// The document as the decoder binds it. The bounds repeat what NewPlan checks.
type (
	planDoc struct {
		Schema string    `json:"$schema,omitempty"`
		Seed   uint64    `json:"seed,omitempty"`
		Rules  []ruleDoc `json:"rules"`
	}
	ruleDoc struct {
		Name     string        `json:"name,omitempty"`
		Target   string        `json:"target"`
		When     chaos.When    `json:"when,omitempty"`
		Fault    chaos.Fault   `json:"fault"`
		Limit    int           `json:"limit,omitempty" bounds:"min=0"`
		CoolDown time.Duration `json:"coolDown,omitempty"`
		Group    string        `json:"group,omitempty"`
		Layer    string        `json:"layer,omitempty" bounds:"enum=|tool|llm|http|sql|grpc|stream|point|context|control|resource|multi-agent"`
	}
)

// Decode reads a plan from JSON. It is strict: an unknown member or kind, a
// wrong type, a value out of range, a member that occurs twice, or anything
// after the document is an error. The error joins every problem, each an
// [*Error] with its place; after a syntax error there is only one. o may be
// nil.
func Decode(data []byte, o *Options) (*chaos.Plan, error) {
	t, err := o.table()
	if err != nil {
		return nil, err
	}
	b := newBinder(t)
	n := strictjson.Parse(data, maxBytes, &b.Problems)
	if n == nil {
		return nil, b.Err()
	}
	plan := b.plan(n)
	return plan, b.Err()
}

// plan reads the document, and has chaos check the rules and make the plan.
func (b *binder) plan(n *strictjson.Node) *chaos.Plan {
	var doc planDoc
	b.Bind(n, reflect.ValueOf(&doc).Elem(), strictjson.Tag{})
	if b.Count() > 0 {
		return nil
	}
	rules := make([]chaos.Rule, len(doc.Rules))
	for i, r := range doc.Rules {
		rules[i] = chaos.Rule{Name: r.Name, Target: r.Target, When: r.When, Fault: r.Fault,
			Limit: r.Limit, CoolDown: r.CoolDown, Group: r.Group, Layer: chaos.Layer(r.Layer)}
	}
	plan, err := chaos.NewPlan(doc.Seed, rules...)
	b.ruleErrors(err)
	return plan
}

// ruleErrors places the problems that chaos found.
func (b *binder) ruleErrors(err error) {
	members := map[string]string{"Name": "name", "Target": "target", "When": "when", "Fault": "fault",
		"Limit": "limit", "CoolDown": "coolDown", "Group": "group", "Layer": "layer"}
	for _, problem := range fielderror.Apart(err) {
		e := &Error{Reason: BadValue, Err: problem}
		if r, ok := problem.(*chaos.RuleError); ok {
			e.Pointer = fmt.Sprintf("/rules/%d/%s", r.Index, members[r.Field])
			if e.Allowed = r.Allowed; r.Value != nil {
				e.Value = strictjson.Short(fmt.Sprintf("%#v", r.Value))
				if d, ok := r.Value.(time.Duration); ok { // as the document has it, not in nanoseconds
					e.Value = fmt.Sprintf("%q", d.String())
				}
			}
			e.Err = &causeOf{r.Err, r}
		}
		b.AddError(e)
	}
}

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
	if p == nil {
		return nil, &Error{Reason: Missing, Allowed: "a plan"}
	}
	rules := p.Rules()
	doc := &Plan{Seed: p.Seed(), Rules: make([]Rule, len(rules))}
	found := problems()
	for i, r := range rules {
		doc.Rules[i] = Rule{Name: r.Name, Target: r.Target, Limit: r.Limit, CoolDown: Duration(r.CoolDown),
			Group: r.Group, Layer: r.Layer}
		if r.When != nil {
			part := describePart[chaos.When](t, r.Name, r.When, found)
			doc.Rules[i].When = &part
		}
		doc.Rules[i].Fault = describePart[chaos.Fault](t, r.Name, r.Fault, found)
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	return doc, nil
}

// describePart writes one fault or trigger, and reads it back to check that
// nothing was lost.
func describePart[T any](t *table, rule string, v T, found *strictjson.Problems) (doc Part) {
	refuse := func(reason Reason, allowed string, cause error) Part {
		found.AddError(&Error{Rule: rule, Reason: reason, Value: fmt.Sprintf("%T %s", v, doc.Kind), Allowed: allowed,
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
	n, err := nodeOf(doc, maxBytes)
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
	row := t.side(reflect.TypeFor[T]() == reflect.TypeFor[chaos.When]()).rows[d.Kind]
	if row != nil && row.AsText && !reflect.DeepEqual(v, back) {
		return "an error or value that its text stands for, or one of Options.Errors or Options.Faults"
	}
	return ""
}

// An Error is one problem of a document, or of a plan that cannot be written.
// Decoding and encoding join all they find; use errors.As, or a type switch
// over Unwrap() []error, to get at them.
type Error struct {
	Pointer string // where, as a JSON pointer (RFC 6901) into the document; empty: the document as a whole
	Line    int    // of the value in the text, from 1; 0: not known
	Column  int    // in that line, in bytes, from 1; 0: not known
	Rule    string // the name of the rule, where an encoded plan is the matter
	Reason  Reason
	Value   string // the value there, as JSON, shortened; empty: there is none
	Allowed string // what is allowed instead
	Err     error  // the cause, where there is one, such as a [*chaos.ParamError]
}

// A Reason says in which way a document or plan was wrong.
type Reason string

// The reasons.
const (
	Syntax       Reason = "syntax"        // not JSON, not UTF-8, or something follows the document
	TooLarge     Reason = "too large"     // more bytes, depth or rules than the limits
	Duplicate    Reason = "duplicate"     // a member of an object, or a name, occurs twice
	UnknownField Reason = "unknown field" // a member that does not belong there
	UnknownKind  Reason = "unknown kind"  // no fault or trigger is called that
	Missing      Reason = "missing"       // a required member is not there
	WrongType    Reason = "wrong type"    // a string where a number belongs, and the like
	BadValue     Reason = "bad value"     // of the right type, and refused
	NeedsCode    Reason = "needs code"    // a fault or trigger that holds Go code or values which JSON has no place for
)

// Error names the place, the problem and what is allowed.
func (e *Error) Error() string {
	s := "planjson: "
	switch {
	case e.Rule != "":
		s += fmt.Sprintf("rule %q: ", e.Rule)
	case e.Pointer != "":
		s += e.Pointer + ": "
	}
	s += string(e.Reason)
	if e.Value != "" {
		s += " " + e.Value
	}
	if e.Err != nil && e.Err.Error() != "" {
		s += ": " + e.Err.Error()
	}
	if e.Allowed != "" {
		s += "; allowed: " + e.Allowed
	}
	return s
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// problems collects what is wrong, as errors of this package.
func problems() *strictjson.Problems {
	return &strictjson.Problems{List: fielderror.List{Of: "planjson"}, As: func(p *strictjson.Problem) error {
		return &Error{Pointer: p.Pointer, Line: p.Line, Column: p.Column, Reason: Reason(p.Reason), Value: p.Value,
			Allowed: p.Allowed, Err: p.Cause()}
	}}
}
