package chaos_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// way is a way that a call takes through an injector; each leaves one event of "work".
type way struct {
	record bool // it leaves none otherwise
	rules  []chaos.Rule
	call   func(ctx context.Context, in *chaos.Injector)
	begins int // how often OnBegin is called
}

func one(context.Context, int) (int, error) { return 1, nil }

func ways() map[string]way {
	work := func(ctx context.Context, _ *chaos.Injector) { _, _ = chaos.Wrap("work", one)(ctx, 1) }
	point := func(ctx context.Context, _ *chaos.Injector) { _ = chaos.Point(ctx, "work") }
	fails := []chaos.Rule{{Name: "down", Target: "work", Fault: down()}}
	return map[string]way{
		"recorded":            {record: true, begins: 1, call: work},
		"a point":             {record: true, begins: 1, call: point},
		"only an error":       {rules: fails, call: work},
		"an error at a point": {rules: fails, call: point},
		"an error at a tool": {rules: fails, call: func(ctx context.Context, _ *chaos.Injector) {
			_, _ = chaos.WrapRegistry(&chaos.Registry{}, nil).CallTool(ctx, "work", nil)
		}},
		"an error at a crossing": {rules: fails, call: func(ctx context.Context, in *chaos.Injector) {
			x := in.Arrive(ctx, "work", "", chaos.LayerHTTP, false)
			x.Match(1, nil)
		}},
		"a crossing": {record: true, begins: 1, call: func(ctx context.Context, in *chaos.Injector) {
			x := in.Arrive(ctx, "work", "", chaos.LayerHTTP, false)
			x.Match(0, nil)
			_, _ = chaos.WrapWith("", one, &chaos.WrapOptions[int]{Crossing: &x})(ctx, 1)
		}},
		"a change": {rules: []chaos.Rule{{Target: "work", Fault: replace(2)}}, begins: 1, call: work},
		"a stream": {record: true, begins: 1, call: func(ctx context.Context, _ *chaos.Injector) {
			for range chaos.WrapStream("work", three)(ctx, 1) {
			}
		}},
		"by name": {rules: fails, call: func(ctx context.Context, in *chaos.Injector) { _, _ = in.InjectNow(ctx, "down") }},
	}
}

// The functions that are called with events get the values of the call's context,
// whichever way the call takes, and never a nil context.
func TestEventsComeWithTheContextOfTheirCall(t *testing.T) {
	type key struct{}
	for name, c := range ways() {
		t.Run(name, func(t *testing.T) {
			var began, ended, watched []any
			plan, err := chaos.NewPlan(1, c.rules...)
			require.NoError(t, err)
			in := plan.Injector("cell", &chaos.InjectorOptions{
				RecordAll: c.record,
				OnBegin:   func(ctx context.Context, _ chaos.Event) { began = append(began, ctx.Value(key{})) },
				OnEvent:   func(ctx context.Context, _ chaos.Event) { ended = append(ended, ctx.Value(key{})) },
			})
			in.Watch(func(ctx context.Context, _ chaos.Event) { watched = append(watched, ctx.Value(key{})) })
			c.call(context.WithValue(chaos.NewContext(t.Context(), in), key{}, "of the call"), in)
			assert.Equal(t, []any{"of the call"}, ended)
			assert.Equal(t, []any{"of the call"}, watched)
			assert.Len(t, began, c.begins)
			assert.Subset(t, []any{"of the call"}, began)
		})
	}
	in := chaos.NewInjector(1, &chaos.InjectorOptions{OnEvent: func(ctx context.Context, _ chaos.Event) { assert.NotNil(t, ctx) }})
	require.NoError(t, in.Register(chaos.Rule{Target: "work", Fault: down()}))
	bound := chaos.WrapWith("work", one, &chaos.WrapOptions[int]{Injector: in})
	var none context.Context
	_, err := bound(none, 1)
	assert.ErrorIs(t, err, chaos.ErrInjected)
}
