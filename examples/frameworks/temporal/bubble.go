package temporal

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// aDay is more than any workflow of a test takes.
const aDay = 24 * time.Hour

// InBubbleTime returns a workflow for a test environment in a bubble of testing/synctest. The environment has a clock
// of its own, which jumps over timers and over waits between attempts while no activity runs, so that the time of the
// bubble, in which faults and tools wait, stands still meanwhile. Here an activity runs as long as the workflow does,
// and timers take the bubble's time.
func InBubbleTime[In, Out any](
	env *testsuite.TestWorkflowEnvironment, f func(workflow.Context, In) (Out, error),
) func(workflow.Context, In) (Out, error) {
	const name = "runs as long as the workflow"
	over := make(chan struct{})
	env.RegisterActivityWithOptions(func(context.Context) error { <-over; return nil }, activity.RegisterOptions{Name: name})
	env.SetTestTimeout(aDay)
	// The environment counts StartToCloseTimeout over all attempts, besides the deadline of each attempt's context.
	env.SetActivityTimeoutGracePeriod(aDay)
	return func(ctx workflow.Context, in In) (Out, error) {
		defer close(over)
		workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: aDay}), name)
		return f(ctx, in)
	}
}

// ServerTimeouts returns an interceptor for test environments. An attempt that takes longer than StartToCloseTimeout is
// followed by another on a server, as one that fails; in a test environment it is the last, so here it fails.
func ServerTimeouts() interceptor.WorkerInterceptor {
	return &around{call: func(ctx context.Context, in *input, next next) (any, error) {
		deadline, _ := ctx.Deadline()
		ctx, cancel := context.WithDeadline(ctx, deadline.Add(-1))
		defer cancel()
		result, err := next.ExecuteActivity(ctx, in)
		if ctx.Err() == context.DeadlineExceeded {
			return nil, errors.New("activity StartToClose timeout")
		}
		return result, err
	}}
}
