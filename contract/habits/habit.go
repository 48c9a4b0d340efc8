package habits

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
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

	rank    rank
	options Options
	tools   *glob.Glob // Options.Tools
	only    []string   // of these tools; nil: all
	wrong   []string   // what is wrong with the options that were given
	start   func(o Options) state
}

// A state is what a habit keeps of the calls of one registry.
type state struct {
	// on returns what the habit does with the calls of a tool, or why it does not act on it.
	on func(t *chaos.Tool, all []chaos.Tool) (act handler, why string)
	// watch gets the calls of the other tools. nil: they pass.
	watch handler
}

// onAny is the state of a habit that acts on every tool.
func onAny(act handler) state {
	return state{on: func(*chaos.Tool, []chaos.Tool) (handler, string) { return act, "" }}
}

// onEffect is that of one that acts on tools that declare an effect, or why not.
func onEffect(e chaos.Effect, why string, act handler) state {
	return state{on: func(t *chaos.Tool, _ []chaos.Tool) (handler, string) {
		if t.Effect != e {
			return nil, why
		}
		return act, ""
	}}
}

const noEffect = "it is not declared to have an effect"

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

// Options are the settings of a habit; nil and the zero value work. A field that the habit does not know and a number
// below 0 are wrong: [Habit.On] says so.
type Options struct {
	_ struct{}
	// Tools is a glob of the tools on which the habit may act; "": all. All habits know it.
	Tools string
	// After is the time that a call may take, for [Deadlines]; 0: 10 s.
	After time.Duration
	// For is how long an answer is remembered, for [RememberReads] and [StopWhenPermanent]; 0: a minute.
	For time.Duration
	// Tries is the number of calls in all, for [Retries] (0: 4) and [LookFirst] (0: 3).
	Tries int
	// Wait is for [Retries] the pause before the second try; 0: 250 ms. It doubles with each further one, and up to a
	// quarter of each pause is left out, at random. For [LookFirst] it is the pause before each look after a failure;
	// 0: 1 s. Work that goes on in the tool after a failure must be done by then.
	Wait time.Duration
	// MaxWait is the longest pause of [Retries], and the longest that a callee may ask for; 0: 30 s. It is not called
	// again if it asks for a longer one, also by [LookFirst].
	MaxWait time.Duration
	// Reads has for a tool the name of the one that shows its effect, for [LookFirst]. For a tool that it does not name
	// it is the only one that is declared to change nothing, requires an argument, and requires none that the tool does
	// not take.
	Reads map[string]string
	// Result makes the result of a call whose effect is shown by what the read returned, for [LookFirst]. It must be
	// safe for concurrent use. nil, or an error: an object with the members "done", true, "note", a sentence, and
	// "shown", what the read returned.
	Result func(tool string, args, shown json.RawMessage) (json.RawMessage, error)
}

// habit completes a habit by what o sets of its options. It knows those that have a default.
func (o *Options) habit(h *Habit) *Habit {
	h.options.Tools = "*"
	if o == nil {
		o = &Options{}
	}
	given, own := reflect.ValueOf(*o), reflect.ValueOf(&h.options).Elem()
	for i := range given.NumField() {
		name, value := given.Type().Field(i).Name, given.Field(i)
		switch {
		case value.IsZero():
		case own.Field(i).IsZero():
			h.wrong = append(h.wrong, fmt.Sprintf("%s is set, but %s does not know it", name, h.Name))
		case value.CanInt() && value.Int() < 0:
			h.wrong = append(h.wrong, fmt.Sprintf("%s is %v; allowed: 0 or more", name, value))
		default:
			own.Field(i).Set(value)
		}
	}
	var err error
	if h.tools, err = glob.Compile(h.options.Tools); err != nil {
		h.wrong = append(h.wrong, fmt.Sprintf("Tools is %q: %v", h.options.Tools, err))
	}
	return h
}

// find returns what the habit does with the calls of a tool (nil: they pass) and, if it does not act on it, why.
func (h *Habit) find(s state, t *chaos.Tool, all []chaos.Tool) (do handler, why string) {
	switch {
	case len(h.wrong) > 0:
		return nil, "its options are wrong"
	case !h.tools.Match(t.Name):
		return s.watch, "the options leave it out"
	case h.only != nil && !slices.Contains(h.only, t.Name):
		return s.watch, "it is not for this tool"
	}
	if do, why = s.on(t, all); why != "" {
		do = s.watch
	}
	return do, why
}

