package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

func desk(t testing.TB) *chaos.Registry {
	t.Helper()
	r, err := chaos.NewRegistry(
		chaos.Func(chaos.Tool{Name: "add", Effect: chaos.EffectNone}, func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }),
		chaos.Func(chaos.Tool{Name: "pay", Effect: chaos.EffectDone, IdempotencyKey: "/key"}, func(_ context.Context, in struct{ Fail bool }) (string, error) {
			if in.Fail {
				return "", errDown
			}
			return "paid", nil
		}))
	require.NoError(t, err)
	return r
}

func TestRegistry(t *testing.T) {
	r := desk(t)
	tools, err := r.Tools(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"add", "pay"}, []string{tools[0].Name, tools[1].Name})
	for _, tt := range []struct{ args, want, why string }{
		{`{"a":1,"b":2}`, `3`, "decoded, called, encoded"},
		{``, `0`, "no arguments are the zero value"},
		{`null`, `0`, "and so is null"},
	} {
		got, err := r.CallTool(t.Context(), "add", json.RawMessage(tt.args))
		require.NoError(t, err, tt.why)
		assert.JSONEq(t, tt.want, string(got), tt.why)
	}
	_, err = r.CallTool(t.Context(), "add", json.RawMessage(`{"a":"one"}`))
	var wrong *chaos.ArgumentError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "add", wrong.Tool)
	_, err = r.CallTool(t.Context(), "subtract", nil)
	assert.ErrorIs(t, err, chaos.ErrUnknownTool)
	assert.Equal(t, `unknown tool "subtract"`, err.Error())
}

func TestWrapRegistry(t *testing.T) {
	in := plan(t,
		chaos.Rule{Name: "third", Target: "add", When: ordinals(2), Fault: down()},
		chaos.Rule{Name: "lost", Target: "pay", Fault: loseReply()},
		chaos.Rule{Name: "unlisted", Target: chaos.ListTarget, When: ordinals(1), Fault: down()}).
		Injector("cell", &chaos.InjectorOptions{RecordAll: true})
	for name, tools := range map[string]chaos.ToolRegistry{
		"bound":         chaos.WrapRegistry(desk(t), in),
		"wrapped twice": chaos.WrapRegistry(chaos.WrapRegistry(desk(t), in), in),
	} {
		t.Run(name, func(t *testing.T) {
			var errs []bool
			for range 3 {
				_, err := tools.CallTool(chaos.WithLane(t.Context(), name), "add", json.RawMessage(`{"a":1}`))
				errs = append(errs, err != nil)
			}
			assert.Equal(t, []bool{false, false, true}, errs)
		})
	}
	tools := chaos.WrapRegistry(desk(t), nil)
	ctx := chaos.NewContext(t.Context(), in)
	_, err := tools.CallTool(ctx, "pay", json.RawMessage(`{}`))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	events := in.Events()
	last := events[len(events)-1]
	assert.Equal(t, chaos.EffectDone, last.Effect, "the tool declares what a successful call does, and it succeeded")
	_, err = tools.CallTool(t.Context(), "pay", json.RawMessage(`{}`))
	assert.NoError(t, err, "without an injector it is inert")
	_, err = tools.Tools(ctx)
	assert.NoError(t, err)
	_, err = tools.Tools(ctx)
	assert.ErrorIs(t, err, errDown, "listing is a call too")
}

func TestToolCallsAreKeyedByTheirArguments(t *testing.T) {
	in, ctx := recording(t)
	tools := chaos.WrapRegistry(desk(t), nil)
	for _, args := range []string{`{"a":1,"b":2}`, `{"b":2.0, "a":1}`, `{"a":2}`, `{"a":1,"b":2e0}`, ``} {
		_, _ = tools.CallTool(ctx, "add", json.RawMessage(args))
	}
	var occurrences []uint64
	keys := map[uint64]bool{}
	for _, e := range in.Events() {
		occurrences = append(occurrences, e.Occurrence)
		keys[e.Key] = true
	}
	assert.Equal(t, []uint64{0, 1, 0, 2, 0}, occurrences)
	assert.Len(t, keys, 3)
	assert.NotContains(t, keys, uint64(0))
}

