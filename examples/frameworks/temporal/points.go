package temporal

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/shakedown-go/shakedown/chaos"
)

// Points returns an interceptor for workers that makes an injection point of every activity, under its name. The injector
// is that of worker.Options.BackgroundActivityContext: the contexts of callers do not reach activities. Calls are counted
// in a lane for each workflow, by their arguments, and events have the attempt.
func Points() interceptor.WorkerInterceptor {
	return &around{call: func(ctx context.Context, in *input, next next) (any, error) {
		info := activity.GetInfo(ctx)
		ctx = chaos.WithAttempt(chaos.WithLane(ctx, info.WorkflowExecution.ID), int(info.Attempt))
		return chaos.WrapDispatch(func(ctx context.Context, _ string, args []any) (any, error) {
			return next.ExecuteActivity(ctx, &input{Args: args})
		})(ctx, info.ActivityType.Name, in.Args)
	}}
}

// around is an interceptor of activities made of a function.
type around struct {
	interceptor.WorkerInterceptorBase
	call func(context.Context, *input, next) (any, error)
}

type (
	input = interceptor.ExecuteActivityInput
	next  = interceptor.ActivityInboundInterceptor
)

func (a *around) InterceptActivity(_ context.Context, next next) interceptor.ActivityInboundInterceptor {
	return &inbound{interceptor.ActivityInboundInterceptorBase{Next: next}, a}
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
	around *around
}

func (i *inbound) ExecuteActivity(ctx context.Context, in *input) (any, error) {
	return i.around.call(ctx, in, i.Next)
}
