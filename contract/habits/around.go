package habits

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/spared"
)

// A handler does with a call what its habit does.
type handler func(ctx context.Context, c *call) (json.RawMessage, error)

// A call is one call on its way to a tool.
type call struct {
	facts
	tool  *chaos.Tool // as it declares itself; with no more than its name if it is not listed
	acts  bool        // the habit acts on the tool
	args  json.RawMessage
	habit string // its name
	// next calls a tool within the habit.
	next func(ctx context.Context, tool string, args json.RawMessage) (json.RawMessage, error)
}

// pass hands the call on as it is.
func (c *call) pass(ctx context.Context) (json.RawMessage, error) {
	return c.next(ctx, c.tool.Name, c.args)
}

// own marks a context for calls that the habit makes of its own.
func (c *call) own(ctx context.Context) context.Context { return chaos.WithHabit(ctx, c.habit) }

func (c *call) changesNothing() bool { return c.tool.Effect == chaos.EffectNone }

// hasKey reports whether the arguments have the key that the tool declares.
func (c *call) hasKey() bool { return jsonedit.Given(c.args, c.tool.IdempotencyKey) }

// An operation identifies the calls of a tool with equal arguments.
type operation struct {
	tool string
	args uint64
}

func (c *call) operation() operation { return operation{c.tool.Name, jsonhash.Sum(c.args)} }

// Around returns a function that wraps a registry in habits. It puts them in the order in which they work together,
// that of [All] from the agent inwards, whatever the order given: all tries of a call have one key, each try has a
// deadline of its own, and only a good result is remembered. Of two habits of one kind the first is the outer one; nil
// ones are left out.
//
// Each registry that it makes has a state of its own, which grows with the calls that fail. Make one for each run of
// an agent, or each conversation. The registry that is wrapped must not be nil.
func Around(all ...*Habit) func(chaos.ToolRegistry) chaos.ToolRegistry {
	return func(inner chaos.ToolRegistry) chaos.ToolRegistry {
		return &registry{ToolRegistry: inner, layers: layersOf(all)}
	}
}

// A layer is a habit with a state.
type layer struct {
	*Habit
	handle handler
}

// layersOf starts habits, in their order.
func layersOf(all []*Habit) (layers []layer) {
	for _, h := range all {
		if h != nil && h.start != nil {
			layers = append(layers, layer{h, h.start(h.options)})
		}
	}
	slices.SortStableFunc(layers, func(a, b layer) int { return cmp.Compare(a.rank, b.rank) })
	return layers
}

// A registry is one that habits are around.
type registry struct {
	chaos.ToolRegistry
	layers []layer                            // the outermost first
	tools  atomic.Pointer[map[string]*listed] // nil: nobody has asked yet
}

// A listed tool is what the habits know of it.
type listed struct {
	chaos.Tool
	facts []facts // of each habit
	acts  []bool
}

// Tools lists the tools as they are.
func (r *registry) Tools(ctx context.Context) ([]chaos.Tool, error) {
	tools, err := r.ToolRegistry.Tools(ctx)
	if err == nil {
		known := make(map[string]*listed, len(tools))
		for _, t := range tools {
			known[t.Name] = r.listed(t, tools)
		}
		r.tools.Store(&known)
	}
	return tools, err
}

func (r *registry) listed(t chaos.Tool, all []chaos.Tool) *listed {
	l := &listed{Tool: t}
	for _, h := range r.layers {
		f, why := h.find(&t, all)
		l.facts, l.acts = append(l.facts, f), append(l.acts, why == "")
	}
	return l
}

// CallTool has the habits deal with a call. What a program's author knows of the tools does not depend on faults, so
// asking for it is no call of the agent. If it fails, the next call asks again.
func (r *registry) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if r.tools.Load() == nil {
		_, _ = r.Tools(chaos.NewContext(spared.NewContext(ctx), nil)) // while it fails, nothing is known of the tools
	}
	var known map[string]*listed
	if now := r.tools.Load(); now != nil {
		known = *now
	}
	return r.call(ctx, known, 0, name, args)
}

// call has the habits from a place in the order on deal with a call.
func (r *registry) call(ctx context.Context, known map[string]*listed, place int, name string,
	args json.RawMessage) (json.RawMessage, error) {
	t := known[name]
	if t == nil {
		t = r.listed(chaos.Tool{Name: name}, nil)
	}
	for ; place < len(r.layers); place++ {
		h := r.layers[place]
		if !t.acts[place] && !h.watches {
			continue
		}
		c := &call{facts: t.facts[place], tool: &t.Tool, acts: t.acts[place], args: args, habit: h.Name}
		c.next = func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
			return r.call(ctx, known, place+1, name, args)
		}
		return h.handle(ctx, c)
	}
	return r.ToolRegistry.CallTool(ctx, name, args)
}

// draw returns a random number for a call. In virtual time it is a function of the cell, the lane, the operation and
// the coordinates, so that a run can be repeated. In real time it is not: two processes that meet the same server must
// not agree.
func draw(ctx context.Context, op operation, coordinates ...uint64) uint64 {
	in := chaos.FromContext(ctx)
	if in == nil || !in.Virtual() {
		return rand.Uint64()
	}
	h := hash.Combine(hash.Mix(in.Seed()), hash.String(in.Cell()))
	h = hash.Combine(hash.Combine(h, hash.String(chaos.LaneOf(ctx))), hash.String(op.tool))
	for _, c := range append(coordinates, op.args) {
		h = hash.Combine(h, c)
	}
	return h
}