func TestToolEffects(t *testing.T) {
	in, ctx := recording(t)
	tools := chaos.WrapRegistry(desk(t), nil)
	for _, c := range []struct{ tool, args string }{{"add", `{}`}, {"pay", `{}`}, {"pay", `{"Fail":true}`}, {"none", `{}`}} {
		_, _ = tools.CallTool(ctx, c.tool, json.RawMessage(c.args))
	}
	var got []chaos.Effect
	for _, e := range in.Events() {
		got = append(got, e.Effect)
	}
	assert.Equal(t, []chaos.Effect{chaos.EffectNone, chaos.EffectDone, chaos.EffectUnknown, chaos.EffectUnknown}, got)
}

func TestWrapDispatch(t *testing.T) {
	dispatch := chaos.WrapDispatch(func(_ context.Context, name string, args map[string]any) (string, error) {
		return fmt.Sprint(name, len(args)), nil
	})
	got, err := dispatch(t.Context(), "find", map[string]any{"id": 1})
	require.NoError(t, err)
	assert.Equal(t, "find1", got)
	in, ctx := recording(t, chaos.Rule{Target: "pay", When: ordinals(1), Fault: down()})
	for i, want := range []error{nil, errDown, nil} {
		_, err := dispatch(ctx, "pay", map[string]any{"id": 7})
		assert.ErrorIs(t, err, want, "call %d", i)
	}
	_, _ = dispatch(ctx, "find", nil)
	_, _ = dispatch(ctx, "find", map[string]any{"odd": make(chan int)})
	events := in.Events()
	assert.NotZero(t, events[0].Key)
	assert.Equal(t, events[0].Key, events[2].Key)
	assert.EqualValues(t, 2, events[2].Occurrence)
	assert.Zero(t, events[4].Key, "arguments without JSON have the empty key")
}

func TestDispatchKeysAreTheRegistrysKeys(t *testing.T) {
	in, ctx := recording(t)
	args := `{"a":1, "b":2}`
	_, _ = chaos.WrapRegistry(desk(t), nil).CallTool(ctx, "add", json.RawMessage(args))
	_, _ = chaos.WrapDispatch(func(context.Context, string, string) (int, error) { return 0, nil })(ctx, "add", args)
	_, _ = chaos.WrapDispatch(func(context.Context, string, []byte) (int, error) { return 0, nil })(ctx, "add", []byte(args))
	_, _ = chaos.WrapDispatch(func(context.Context, string, sum) (int, error) { return 0, nil })(ctx, "add", sum{1, 2})
	events := in.Events()
	for i, e := range events {
		assert.Equal(t, events[0].Key, e.Key, "event %d", i)
		assert.EqualValues(t, i, e.Occurrence)
	}
}

func letters(_ context.Context, n int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := range n {
			if !yield(string(rune('a'+i)), nil) {
				return
			}
		}
	}
}

func collect(s iter.Seq2[string, error], most int) (items []string, err error) {
	for item, e := range s {
		if e != nil {
			return items, e
		}
		if items = append(items, item); len(items) == most {
			break
		}
	}
	return items, nil
}

