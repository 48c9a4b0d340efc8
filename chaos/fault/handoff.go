package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// handoffRows are the faults of hand-offs between agents.
func handoffRows() []*catalog.Row {
	return []*catalog.Row{corruptHandoffRow, misrouteRow, handoffDroppedRow, cycleHandoffRow, handoffDelayedRow,
		messageStormRow,
		delegationRejectedRow}
}

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
	return corruptHandoff{patchParams{jsonvalue.Document(patch)}, patch}
}

var corruptHandoffRow = catalog.Fault(catalog.Row{
	Kind: "handoff_corrupt", Doc: "The arguments of a hand-off are changed.",
	Go: "fault.CorruptHandoff(patch), fault.CorruptHandoffWith(name, fn)", Example: `{"patch":{"order":"A9"}}`,
	Layer: chaos.LayerMultiAgent, Class: chaos.ClassValue, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p patchParams) chaos.Fault { return CorruptHandoff(p.Patch) })

type patchParams struct {
	Patch json.RawMessage `json:"patch" doc:"a JSON merge patch of the arguments (RFC 7396), an object"`
}

type corruptHandoff struct {
	patchParams
	patch json.RawMessage // as it was given
}

func (f corruptHandoff) Check() error {
	c := corruptHandoffRow.Check(f.patchParams)
	v, err := numbered(f.patch)
	_, ok := v.(map[string]any)
	c.That(err == nil && ok, "patch", string(f.patch), "a JSON object")
	return c.Err()
}

func (f corruptHandoff) Describe() chaos.Description {
	return corruptHandoffRow.Describe(f.patchParams)
}
func (f corruptHandoff) Phase() chaos.Phase { return chaos.PhaseBefore }

func (f corruptHandoff) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return withArgs(ctx, args, next, patching(f.patch))
}

// withArgs makes a call with the arguments that change returns.
func withArgs(ctx context.Context, args any, next chaos.Next, change func(args any) (any, error)) (any, error) {
	skip(ctx)
	before := jsonvalue.Document(args)
	changed, err := change(args)
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

// CorruptHandoffWith is [CorruptHandoff] with a function on arguments of type
// T, or on JSON that decodes into T. Name and fn are required. fn has to meet
// the conditions of [Mutate].
func CorruptHandoffWith[T any](name string, fn func(T) T) chaos.Fault {
	f := functionOf[T](name)
	return corruptHandoffWith{f, fn == nil, func(args any) (any, error) {
		value, ok := fit[T](args)
		if !ok {
			return nil, fmt.Errorf("%T does not fit %s", args, f.Type)
		}
		return inForm(fn(value), args), nil
	}}
}

type corruptHandoffWith struct {
	function
	missing bool
	change  func(args any) (any, error)
}

func (f corruptHandoffWith) Check() error {
	c := &catalog.Check{Kind: corruptHandoffRow.Kind}
	f.check(c, !f.missing)
	return c.Err()
}

func (f corruptHandoffWith) Describe() chaos.Description {
	return corruptHandoffRow.Describe(f.function)
}
func (f corruptHandoffWith) Phase() chaos.Phase { return chaos.PhaseBefore }

func (f corruptHandoffWith) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return withArgs(ctx, args, next, f.change)
}

// Misroute sends a hand-off to another agent: it sets the member of the
// arguments that names the agent. The member's name is required. The rest is as
// with [CorruptHandoff]. If each agent has a callable of its own, use
// [MisrouteWith].
func Misroute(member, agent string) chaos.Fault { return misroute{misrouteParams{member, agent}} }

var misrouteRow = catalog.Fault(catalog.Row{
	Kind: "misroute", Doc: "A hand-off goes to another agent.",
	Go: "fault.Misroute(member, agent), fault.MisrouteWith(name, to)", Example: `{"member":"agent","agent":"shipping"}`,
	Layer: chaos.LayerMultiAgent, Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p misrouteParams) chaos.Fault { return misroute{p} })

type misrouteParams struct {
	Member string `json:"member" doc:"of the arguments, which names the agent"`
	Agent  string `json:"agent" doc:"the other agent"`
}

type misroute struct{ misrouteParams }

func (f misroute) Check() error {
	c := misrouteRow.Check(f.misrouteParams)
	c.That(f.Member != "", "member", strconv.Quote(f.Member), "the name of a member of the arguments")
	return c.Err()
}

func (f misroute) Describe() chaos.Description { return misrouteRow.Describe(f.misrouteParams) }
func (f misroute) Phase() chaos.Phase          { return chaos.PhaseBefore }

