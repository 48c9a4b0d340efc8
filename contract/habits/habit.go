package habits

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/spared"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Habit is middleware around a registry of tools that a user may keep in production. The functions of this package
// make it. It keeps nothing of the calls, so it may be used many times and at the same time. The zero value, and one
// with a wrong option, act on no tool.
type Habit struct {
	// Name is the habit's name in events and reports, such as "idempotency-key".
	Name string
	// Does is what it does, as behind "mended by": "an idempotency key".
	Does string
	// Assumes is what must hold for the habit to help and do no harm, one sentence.
	Assumes string

	rank     rank
	tools    *glob.Glob // of the names of those on which it may act
	wrong    string     // what is wrong with its options; "": nothing
	watches  bool       // its handler also gets the calls of tools on which it does not act
	abstains func(t *chaos.Tool, all []chaos.Tool) (facts, string)
	start    func() handler // with a fresh state
}

// A rank is a habit's place in the order: a lower one is nearer to the agent.
type rank int

const (
	rankTell rank = iota
	rankStop
	rankSingle
	rankMemory
	rankKey // outside of what repeats, so that all tries have one key
	rankRetries
	rankLook
	rankSchema   // inside of what repeats: a bad result of a read is worth another try
	rankDeadline // of each try
)

// facts are what a habit finds out about a tool on which it can act.
type facts struct {
	reads  []read               // that show its effect
	schema *jsonschema.Resolved // of its results
}

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

// An operation identifies the calls of a tool with equal arguments.
type operation struct {
	tool string
	args uint64
}

func (c *call) operation() operation { return operation{c.tool.Name, jsonhash.Sum(c.args)} }

// Options are the settings of a habit that has no others; nil and the zero value work.
type Options struct {
	_ struct{}
	// Tools is a glob of the tools on which the habit may act; "": all.
	Tools string
}

// or returns the options that were given, or the zero value.
func or[T any](o *T) (options T) {
	if o != nil {
		options = *o
	}
	return options
}

// on sets the tools on which the habit may act.
func (h *Habit) on(tools string) *Habit {
	g, err := glob.Compile(cmp.Or(tools, "*"))
	if err != nil {
		h.wrong = fmt.Sprintf("Tools is %q: %v", tools, err)
	}
	h.tools = g
	return h
}

// notNegative notes a number of the options that is below 0.
func notNegative[N ~int | ~int64](h *Habit, field string, n N) {
	if n < 0 {
		h.wrong = fmt.Sprintf("%s is %v; allowed: 0 or more", field, n)
	}
}

// all acts on every tool.
func all(*chaos.Tool, []chaos.Tool) (f facts, why string) { return f, "" }

// effects acts on tools that are declared to have an effect.
func effects(t *chaos.Tool, _ []chaos.Tool) (f facts, why string) {
	if t.Effect != chaos.EffectDone {
		why = "it is not declared to have an effect"
	}
	return f, why
}

// On returns the names of the tools on which the habit can act. If there are none, abstains says why.
func (h *Habit) On(tools []chaos.Tool) (names []string, abstains string) {
	var reasons []string
	for i := range tools {
		if _, why := h.find(&tools[i], tools); why != "" {
			reasons = append(reasons, tools[i].Name+": "+why)
		} else {
			names = append(names, tools[i].Name)
		}
	}
	switch {
	case len(names) > 0:
		return names, ""
	case h.wrong != "":
		return nil, h.wrong
	case len(tools) == 0:
		return nil, "there are no tools"
	}
	return nil, text.Some(reasons, 3)
}

// Only returns the habit for these tools alone. A name of a tool on which it cannot act changes nothing.
func (h *Habit) Only(tools ...string) *Habit {
	own := *h
	names := make([]string, len(tools))
	for i, name := range tools {
		names[i] = glob.Literal(name)
	}
	return own.on("{" + strings.Join(names, ",") + "}")
}

// find returns what the habit needs to know of a tool, or why it does not act on it.
func (h *Habit) find(t *chaos.Tool, all []chaos.Tool) (facts, string) {
	switch {
	case h.abstains == nil:
		return facts{}, "the habit is the zero value"
	case h.wrong != "":
		return facts{}, h.wrong
	case !h.tools.Match(t.Name):
		return facts{}, "the options leave it out"
	}
	return h.abstains(t, all)
}

