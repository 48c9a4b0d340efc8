package lies

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// InText applies a lie to a document within a text, as the tools of MCP servers
// return it: {"content":[{"type":"text","text":"{\"total\":19.90}"}]}. f is a
// lie of this package that looks at one result alone, not one that remembers;
// its own paths begin in the inner document. The paths here name texts that
// hold a JSON object or list; without them one is drawn.
func InText(f chaos.Fault, paths ...string) chaos.Fault {
	return inTextRow.Of(inText{f, pathsIn(paths)})
}

var inTextRow = row(catalog.Row{
	Kind: "lie_in_text", Doc: "A document within a text is changed by another lie.",
	Go: "lies.InText(f, paths...)", Example: `{"fault":{"kind":"wrong_number","params":{"within":0.1}}}`,
	Class: chaos.ClassValue,
}, func(p inText) lie {
	inner, _ := p.Fault.(*lie)
	return lie{inner: inner, wants: "text with JSON", rank: holdsJSON,
		apply: func(e *edit, i int) bool {
			d, ok := jsonedit.Parse([]byte(e.doc.String(i)))
			if !ok || inner == nil || repeats(d) {
				return false
			}
			within := &edit{call: e.call, doc: d}
			inner.applyTo(within)
			return len(within.changes) > 0 && e.replace(i, jsonedit.Quote(string(within.text())))
		}}
})

type inText struct {
	Fault chaos.Fault `json:"fault" doc:"a lie about one result"`
	where
}

func (p inText) Check(c *catalog.Check) {
	_, one := p.Fault.(*lie)
	c.That(one, "fault", nameOfFault(p.Fault), "a lie about one result")
	c.Part("fault", p.Fault)
	p.where.Check(c)
}

// nameOfFault is the kind of a fault, or its type.
func nameOfFault(f chaos.Fault) string {
	if d, ok := f.(chaos.Described); ok {
		return d.Describe().Kind
	}
	return fmt.Sprintf("%T", f)
}

// holdsJSON reports whether a text is an object or a list.
func holdsJSON(e *edit, i int) int {
	if e.doc.Kind(i) != jsonedit.String {
		return 0
	}
	d, ok := jsonedit.Parse([]byte(e.doc.String(i)))
	if !ok || isScalar(d.Kind(0)) {
		return 0
	}
	return 1
}

// Arguments applies a lie to the arguments of a call instead of its result, as
// when a model makes up an argument or a hand-off garbles one. f is a fault of
// this package that acts on results, or another of [chaos.PhaseChange]. The
// event's changes are those of the arguments; where a note says result, it
// means the arguments. Around a function that calls a model it damages the
// request: its messages, its list of tools.
//
// It acts in the callee's place, so at most one such fault acts on a call. Its
// effect is unknown: the callee did something else than it was asked.
func Arguments(f chaos.Fault) chaos.Fault { return argumentsRow.Of(byFault{f}) }

var argumentsRow = &catalog.Own[byFault, chaos.Fault]{
	Row: catalog.Row{
		Kind: "changed_call", Doc: "The arguments of the call are changed by a fault that changes results.",
		Go: "lies.Arguments(f)", Example: `{"fault":{"kind":"wrong_number","params":{"within":0.1}}}`,
		Class: chaos.ClassValue, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectUnknown,
	},
	Make: func(m catalog.Made[byFault]) chaos.Fault {
		if _, ok := m.Params.Fault.(chaos.Stateful); ok {
			return statefulArguments{arguments{m}}
		}
		return arguments{m}
	},
}

type byFault struct {
	Fault chaos.Fault `json:"fault" doc:"a fault that changes results"`
}

func (p byFault) Check(c *catalog.Check) {
	phased, ok := p.Fault.(chaos.Phased)
	c.That(ok && phased.Phase() == chaos.PhaseChange, "fault", nameOfFault(p.Fault), "a fault that changes results")
	c.Part("fault", p.Fault)
}

// Coordinates has the class of the fault that changes the arguments, if that has
// one.
func (p byFault) Coordinates(d *chaos.Description) {
	if of, ok := p.Fault.(chaos.Described); ok {
		d.Class = of.Describe().Class
	}
}

type arguments struct{ catalog.Made[byFault] }

// statefulArguments is arguments around a lie that remembers earlier calls.
type statefulArguments struct{ arguments }

func (a statefulArguments) Fresh() chaos.Fault {
	a.Params.Fault = a.Params.Fault.(chaos.Stateful).Fresh()
	return a.arguments
}

func (a arguments) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	changed, err := a.Params.Fault.Inject(ctx, c, args, func(context.Context, any) (any, error) { return args, nil })
	if err != nil {
		return nil, err
	}
	return next(ctx, changed)
}