func (f misroute) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	patch, _ := json.Marshal(map[string]string{f.Member: f.Agent}) // texts always have JSON
	return withArgs(ctx, args, next, patching(patch))
}

// MisrouteWith is [Misroute] by a function: it calls to, the callable of
// another agent, instead of the callee and with the same arguments. The caller
// gets its reply; an error of to is an injected error. Name appears in reports.
// Name and to are required.
//
// Arguments that neither have the type In nor decode into it reach the callee,
// and the event has a note. MisrouteWith does not apply to streams.
func MisrouteWith[In, Out any](name string, to func(context.Context, In) (Out, error)) chaos.Fault {
	m := misrouteWith{function: functionOf[In](name), missing: to == nil}
	m.call = func(ctx context.Context, args any) (result any, fits bool, err error) {
		in, ok := fit[In](args)
		if !ok {
			return nil, false, nil
		}
		result, err = to(ctx, in)
		return result, true, err
	}
	return m
}

type misrouteWith struct {
	function
	missing bool
	call    func(ctx context.Context, args any) (result any, fits bool, err error)
}

func (m misrouteWith) Check() error {
	c := catalog.Check{Kind: misrouteRow.Kind}
	c.That(m.Name != "", "name", `""`, "the name of the other agent")
	c.That(!m.missing, "to", nil, "a function")
	return c.Err()
}

// Describe says that the agent asked does nothing: another one does.
func (m misrouteWith) Describe() chaos.Description {
	d := misrouteRow.Describe(m.function)
	d.Effect = chaos.EffectNone
	return d
}

func (m misrouteWith) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, fits, err := m.call(ctx, args)
	if !fits {
		chaos.Note(ctx, fmt.Sprintf("the arguments, %T, do not fit %s", args, m.Type))
		return next(ctx, args)
	}
	return result, err
}

// CycleHandoff makes the other agent hand the task straight back: it is not
// reached, and the caller gets reply, which should look like a hand-off to the
// caller; it is a value as with [SilentNoOpWith]. Without a [chaos.Rule.Limit]
// this never ends. An invariant over the number of calls finds it.
func CycleHandoff(reply any) chaos.Fault { return cycleHandoff{kept(reply)} }

var cycleHandoffRow = catalog.Fault(catalog.Row{
	Kind: "handoff_cycle", Doc: "A hand-off is handed straight back.",
	Go: "fault.CycleHandoff(reply)", Example: `{"value":"please take over"}`,
	Layer: chaos.LayerMultiAgent, Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(p anyValue) chaos.Fault { return CycleHandoff(p.Value) })

type cycleHandoff struct{ reply any }

func (f cycleHandoff) Describe() chaos.Description {
	return cycleHandoffRow.Describe(anyValue{jsonvalue.Document(f.reply)})
}

func (f cycleHandoff) Inject(_ context.Context, _ chaos.Call, args any, _ chaos.Next) (any, error) {
	return kept(given(f.reply, args)), nil
}

// The others are labels of what can happen to any callable. A dropped hand-off
// needs a reply, and a delayed one takes a fixed time longer, so those two have
// parameters of their own.

var handoffDroppedRow = catalog.Fault(catalog.Row{
	Kind: "handoff_dropped", Doc: "A hand-off is lost, and its caller gets a reply all the same.",
	Go: `fault.As("handoff_dropped", fault.SilentNoOpWith(reply))`, Example: `{"value":"done"}`,
	Layer: chaos.LayerMultiAgent,
}.Of(silentNoOpRow), func(p anyValue) chaos.Fault { return As("handoff_dropped", SilentNoOpWith(p.Value)) })

var handoffDelayedRow = catalog.Fault(catalog.Row{
	Kind: "handoff_delayed", Doc: "A hand-off takes longer.",
	Go: `fault.As("handoff_delayed", fault.Delay(d))`, Example: `{"duration":"30s"}`, Layer: chaos.LayerMultiAgent,
}.Of(latencyRow), func(p delay) chaos.Fault { return As("handoff_delayed", Delay(p.Duration)) })

var messageStormRow = catalog.Label(repeatRow, catalog.Row{
	Kind: "message_storm", Doc: "The other agent gets the message many times.",
	Go:      `fault.As("message_storm", fault.Repeat(n))`,
	Example: `{"times":5}`, Layer: chaos.LayerMultiAgent,
}, As)

var delegationRejectedRow = catalog.Label(failRow, catalog.Row{
	Kind: "delegation_rejected", Doc: "The other agent does not take the task.",
	Go:      `fault.As("delegation_rejected", fault.Fail(err))`,
	Example: `{"message":"the agent declined the task"}`, Layer: chaos.LayerMultiAgent, Persistence: chaos.Permanent,
}, As)
