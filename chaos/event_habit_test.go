package chaos_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// An event says which middleware made the call of its own, whichever way the call takes; what the callee calls is not
// the middleware's.
func TestEventsSayWhichHabitMadeTheCall(t *testing.T) {
	inner := chaos.Wrap("inner", func(context.Context, int) (int, error) { return 1, nil })
	outer := chaos.Wrap("outer", func(ctx context.Context, n int) (int, error) { return inner(ctx, n) })
	held := chaos.Rule{Name: "held", Target: "outer", Fault: down(), Limit: 1}
	for name, rules := range map[string][]chaos.Rule{
		"recorded": nil, "only an error": {{Target: "outer", Fault: down()}}, "a change": {{Target: "outer", Fault: replace(2)}},
		"held back": {held}, "an error in front of another": {{Name: "a", Target: "outer", Fault: down()}, {Name: "b", Target: "outer", Fault: down()}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := chaos.NewPlan(1, rules...)
			require.NoError(t, err)
			in := plan.Injector("cell", &chaos.InjectorOptions{RecordAll: true})
			ctx := chaos.NewContext(t.Context(), in)
			for _, ctx := range []context.Context{ctx, chaos.WithHabit(ctx, "retries"), chaos.WithHabit(chaos.WithHabit(ctx, "retries"), "")} {
				_, _ = outer(ctx, 1)
			}
			var got []string
			for _, e := range in.Events() {
				if e.Target == "outer" {
					got = append(got, e.Habit)
				} else {
					assert.Empty(t, e.Habit)
				}
			}
			assert.Equal(t, []string{"", "retries", ""}, got)
		})
	}
	_, err := outer(chaos.WithHabit(t.Context(), "retries"), 1)
	require.NoError(t, err, "without an injector it changes nothing")
}