func TestWrapStream(t *testing.T) {
	upper := faultFunc{chaos.PhaseChange, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		item, err := next(ctx, args)
		if s, ok := item.(string); ok && s == "b" {
			chaos.Changed(ctx, chaos.Change{Path: "", Before: json.RawMessage(`"b"`), After: json.RawMessage(`"B"`)})
			return "B", err
		}
		return item, err
	}}
	for _, tt := range []struct {
		name, why string
		fault     chaos.Fault
		most      int
		want      []string
		err       error
		took      time.Duration
		delivered bool
		runs      int
	}{
		{"calm", "the stream itself", nil, 9, []string{"a", "b", "c"}, nil, 0, false, 1},
		{"failure", "one error in place of the items", down(), 9, nil, errDown, 0, true, 0},
		{"delay", "before the first item", delay(time.Second), 9, []string{"a", "b", "c"}, nil, time.Second, true, 1},
		{"change", "of each item", upper, 9, []string{"a", "B", "c"}, nil, 0, true, 1},
		{"change of the wrong type", "the items stay as they are", replace(7), 9, []string{"a", "b", "c"}, nil, 0, false, 1},
		{"lost reply", "it ran, and nobody saw an item", loseReply(), 9, nil, context.DeadlineExceeded, 0, true, 1},
		{"twice", "the second run is unseen", twice(), 9, []string{"a", "b", "c"}, nil, 0, true, 2},
		{"early stop", "the consumer is respected", upper, 1, []string{"a"}, nil, 0, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				stream := chaos.WrapStream("words", func(ctx context.Context, n int) iter.Seq2[string, error] {
					runs++
					return letters(ctx, n)
				})
				var rules []chaos.Rule
				if tt.fault != nil {
					rules = []chaos.Rule{{Target: "words", Fault: tt.fault}}
				}
				in, ctx := recording(t, rules...)
				start := time.Now()
				got, err := collect(stream(ctx, 3), tt.most)
				assert.Equal(t, tt.want, got, tt.why)
				assert.ErrorIs(t, err, tt.err, tt.why)
				assert.Equal(t, tt.took, time.Since(start), tt.why)
				assert.Equal(t, tt.delivered, only(t, in).Delivered, tt.why)
				assert.Equal(t, tt.runs, runs, tt.why)
			})
		})
	}
}

// Every problem of every tool is reported, each a ParamError.
func TestNewRegistryRefuses(t *testing.T) {
	for param, tool := range map[string]chaos.ToolFunc{
		"Name": chaos.Func(chaos.Tool{}, double), "the function": chaos.Func[int, int](chaos.Tool{Name: "a"}, nil),
		"InputSchema":    chaos.Func(chaos.Tool{Name: "a", InputSchema: json.RawMessage(`null`)}, double),
		"OutputSchema":   chaos.Func(chaos.Tool{Name: "a", OutputSchema: json.RawMessage(`[`)}, double),
		"Effect":         chaos.Func(chaos.Tool{Name: "a", Effect: "maybe"}, double),
		"IdempotencyKey": chaos.Func(chaos.Tool{Name: "a", IdempotencyKey: "/a~2"}, double),
	} {
		_, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "fine"}, double), tool, tool)
		var problem *chaos.ParamError
		require.ErrorAs(t, err, &problem, param)
		assert.Equal(t, param, problem.Param)
		assert.ErrorContains(t, err, "tool #1")
		assert.ErrorContains(t, err, "tool #2")
		assert.ErrorContains(t, err, "taken")
	}
	_, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "a", InputSchema: json.RawMessage(`{}`), IdempotencyKey: "/a~1b~0/0"}, double))
	assert.NoError(t, err)
}

func TestEventsSayTheLayerOfTheirPoint(t *testing.T) {
	in, ctx := recording(t)
	_, _ = chaos.WrapRegistry(desk(t), nil).CallTool(ctx, "add", nil)
	_, _ = chaos.WrapDispatch(func(context.Context, string, int) (int, error) { return 0, nil })(ctx, "add", 1)
	_, _ = collect(chaos.WrapStream("words", letters)(ctx, 1), 9)
	_, _ = chaos.Wrap("work", double)(ctx, 1)
	_ = chaos.Point(ctx, "commit")
	var got []chaos.Layer
	for _, e := range in.Events() {
		got = append(got, e.Layer)
	}
	assert.Equal(t, []chaos.Layer{chaos.LayerTool, chaos.LayerTool, chaos.LayerStream, chaos.LayerPoint, chaos.LayerPoint}, got)
}
