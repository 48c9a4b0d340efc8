package planjson

import (
	"bytes"
	"encoding/json"
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
func (p *Plan) Indented() ([]byte, error) { return indented(p) }

func indented(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, &Error{Reason: BadValue, Err: err}
	}
	found := problems{}
	found.As = func(p *strictjson.Problem) error { return located(p) }
	n := strictjson.Parse(data, math.MaxInt, &found.Problems)
	if n == nil {
		return nil, found.err()
	}
	var b bytes.Buffer
	n.Pretty(&b, "")
	b.WriteByte('\n')
	return b.Bytes(), found.err()
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
		Layer    string        `json:"layer,omitempty" bounds:"enum=|tool|llm|http|stream|point|context|control|resource|multi-agent"`
	}
)

func (r *ruleDoc) rule() chaos.Rule {
	return chaos.Rule{Name: r.Name, Target: r.Target, When: r.When, Fault: r.Fault,
		Limit: r.Limit, CoolDown: r.CoolDown, Group: r.Group, Layer: chaos.Layer(r.Layer)}
}

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
	n := strictjson.Parse(data, t.maxBytes, &b.Problems)
	if n == nil {
		return nil, b.Err()
	}
	plan := b.plan(n)
	return plan, b.Err()
}

// plan binds a document that is a plan; nil if there were problems.
func (b *binder) plan(n *strictjson.Node) *chaos.Plan {
	var doc planDoc
	b.Bind(n, reflect.ValueOf(&doc).Elem(), strictjson.Tag{})
	if b.Count() > 0 {
		return nil
	}
	return b.compile(doc.Seed, doc.Rules)
}

// compile has chaos check the rules and make the plan.
func (b *binder) compile(seed uint64, docs []ruleDoc) *chaos.Plan {
	rules := make([]chaos.Rule, len(docs))
	for i, doc := range docs {
		rules[i] = doc.rule()
	}
	plan, err := chaos.NewPlan(seed, rules...)
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
			e.Pointer = strictjson.Join(fmt.Sprintf("/rules/%d", r.Index), members[r.Field])
			if e.Allowed = r.Allowed; r.Value != nil {
				e.Value = strictjson.Short(fmt.Sprintf("%#v", r.Value))
				if d, ok := r.Value.(time.Duration); ok { // as the document has it, not in nanoseconds
					e.Value = fmt.Sprintf("%q", d.String())
				}
			}
			e.Err = &causeOf{r.Err, r}
		}
		b.add(e)
	}
}
