package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// CorruptHandoff changes what one agent hands to another. The other agent gets
// the arguments after a JSON merge patch (RFC 7396), such as
// {"order":null,"amount":1}. The patch must be a JSON object. The event shows
// the arguments before and after.
//
// The arguments are JSON, or a Go value that encodes to JSON and decodes from
// it. If the patch does not change them, or does not fit them, they are passed
// on as they are, and the fault is not delivered. The same holds for an HTTP
// request, which is not a document.
//
// All faults of hand-offs act on the callable through which an agent hands
// over, which may be a tool.
func CorruptHandoff(patch json.RawMessage) chaos.Fault {
	return handoff{kind: "handoff_corrupt", class: chaos.ClassValue, params: struct {
		Patch json.RawMessage `json:"patch"`
	}{orNull(jsonvalue.Document(patch))}, check: func(c *param.Check) {
		v, err := numbered(patch)
		_, ok := v.(map[string]any)
		c.That(err == nil && ok, "patch", string(patch), "a JSON object")
	}, change: patching(patch)}
}

// CorruptHandoffWith is [CorruptHandoff] with a function on arguments of type
// T, or on JSON that decodes into T. Name and fn are required. fn has to meet
// the conditions of [Mutate].
func CorruptHandoffWith[T any](name string, fn func(T) T) chaos.Fault {
	typ := fmt.Sprint(reflect.TypeFor[T]())
	return handoff{kind: "handoff_corrupt", class: chaos.ClassValue, params: namedParams{name, typ}, check: func(c *param.Check) {
		c.That(name != "", "name", `""`, "a name that says what fn does")
		c.That(fn != nil, "fn", nil, "a function")
	}, change: func(args any) (any, error) {
		value, ok := fit[T](args)
		if !ok {
			return nil, fmt.Errorf("%T does not fit %s", args, typ)
		}
		return inForm(fn(value), args), nil
	}}
}

// Misroute sends a hand-off to another agent: it sets the member of the
// arguments that names the agent. The member's name is required. The rest is as
// with [CorruptHandoff]. If each agent has a callable of its own, use
// [MisrouteWith].
func Misroute(member, agent string) chaos.Fault {
	patch := fmt.Appendf(nil, "{%s:%s}", quoted(member), quoted(agent))
	return handoff{kind: "misroute", class: chaos.ClassProtocol, params: struct {
		Member string `json:"member"`
		Agent  string `json:"agent"`
	}{member, agent}, check: func(c *param.Check) {
		c.That(member != "", "member", strconv.Quote(member), "the name of a member of the arguments")
	}, change: patching(patch)}
}

func quoted(s string) json.RawMessage {
	doc, _ := json.Marshal(s) // a string always has JSON
	return doc
}

func patching(patch json.RawMessage) func(any) (any, error) {
	return func(args any) (any, error) {
		doc, isText := jsonvalue.Text(args)
		if !isText {
			doc = jsonvalue.Document(args)
		}
		out, err := merged(doc, patch)
		if err != nil || isText {
			return inForm(out, args), err
		}
		if args == nil {
			return nil, errors.New("there are none")
		}
		return jsonvalue.DecodeLike(out, args)
	}
}

// handoff is a fault that changes the arguments of a call.
type handoff struct {
	kind   string
	class  chaos.Class
	params any
	check  func(c *param.Check)
	change func(args any) (any, error)
}

type namedParams struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func (h handoff) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	skip(ctx)
	before := jsonvalue.Document(args)
	changed, err := h.change(args)
	if err != nil {
		chaos.Note(ctx, fmt.Sprintf("the arguments, %T, were not changed: %v", args, err))
		return next(ctx, args)
	}
	if after := jsonvalue.Document(changed); !equal(before, after) {
		chaos.Changed(ctx, chaos.Change{Path: "$args", Before: before, After: after})
		args = changed
	}
	return next(ctx, args)
}

// Phase puts the fault before the callee.
func (h handoff) Phase() chaos.Phase { return chaos.PhaseBefore }

func (h handoff) Check() error {
	c := param.Check{Kind: h.kind}
	h.check(&c)
	return c.Err()
}

func (h handoff) Describe() chaos.Description {
	return describeHandoff(h.kind, h.class, chaos.Implicit, chaos.EffectDone, h.params)
}

func describeHandoff(kind string, class chaos.Class, seen chaos.Visibility, effect chaos.Effect, params any) chaos.Description {
	return param.With(chaos.Description{
		Kind: kind, Layer: chaos.LayerMultiAgent, Class: class, Visibility: seen,
		Persistence: chaos.Transient, Effect: effect,
	}, params)
}
