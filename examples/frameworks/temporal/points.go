package temporal

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/shakedown-go/shakedown/chaos"
)

// Points is an interceptor of workers that makes an injection point of every activity, under its name. The injector is
// that of worker.Options.BackgroundActivityContext: contexts of callers do not reach activities. Calls are counted in a
// lane for each workflow, and events have the attempt.
type Points struct{ interceptor.WorkerInterceptorBase }

// InterceptActivity is called by the worker.
func (*Points) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	p := &point{}
	p.Next = next
	return p
}

type point struct{ interceptor.ActivityInboundInterceptorBase }

// ExecuteActivity is called by the worker for every attempt.
func (p *point) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	ctx = chaos.WithAttempt(chaos.WithLane(ctx, info.WorkflowExecution.ID), int(info.Attempt))
	return chaos.WrapDispatch(func(ctx context.Context, _ string, args []any) (any, error) {
		return p.Next.ExecuteActivity(ctx, &interceptor.ExecuteActivityInput{Args: args})
	})(ctx, info.ActivityType.Name, in.Args)
}
