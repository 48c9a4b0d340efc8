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

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/spared"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Habit is middleware around a registry of tools that a user may keep in production. It is made by the functions
// of this package. A Habit keeps nothing of the calls, so it may be used many times and at the same time; the zero
// value acts on no tool.
type Habit struct {
	// Name is the habit's name in events and reports, such as "idempotency-key".
	Name string
	// Does is what it does, as behind "mended by": "an idempotency key".
	Does string
	// Assumes is what must hold for the habit to help and do no harm, in one sentence.
	Assumes string

	rank  rank
	tools string // a glob of the tools on which it may act; "": all
	wrong string // what is wrong with its options; "": nothing
	// abstains says why it cannot act on a tool of a list; "": it can.
	abstains func(t *chaos.Tool, all []chaos.Tool) string
	start    func(h *Habit) handler // a handler with a fresh state
	overHTTP func() exchange        // nil: it makes no sense there
}

// A rank is a habit's place in the order: a lower one is nearer to the agent.
type rank int

const (
	rankTold rank = iota
	rankFinal
	rankSingle
	rankMemory
	rankKey // outside of what repeats, so that all tries have one key
	rankRetries
	rankLook
	rankSchema // inside of what repeats: a bad result of a read is worth another try
	rankDeadline
)

// A caller is how a habit reaches the tools: CallTool of the registry that the next habit makes.
type caller func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)

// A handler does with a call what its habit does. It also gets the calls of tools on which the habit does not act.
type handler func(ctx context.Context, c *call, next caller) (json.RawMessage, error)

// A call is one call on its way to a tool.
type call struct {
	tool  *chaos.Tool  // as it declares itself; without declarations if it is not listed
	all   []chaos.Tool // the tools that are listed
	acts  bool         // the habit acts on the tool
	habit *Habit
	args  json.RawMessage
}

// pass hands the call on as it is.
func (c *call) pass(ctx context.Context, next caller) (json.RawMessage, error) {
	return next(ctx, c.tool.Name, c.args)
}

// own hands the call on as one of the habit's own.
func (c *call) own(ctx context.Context, next caller) (json.RawMessage, error) {
	return c.pass(chaos.WithHabit(ctx, c.habit.Name), next)
}

// reads reports whether the tool is declared to change nothing.
func (c *call) reads() bool { return c.tool.Effect == chaos.EffectNone }

// An operation identifies calls of a tool with equal arguments.
type operation struct {
	tool string
	args uint64
}

func (c *call) operation() operation { return operation{c.tool.Name, jsonhash.Sum(c.args)} }

// On returns the names of the tools on which the habit can act. If there are none, abstains says why.
func (h *Habit) On(tools []chaos.Tool) (names []string, abstains string) {
	var reasons []string
	of := map[string][]string{}
	for i := range tools {
		name, why := tools[i].Name, h.whyNot(&tools[i], tools)
		if why == "" {
			names = append(names, name)
			continue
		}
		if of[why] == nil {
			reasons = append(reasons, why)
		}
		of[why] = append(of[why], name)
	}
	switch {
	case len(names) > 0:
		return names, ""
	case h.wrong != "":
		return nil, h.wrong
	case len(tools) == 0:
		return nil, "there are no tools"
	}
	for i, why := range reasons {
		reasons[i] = why + " (" + text.Some(of[why], 3) + ")"
	}
	return nil, strings.Join(reasons, "; ")
}

// Only returns the habit for these tools alone. A name of a tool on which it cannot act changes nothing.
func (h *Habit) Only(tools ...string) *Habit {
	own := *h
	names := make([]string, len(tools))
	for i, name := range tools {
		names[i] = glob.Literal(name)
	}
	own.tools = "{" + strings.Join(names, ",") + "}"
	return &own
}

// whyNot says why the habit does not act on a tool; "": it does.
func (h *Habit) whyNot(t *chaos.Tool, all []chaos.Tool) string {
	switch g, err := glob.Compile(cmp.Or(h.tools, "*")); {
	case h.abstains == nil:
		return "it is no habit of this package"
	case h.wrong != "":
		return h.wrong
	case err != nil:
		return fmt.Sprintf("Tools is %q: %v", h.tools, err)
	case !g.Match(t.Name):
		return "not among the tools of its options"
	}
	return h.abstains(t, all)
}

