package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
)

// status is the error of an RPC, as gRPC clients return it.
type status struct{ code string }

func (s *status) Error() string { return "rpc error: code = " + s.code }

func statusOf(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &status{"DeadlineExceeded"}
	case errors.Is(err, context.Canceled):
		return &status{"Canceled"}
	}
	return nil
}

func TestDeadlineOfACall(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		fault    chaos.Fault
		deadline func(error) error
		end      func(context.Context) (context.Context, context.CancelFunc)
		want     string // the caller's error
	}{
		{"a delay past the deadline", delay(time.Hour), statusOf, inASecond, "rpc error: code = DeadlineExceeded"},
		{"a wait for a reply that was lost", slowReply(time.Hour), statusOf, inASecond, "rpc error: code = DeadlineExceeded"},
		{"a delay that is cancelled", delay(time.Hour), statusOf, cancelledInASecond, "rpc error: code = Canceled"},
		{"without the option", delay(time.Hour), nil, inASecond, "context deadline exceeded"},
		{"that knows no better", delay(time.Hour), func(error) error { return nil }, inASecond, "context deadline exceeded"},
		{"an error of the fault's own, before the deadline", down(), statusOf, inASecond, errDown.Error()},
		{"the same error, though the context has not ended", loseReply(), statusOf, inASecond, "context deadline exceeded"},
		{"a delay that ends in time", delay(time.Millisecond), statusOf, inASecond, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			in, ctx := recording(t, chaos.Rule{Target: "work", Fault: tc.fault})
			ctx, cancel := tc.end(ctx)
			defer cancel()
			work := chaos.WrapWith("work", double, &chaos.WrapOptions[int]{Deadline: tc.deadline})
			_, err := work(ctx, 1)
			if tc.want == "" {
				assert.NoError(t, err, tc.reason)
				return
			}
			assert.EqualError(t, err, tc.want, tc.reason)
			assert.ErrorIs(t, err, chaos.ErrInjected, tc.reason)
			var known *status
			assert.Equal(t, tc.want[:3] == "rpc", errors.As(err, &known), "the caller finds its status: %s", tc.reason)
			e := only(t, in)
			assert.Equal(t, tc.want, e.Err, tc.reason)
			assert.True(t, e.Delivered, tc.reason)
		})
	}
}

// TestDeadlineIsNotForTheCalleesOwnErrors: a callee that returns the context's error
// has decided for itself.
func TestDeadlineIsNotForTheCalleesOwnErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ctx := recording(t, chaos.Rule{Target: "work", Fault: delay(time.Millisecond)})
		ctx, cancel := inASecond(ctx)
		defer cancel()
		work := chaos.WrapWith("work", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}, &chaos.WrapOptions[int]{Deadline: statusOf})
		_, err := work(ctx, 1)
		assert.Equal(t, context.DeadlineExceeded, err)
	})
}

func TestDeadlineOfAStream(t *testing.T) {
	for name, f := range map[string]chaos.Fault{"before the first item": delay(time.Hour), "between two items": slowSecond{}} {
		synctest.Test(t, func(t *testing.T) {
			_, ctx := recording(t, chaos.Rule{Target: "feed", Fault: f})
			ctx, cancel := inASecond(ctx)
			defer cancel()
			feed := chaos.WrapStreamWith("feed", func(context.Context, int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) { _ = yield(1, nil) && yield(2, nil) }
			}, &chaos.WrapOptions[int]{Deadline: statusOf})
			var last error
			for _, err := range feed(ctx, 0) {
				last = err
			}
			assert.EqualError(t, last, "rpc error: code = DeadlineExceeded", name)
			assert.ErrorIs(t, last, chaos.ErrInjected, name)
		})
	}
}

func inASecond(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Second)
}

func cancelledInASecond(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(time.Second, cancel)
	return ctx, cancel
}

// slowReply loses the reply after a wait.
func slowReply(d time.Duration) chaos.Fault {
	return faultFunc{chaos.PhaseAfter, func(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
		_, _ = next(ctx, args)
		return nil, chaos.Sleep(ctx, d)
	}}
}

// slowSecond waits an hour after the first item of a stream.
type slowSecond struct{}

func (slowSecond) Phase() chaos.Phase { return chaos.PhaseChange }
func (slowSecond) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	return next(ctx, args)
}
func (slowSecond) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for item, err := range items {
			if !yield(item, err) {
				return
			}
			if err := chaos.Sleep(ctx, time.Hour); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// A call that an injected delay carries past its deadline fails as a real one would.
func ExampleWrapOptions_deadline() {
	get := chaos.WrapWith("orders.Get", func(context.Context, int) (string, error) { return "shipped", nil },
		&chaos.WrapOptions[int]{Deadline: statusOf}) // with gRPC: status.FromContextError(err).Err()
	plan, err := chaos.NewPlan(1, chaos.Rule{Target: "orders.*", Fault: delay(time.Hour)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(chaos.NewContext(context.Background(), plan.Injector("one", nil)), time.Millisecond)
	defer cancel()
	_, err = get(ctx, 1042)
	fmt.Println(err)
	// Output: rpc error: code = DeadlineExceeded
}
