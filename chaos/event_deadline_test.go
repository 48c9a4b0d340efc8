package chaos_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// An event says when the context of its call was to end, and whether it had ended when the call began, whichever way the call takes.
func TestEventsSayWhenTheContextEnds(t *testing.T) {
	for name, way := range ways() {
		for _, tt := range []struct {
			why      string
			ctx      func(ctx context.Context) (context.Context, context.CancelFunc)
			deadline time.Duration
			ended    bool
		}{
			{"no deadline", context.WithCancel, 0, false},
			{"cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			}, 0, true},
			{"in a second", func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Second)
			}, 2 * time.Second, false},
			{"the nearer of two, and a day further out", func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				ctx, inner := context.WithTimeout(ctx, 24*time.Hour)
				return ctx, func() { inner(); cancel() }
			}, time.Minute + time.Second, false},
			{"passed", func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, -3*time.Second)
			}, -2 * time.Second, true},
			{"passed as the clock began: not none", func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, -time.Second)
			}, 1, true},
		} {
			t.Run(name+"/"+tt.why, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					plan, err := chaos.NewPlan(1, way.rules...)
					require.NoError(t, err)
					var began []chaos.Event
					in := plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true, AwaitArm: true,
						OnBegin: func(_ context.Context, e chaos.Event) { began = append(began, e) }})
					time.Sleep(time.Hour) // making the world
					in.Arm()
					time.Sleep(time.Second)
					ctx, cancel := tt.ctx(chaos.NewContext(t.Context(), in))
					defer cancel()
					way.call(ctx, in)
					for _, e := range append(began, in.Events()...) {
						assert.Equal(t, time.Second, e.Start)
						assert.Equal(t, tt.deadline, e.Deadline)
						assert.Equal(t, tt.ended, e.ContextEnded)
						doc, err := json.Marshal(e)
						require.NoError(t, err)
						var back chaos.Event
						require.NoError(t, json.Unmarshal(doc, &back))
						assert.Equal(t, []any{tt.deadline, tt.ended}, []any{back.Deadline, back.ContextEnded})
					}
					assert.Len(t, in.Events(), 1)
				})
			})
		}
	}
}
