package habits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/habits"
)

// A desk is a registry of scripted tools. It is the oracle: it knows which work was done.
//
//	get     shows the refunds of an order, and is declared to change nothing
//	refund  refunds an order, is declared to have an effect, and knows no key
//	charge  charges an order, once for each key
//	note    declares nothing
//	clock   is declared to change nothing, needs nothing, and returns the time
type desk struct {
	mu     sync.Mutex
	script map[string][]step // of the calls of a tool, in order; then all is well
	refund map[string]int    // by order
	keys   map[string]bool
	done   []string // the work
	tools  []chaos.Tool
}

// A step is what happens to a call. work does the tool's work.
type step func(ctx context.Context, work func() string) (json.RawMessage, error)

func fine(_ context.Context, work func() string) (json.RawMessage, error) {
	return json.RawMessage(work()), nil
}

// down fails before the work, and lost after it.
func down(err error) step {
	return func(context.Context, func() string) (json.RawMessage, error) { return nil, err }
}

func lost(err error) step {
	return func(_ context.Context, work func() string) (json.RawMessage, error) { work(); return nil, err }
}

// says returns a document in place of the tool's.
func says(doc string) step {
	return func(_ context.Context, work func() string) (json.RawMessage, error) {
		work()
		return json.RawMessage(doc), nil
	}
}

// slow takes a time, and heeds the context.
func slow(d time.Duration, then step) step {
	return func(ctx context.Context, work func() string) (json.RawMessage, error) {
		if err := chaos.Sleep(ctx, d); err != nil {
			return nil, err
		}
		return then(ctx, work)
	}
}

// calls makes another call before its work, through the registry that the context has from within.
func calls(name, args string) step {
	return func(ctx context.Context, work func() string) (json.RawMessage, error) {
		tools := ctx.Value(toolsKey{}).(chaos.ToolRegistry)
		if _, err := tools.CallTool(ctx, name, json.RawMessage(args)); err != nil {
			return nil, err
		}
		return fine(ctx, work)
	}
}

type toolsKey struct{}

func within(ctx context.Context, tools chaos.ToolRegistry) context.Context {
	return context.WithValue(ctx, toolsKey{}, tools)
}

func bursts(context.Context, func() string) (json.RawMessage, error) { panic("burst") }

func schema(required, optional string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"` + required + `":{},"` + optional + `":{}},"required":["` + required + `"]}`)
}

func newDesk(script map[string][]step) *desk {
	return &desk{script: maps.Clone(script), refund: map[string]int{}, keys: map[string]bool{}, tools: []chaos.Tool{
		{Name: "get", Effect: chaos.EffectNone, InputSchema: schema("order", "verbose"),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"refunds":{"type":"integer"}},"required":["refunds"]}`)},
		{Name: "refund", Effect: chaos.EffectDone, InputSchema: schema("order", "amount"),
			OutputSchema: json.RawMessage(`{"type":"string"}`)},
		{Name: "charge", Effect: chaos.EffectDone, InputSchema: schema("amount", "key"), IdempotencyKey: "/key"},
		{Name: "note"},
		{Name: "clock", Effect: chaos.EffectNone},
	}}
}

func (d *desk) Tools(context.Context) ([]chaos.Tool, error) { return d.tools, nil }

func (d *desk) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	d.mu.Lock()
	next := step(fine)
	if s := d.script[name]; len(s) > 0 {
		next, d.script[name] = s[0], s[1:]
	}
	d.mu.Unlock()
	return next(ctx, func() string {
		d.mu.Lock()
		defer d.mu.Unlock()
		var in struct{ Order, Key, Amount string }
		_ = json.Unmarshal(args, &in)
		switch {
		case name == "get":
			return fmt.Sprintf(`{"refunds":%d}`, d.refund[in.Order])
		case name == "clock":
			return fmt.Sprintf(`%q`, time.Now())
		case name == "charge" && in.Key != "" && d.keys[in.Key]:
			return `"charged"`
		}
		d.refund[in.Order]++
		d.keys[in.Key] = true
		d.done = append(d.done, name+" "+in.Order+in.Amount)
		return map[string]string{"refund": `"refunded"`, "charge": `"charged"`, "note": `"noted"`}[name]
	})
}

// A run is what happened.
type run struct {
	*desk
	in    *chaos.Injector
	began time.Time
}

// calls are those that reached the tools: the habit that made it, if the agent did not, and the tool.
func (r *run) calls() (all []string) {
	for _, e := range r.in.Events() {
		name := e.Target
		if e.Habit != "" {
			name = e.Habit + ": " + name
		}
		all = append(all, name)
	}
	return all
}

// inBubble runs an agent in virtual time with habits around the tools of a desk.
func inBubble(t *testing.T, script map[string][]step, agent func(ctx context.Context, tools chaos.ToolRegistry, r *run), all ...*habits.Habit) *run {
	t.Helper()
	var r *run
	synctest.Test(t, func(t *testing.T) {
		plan, err := chaos.NewPlan(7)
		require.NoError(t, err)
		r = &run{desk: newDesk(script), began: time.Now(),
			in: plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true, KeepValues: true, Virtual: true})}
		agent(chaos.NewContext(t.Context(), r.in), habits.Around(all...)(chaos.WrapRegistry(r.desk, r.in)), r)
	})
	return r
}

// ask calls a tool, and returns the result or the error as a text.
func ask(ctx context.Context, tools chaos.ToolRegistry, name, args string) string {
	result, err := tools.CallTool(ctx, name, json.RawMessage(args))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(result)
}

const order, amount = `{"order":"7"}`, `{"amount":"5"}`

// A trial is a row of a table: an agent that makes calls one after another.
type trial struct {
	why    string
	script map[string][]step
	ask    []string // a tool and its arguments each
	want   []string // what the agent gets
	calls  []string // what the tools get
	done   []string // the work that is done
}

func (tt *trial) run(t *testing.T, all ...*habits.Habit) *run {
	t.Helper()
	var got []string
	r := inBubble(t, tt.script, func(ctx context.Context, tools chaos.ToolRegistry, _ *run) {
		for _, call := range tt.ask {
			var name, args string
			_, _ = fmt.Sscan(call, &name, &args)
			got = append(got, ask(ctx, tools, name, args))
		}
	}, all...)
	assert.Equal(t, tt.want, got, tt.why)
	if tt.calls != nil {
		assert.Equal(t, tt.calls, r.calls(), tt.why)
	}
	assert.Equal(t, tt.done, r.done, tt.why)
	return r
}