// All returns the habits of this package with their defaults, in the order in which [Around] puts them.
func All() []*Habit {
	return []*Habit{TellFailures(nil), StopWhenFinal(nil), OneAtATime(nil), RememberReads(nil), IdempotencyKeys(nil),
		Retries(nil), LookFirst(nil), CheckResults(nil), Deadlines(nil)}
}

// Around returns a function that wraps a registry in habits, in the one order in which they work together, whatever
// the order given; nil ones are left out. Each registry that it makes has a state of its own, such as what it
// remembers: make one for each run of an agent, or one for a program. Of two habits of one kind the first is the outer
// one. The registry that is wrapped must not be nil.
func Around(all ...*Habit) func(chaos.ToolRegistry) chaos.ToolRegistry {
	sorted := slices.DeleteFunc(slices.Clone(all), func(h *Habit) bool { return h == nil || h.start == nil })
	slices.SortStableFunc(sorted, func(a, b *Habit) int { return cmp.Compare(a.rank, b.rank) })
	return func(inner chaos.ToolRegistry) chaos.ToolRegistry {
		r := &registry{inner: inner, habits: sorted}
		for _, h := range sorted {
			r.handlers = append(r.handlers, h.start(h))
		}
		return r
	}
}

// A registry is one that habits are around.
type registry struct {
	inner    chaos.ToolRegistry
	habits   []*Habit // the outermost first
	handlers []handler
	listed   atomic.Pointer[listing] // nil: the tools were not listed yet
}

// A listing is what is known of the tools.
type listing struct {
	all   []chaos.Tool
	tools map[string]*listedTool
}

type listedTool struct {
	chaos.Tool
	acts []bool // of each habit
}

func (r *registry) entry(t chaos.Tool, all []chaos.Tool) *listedTool {
	l := &listedTool{Tool: t}
	for _, h := range r.habits {
		l.acts = append(l.acts, h.whyNot(&l.Tool, all) == "")
	}
	return l
}

// Tools lists the tools as they are.
func (r *registry) Tools(ctx context.Context) ([]chaos.Tool, error) {
	tools, err := r.inner.Tools(ctx)
	if err == nil {
		r.learn(tools)
	}
	return tools, err
}

func (r *registry) learn(tools []chaos.Tool) *listing {
	l := &listing{slices.Clone(tools), make(map[string]*listedTool, len(tools))}
	for _, t := range l.all {
		l.tools[t.Name] = r.entry(t, l.all)
	}
	r.listed.Store(l)
	return l
}

// known returns what is known of the tools. It asks for it if nobody has yet: that is no call of the agent, and
// what the program's author knows of the tools does not depend on faults.
func (r *registry) known(ctx context.Context) *listing {
	if l := r.listed.Load(); l != nil {
		return l
	}
	tools, err := r.inner.Tools(chaos.NewContext(spared.NewContext(ctx), nil))
	if err != nil {
		return &listing{} // the next call asks again
	}
	return r.learn(tools)
}

func (r *registry) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	return r.call(ctx, r.known(ctx), 0, name, args)
}

// call has the habits from a place in the order on deal with a call.
func (r *registry) call(ctx context.Context, l *listing, place int, name string, args json.RawMessage) (json.RawMessage, error) {
	if place == len(r.habits) {
		return r.inner.CallTool(ctx, name, args)
	}
	t := l.tools[name]
	if t == nil {
		t = r.entry(chaos.Tool{Name: name}, l.all)
	}
	c := &call{tool: &t.Tool, all: l.all, acts: t.acts[place], habit: r.habits[place], args: args}
	return r.handlers[place](ctx, c, func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
		return r.call(ctx, l, place+1, name, args)
	})
}

// draw returns a random number. In virtual time it is a function of the cell and the coordinates, so that a run
// can be repeated. In real time it never is: two processes that meet the same server must not agree.
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
