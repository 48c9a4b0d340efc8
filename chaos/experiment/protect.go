package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// The errors of user code that does not return.
var (
	// ErrTimeout is matched by the error of an activity that exceeded its timeout.
	ErrTimeout = errors.New("experiment: not over in time")
	// ErrExited is matched by the error of an activity that ended its goroutine.
	ErrExited = errors.New("experiment: it ended its goroutine (t.FailNow or runtime.Goexit)")
)

// A PanicError is a panic of user code. Value is what it panicked with, Stack that
// of the goroutine that panicked. Its text is the value without the stack; Unwrap
// returns the value if it is an error.
type PanicError = usercode.PanicError

// protect runs fn on a goroutine of its own under a deadline. If the context ends
// and fn does not return within a second, fn is abandoned; its result still counts
// within that time. When it returns later, late (nil: none) is called with its value
// on that goroutine.
func protect[T any](ctx context.Context, timeout time.Duration, fn func(context.Context) (T, error),
	late func(T)) (value T, err error, abandoned bool) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: %v", ErrTimeout, timeout))
	defer cancel()
	if ctx.Err() != nil {
		return value, usercode.Sound(context.Cause(ctx)), false
	}
	value, err,
		abandoned = usercode.Do(ctx,
		usercode.Options[T]{Exited: ErrExited, Grace: usercode.Patient(usercode.Grace), Late: late}, fn)
	if abandoned {
		return value, fmt.Errorf("left behind: %w", err), true
	}
	return value, why(ctx, err), false
}

// why adds the cause to an error that only says that the context has ended.
func why(ctx context.Context, err error) error {
	cause := usercode.Sound(context.Cause(ctx))
	if err != nil && cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", err, cause)
	}
	return err
}