// All returns the habits of this package with their defaults, in the order of [Around].
func All() []*Habit {
	return []*Habit{TellFailures(nil), StopWhenPermanent(nil), OneAtATime(nil), RememberReads(nil),
		IdempotencyKeys(nil), Retries(nil), LookFirst(nil), CheckResults(nil), Deadlines(nil)}
}

// Around returns a function that wraps a registry in habits. It puts them in the order in which they work together,
// that of [All] from the agent inwards, whatever the order given: all tries of a call have one key, each try has a
// deadline of its own, and only a good result is remembered. Of two habits of one kind the first is the outer one; nil
// ones are left out.
//
// Each registry that it makes has a state of its own, which grows with the calls that fail. Make one for each run of
// an agent, or each conversation. The registry that is wrapped must not be nil.
func Around(all ...*Habit) func(chaos.ToolRegistry) chaos.ToolRegistry {
	inOrder := slices.DeleteFunc(slices.Clone(all), func(h *Habit) bool { return h == nil || h.start == nil })
	slices.SortStableFunc(inOrder, func(a, b *Habit) int { return cmp.Compare(a.rank, b.rank) })
	return func(inner chaos.ToolRegistry) chaos.ToolRegistry {
		r := &registry{ToolRegistry: inner, habits: inOrder}
		for _, h := range inOrder {
			r.handlers = append(r.handlers, h.start())
		}
		return r
	}
}

// A registry is one that habits are around.
type registry struct {
	chaos.ToolRegistry
	habits   []*Habit // the outermost first
	handlers []handler
	tools    atomic.Pointer[map[string]*listed] // nil: nobody has asked yet
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
		r.learn(tools)
	}
	return tools, err
}

func (r *registry) learn(tools []chaos.Tool) map[string]*listed {
	known := make(map[string]*listed, len(tools))
	for _, t := range tools {
		known[t.Name] = r.listed(t, tools)
	}
	r.tools.Store(&known)
	return known
}

func (r *registry) listed(t chaos.Tool, all []chaos.Tool) *listed {
	l := &listed{Tool: t}
	for _, h := range r.habits {
		f, why := h.find(&t, all)
		l.facts, l.acts = append(l.facts, f), append(l.acts, why == "")
	}
	return l
}

// known returns what is known of the tools. What a program's author knows of them does not depend on faults, so asking
// for it is no call of the agent. If it fails, the next call asks again.
func (r *registry) known(ctx context.Context) map[string]*listed {
	if known := r.tools.Load(); known != nil {
		return *known
	}
	tools, err := r.ToolRegistry.Tools(chaos.NewContext(spared.NewContext(ctx), nil))
	if err != nil {
		return nil
	}
	return r.learn(tools)
}

func (r *registry) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	return r.call(ctx, r.known(ctx), 0, name, args)
}

// call has the habits from a place in the order on deal with a call.
func (r *registry) call(ctx context.Context, known map[string]*listed, place int, name string,
	args json.RawMessage) (json.RawMessage, error) {
	t := known[name]
	if t == nil {
		t = r.listed(chaos.Tool{Name: name}, nil)
	}
	for ; place < len(r.habits); place++ {
		h := r.habits[place]
		if !t.acts[place] && !h.watches {
			continue
		}
		c := &call{facts: t.facts[place], tool: &t.Tool, acts: t.acts[place], args: args, habit: h.Name}
		c.next = func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
			return r.call(ctx, known, place+1, name, args)
		}
		return r.handlers[place](ctx, c)
	}
	return r.ToolRegistry.CallTool(ctx, name, args)
}

// draw returns a random number. In virtual time it is a function of the cell and the coordinates, so that a run can be
// repeated. In real time it is not: two processes that meet the same server must not agree.
func draw(ctx context.Context, coordinates ...uint64) uint64 {
	in := chaos.FromContext(ctx)
	if in == nil || !in.Virtual() {
		return rand.Uint64()
	}
	h := hash.Combine(hash.Mix(in.Seed()), hash.String(in.Cell()))
	h = hash.Combine(h, hash.String(chaos.LaneOf(ctx)))
	for _, c := range coordinates {
		h = hash.Combine(h, c)
	}
	return h
}
