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
	return corruptHandoff.Of(patchParams{jsonvalue.Document(patch), patch})
}

var corruptHandoff = &catalog.Inject[patchParams]{
	Row: catalog.Row{
		Kind: "handoff_corrupt", Doc: "The arguments of a hand-off are changed.",
		Go: "fault.CorruptHandoff(patch)", Example: `{"patch":{"order":"A9"}}`,
		Layer: chaos.LayerMultiAgent, Class: chaos.ClassValue, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Phase: chaos.PhaseBefore,
	Prepare: func(p patchParams) patchParams {
		if p.patch == nil {
			p.patch = p.Patch
		}
		return p
	},
	Inject: func(ctx context.Context, _ chaos.Call, p patchParams, args any, next chaos.Next) (any, error) {
		return withArgs(ctx, args, next, patching(p.patch))
	},
}

type patchParams struct {
	Patch json.RawMessage `json:"patch" doc:"a JSON merge patch of the arguments (RFC 7396), an object"`
	patch json.RawMessage // as it was given
}

func (p patchParams) Check(c *catalog.Check) {
	v, err := numbered(p.patch)
	_, ok := v.(map[string]any)
	c.That(err == nil && ok, "patch", string(p.patch), "a JSON object")
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

// Misroute sends a hand-off to another agent: it sets the member of the
// arguments that names the agent. The member's name is required. The rest is as
// with [CorruptHandoff].
func Misroute(member, agent string) chaos.Fault { return misroute.Of(misrouteParams{member, agent}) }

var misroute = &catalog.Inject[misrouteParams]{
	Row: catalog.Row{
		Kind: "misroute", Doc: "A hand-off goes to another agent.",
		Go: "fault.Misroute(member, agent)", Example: `{"member":"agent","agent":"shipping"}`,
		Layer: chaos.LayerMultiAgent, Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Phase: chaos.PhaseBefore,
	Inject: func(ctx context.Context, _ chaos.Call, p misrouteParams, args any, next chaos.Next) (any, error) {
		patch, _ := json.Marshal(map[string]string{p.Member: p.Agent}) // texts always have JSON
		return withArgs(ctx, args, next, patching(patch))
	},
}

type misrouteParams struct {
	Member string `json:"member" doc:"of the arguments, which names the agent"`
	Agent  string `json:"agent" doc:"the other agent"`
}

func (p misrouteParams) Check(c *catalog.Check) {
	c.That(p.Member != "", "member", strconv.Quote(p.Member), "the name of a member of the arguments")
}

// CycleHandoff makes the other agent hand the task straight back: it is not
// reached, and the caller gets reply, which should look like a hand-off to the
// caller; it is a value as with [SilentNoOpWith]. Without a [chaos.Rule.Limit]
// this never ends. An invariant over the number of calls finds it.
func CycleHandoff(reply any) chaos.Fault { return cycleHandoff.Of(valueOf(reply)) }

var cycleHandoff = &catalog.Inject[anyValue]{
	Row: catalog.Row{
		Kind: "handoff_cycle", Doc: "A hand-off is handed straight back.",
		Go: "fault.CycleHandoff(reply)", Example: `{"value":"please take over"}`,
		Layer: chaos.LayerMultiAgent, Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Effect: chaos.EffectNone,
	},
	Prepare: anyValue.given,
	Inject: func(_ context.Context, _ chaos.Call, p anyValue, args any, _ chaos.Next) (any, error) {
		return kept(forCaller(p.v, args)), nil
	},
}

// The others are labels of what can happen to any callable. A dropped hand-off
// needs a reply, and a delayed one takes a fixed time longer, so those two have
// parameters of their own.

var handoffDropped = &catalog.Label[anyValue]{
	Row: catalog.Row{
		Kind: "handoff_dropped", Doc: "A hand-off is lost, and its caller gets a reply all the same.",
		Go: `fault.As("handoff_dropped", fault.SilentNoOpWith(reply))`, Example: `{"value":"done"}`,
		Layer: chaos.LayerMultiAgent,
	},
	Base: silentNoOp, Make: func(p anyValue) chaos.Fault { return SilentNoOpWith(p.Value) },
}

var handoffDelayed = &catalog.Label[delay]{
	Row: catalog.Row{
		Kind: "handoff_delayed", Doc: "A hand-off takes longer.",
		Go: `fault.As("handoff_delayed", fault.Delay(d))`, Example: `{"duration":"30s"}`, Layer: chaos.LayerMultiAgent,
	},
	Base: latency, Make: func(p delay) chaos.Fault { return Delay(p.Duration) },
}

var messageStorm = &catalog.Label[times]{
	Row: catalog.Row{
		Kind: "message_storm", Doc: "The other agent gets the message many times.",
		Go:      `fault.As("message_storm", fault.Repeat(n))`,
		Example: `{"times":5}`, Layer: chaos.LayerMultiAgent,
	},
	Base: repeat, Make: func(p times) chaos.Fault { return repeat.Of(p) },
}

var delegationRejected = &catalog.Label[message]{
	Row: catalog.Row{
		Kind: "delegation_rejected", Doc: "The other agent does not take the task.",
		Go:      `fault.As("delegation_rejected", fault.Fail(err))`,
		Example: `{"message":"the agent declined the task"}`, Layer: chaos.LayerMultiAgent,
		Persistence: chaos.Permanent,
	},
	Base: fail, Make: func(p message) chaos.Fault { return fail.Of(p) },
}
