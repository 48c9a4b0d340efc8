package temporal

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A user's own activities meet the faults of the worker's context, in the time of the bubble.
func TestPoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, err := chaos.NewPlan(1,
			chaos.Rule{Target: "refund", When: when.First(1), Fault: fault.LoseReply()},
			chaos.Rule{Target: "refund", When: when.Nth(2), Fault: fault.Hang()})
		require.NoError(t, err)
		in := plan.Injector("points", &chaos.InjectorOptions{RecordAll: true})
		env := newEnvironment(chaos.NewContext(context.Background(), in), ServerTimeouts(), Points())
		made := 0
		env.RegisterActivityWithOptions(func(_ context.Context, order string) (string, error) { made++; return "refunded " + order, nil },
			activity.RegisterOptions{Name: "refund"})
		begun := time.Now()
		env.ExecuteWorkflow(InBubbleTime(env, func(ctx workflow.Context, order string) (result string, err error) {
			ctx = options(ctx)
			if err := workflow.Sleep(ctx, time.Hour/2); err != nil {
				return "", err
			}
			for range 2 {
				if err := workflow.ExecuteActivity(ctx, "refund", order).Get(ctx, &result); err != nil {
					return "", err
				}
			}
			return result, nil
		}), "1042")
		require.NoError(t, env.GetWorkflowError())
		assert.Equal(t, 3, made, "at the first attempt and at the third, and by the second activity")
		var attempts []int
		var starts []time.Duration
		for _, e := range in.Events() {
			if e.Target == "refund" {
				assert.Equal(t, "default-test-workflow-id", e.Lane)
				attempts = append(attempts, e.Attempt)
				starts = append(starts, e.Start.Round(time.Millisecond))
			}
		}
		assert.Equal(t, []int{1, 2, 3, 1}, attempts)
		const first = 30 * time.Minute
		assert.Equal(t, []time.Duration{first, first + 2*time.Second, first + 34*time.Second, first + 34*time.Second}, starts)
		assert.Equal(t, first+34*time.Second, time.Since(begun).Round(time.Millisecond))
	})
}
