package chaos_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// The functions that are called with events get the values of the call's context,
// whichever way the call takes, and never a nil context.
func TestEventsComeWithTheContextOfTheirCall(t *testing.T) {
	type key struct{}
	callee := func(context.Context, int) (int, error) { return 1, nil }
	for name, c := range map[string]struct {
		record bool
		rules  []chaos.Rule
		call   func(ctx context.Context, in *chaos.Injector)
		begins int
	}{
		"recorded": {record: true, begins: 1, call: func(ctx context.Context, _ *chaos.Injector) { _, _ = chaos.Wrap("work", callee)(ctx, 1) }},
		"only an error": {rules: []chaos.Rule{{Target: "work", Fault: down()}},
			call: func(ctx context.Context, _ *chaos.Injector) { _, _ = chaos.Wrap("work", callee)(ctx, 1) }},
		"an error at a point": {rules: []chaos.Rule{{Target: "work", Fault: down()}},
			call: func(ctx context.Context, _ *chaos.Injector) { _ = chaos.Point(ctx, "work") }},
		"an error at a tool": {rules: []chaos.Rule{{Target: "work", Fault: down()}},
			call: func(ctx context.Context, _ *chaos.Injector) {
				_, _ = chaos.WrapRegistry(&chaos.Registry{}, nil).CallTool(ctx, "work", nil)
			}},
		"an error at a crossing": {rules: []chaos.Rule{{Target: "work", Fault: down()}},
			call: func(ctx context.Context, in *chaos.Injector) {
				x := in.Arrive(ctx, "work", "", chaos.LayerHTTP, false)
				x.Match(1, nil)
			}},
		"a change": {rules: []chaos.Rule{{Target: "work", Fault: replace(2)}}, begins: 1,
			call: func(ctx context.Context, _ *chaos.Injector) { _, _ = chaos.Wrap("work", callee)(ctx, 1) }},
		"by name": {rules: []chaos.Rule{{Name: "down", Target: "work", Fault: down()}},
			call: func(ctx context.Context, in *chaos.Injector) { _, _ = in.InjectNow(ctx, "down") }},
	} {
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
	bound := chaos.WrapWith("work", callee, &chaos.WrapOptions[int]{Injector: in})
	var none context.Context
	_, err := bound(none, 1)
	assert.ErrorIs(t, err, chaos.ErrInjected)
}