// On returns the names of the tools on which the habit can act. If there are none, abstains says why.
func (h *Habit) On(tools []chaos.Tool) (names []string, abstains string) {
	if h.start == nil {
		return nil, "the habit is the zero value"
	}
	reasons, s := []string{}, h.start(h.options)
	for i := range tools {
		if _, why := h.find(s, &tools[i], tools); why != "" {
			reasons = append(reasons, tools[i].Name+": "+why)
		} else {
			names = append(names, tools[i].Name)
		}
	}
	switch {
	case len(names) > 0:
		return names, ""
	case len(h.wrong) > 0:
		reasons = h.wrong
	case len(tools) == 0:
		return nil, "there are no tools"
	}
	return nil, text.Some(reasons, 3)
}

// Only returns the habit for some of the tools on which it acts, by their names.
func (h *Habit) Only(tools ...string) *Habit {
	own := *h
	own.only = append([]string{}, tools...)
	return &own
}

// All returns the habits of this package with their defaults, in the order of [Around].
func All() []*Habit {
	return []*Habit{TellFailures(nil), StopWhenPermanent(nil), OneAtATime(nil), RememberReads(nil),
		IdempotencyKeys(nil), Retries(nil), LookFirst(nil), CheckResults(nil), Deadlines(nil)}
}

// A handler does with a call what its habit does.
type handler func(ctx context.Context, c *call) (json.RawMessage, error)

// A call is one call on its way to a tool.
type call struct {
	tool  *chaos.Tool // as it declares itself; with no more than its name if it is not listed
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
		return wrap(worker{inner}, layersOf(all))
	}
}

// A worker is a registry whose tools know from their context during which work they call others: [during] is a key of
// it, with a value of its own for each call.
type worker struct{ chaos.ToolRegistry }

type during struct{}

func (w worker) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	return w.ToolRegistry.CallTool(context.WithValue(ctx, during{}, new(int)), name, args)
}

// A layer is a habit with its state.
type layer struct {
	*Habit
	state
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

// wrap puts layers around a registry, the last one innermost.
func wrap(r chaos.ToolRegistry, layers []layer) chaos.ToolRegistry {
	for _, l := range slices.Backward(layers) {
		r = &registry{ToolRegistry: r, layer: l}
	}
	return r
}

// A registry is one that a habit is around.
type registry struct {
	chaos.ToolRegistry
	layer
	known atomic.Pointer[map[string]listed] // nil: nobody has asked yet
}

// A listed tool is what the habit knows of it.
type listed struct {
	chaos.Tool
	do handler // nil: its calls pass
}

// Tools lists the tools as they are.
func (r *registry) Tools(ctx context.Context) ([]chaos.Tool, error) {
	tools, err := r.ToolRegistry.Tools(ctx)
	if err == nil {
		known := make(map[string]listed, len(tools))
		for _, t := range tools {
			do, _ := r.find(r.state, &t, tools)
			known[t.Name] = listed{t, do}
		}
		r.known.Store(&known)
	}
	return tools, err
}

// CallTool has the habit deal with a call. What a program's author knows of the tools does not depend on faults, so
// asking for it is no call of the agent. If it fails, nothing is known of them, and the next call asks again.
func (r *registry) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if r.known.Load() == nil {
		_, _ = r.Tools(chaos.NewContext(spared.NewContext(ctx), nil))
	}
	var t listed
	if known := r.known.Load(); known != nil {
		t = (*known)[name]
	}
	if t.Name == "" {
		t.Name = name
		t.do, _ = r.find(r.state, &t.Tool, nil)
	}
	if t.do == nil {
		return r.ToolRegistry.CallTool(ctx, name, args)
	}
	return t.do(ctx, &call{tool: &t.Tool, args: args, habit: r.Name, next: r.ToolRegistry.CallTool})
}

// draw returns a random number for a call: a function of the seed, a cell, the lane, the operation and the coordinates,
// so that a run can be repeated. In real time nothing is drawn so: two processes that meet the same server must not
// agree.
func draw(ctx context.Context, in *chaos.Injector, cell string, op operation, coordinates ...uint64) uint64 {
	h := hash.Combine(hash.Mix(in.Seed()), hash.String(cell))
	h = hash.Combine(hash.Combine(h, hash.String(chaos.LaneOf(ctx))), hash.String(op.tool))
	for _, c := range append(coordinates, op.args) {
		h = hash.Combine(h, c)
	}
	return h
}
