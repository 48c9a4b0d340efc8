package experiment

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// The errors of user code that does not return.
var (
	// ErrTimeout is matched by the error of an activity that exceeded its timeout.
	ErrTimeout = errors.New("experiment: not over in time")
	// ErrExited is matched by the error of an activity that ended its goroutine.
	ErrExited = errors.New("experiment: it ended its goroutine (t.FailNow or runtime.Goexit)")
)

// A PanicError is a panic of user code.
type PanicError struct {
	Value any    // what it panicked with
	Stack string // of the goroutine that panicked
}

// Error returns the value of the panic as text, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// grace is how long user code may take to end after its context has ended. Its
// result still counts within that time.
const grace = time.Second

type ending[T any] struct {
	value T
	err   error
}

// protect runs fn on a goroutine of its own under a deadline. If the context ends
// and fn does not return within the grace, fn is abandoned. When it returns later,
// late (nil: none) is called with its value on that goroutine.
func protect[T any](ctx context.Context, timeout time.Duration, fn func(context.Context) (T, error), late func(T)) (value T, err error, abandoned bool) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: %v", ErrTimeout, timeout))
	defer cancel()
	if ctx.Err() != nil {
		return value, context.Cause(ctx), false
	}
	ended := make(chan ending[T], 1)
	var settled atomic.Bool // set by the end of fn or by abandoning it, whichever comes first
	go func() {
		e := ending[T]{err: ErrExited} // unless fn returns or panics
		defer func() {
			if settled.CompareAndSwap(false, true) {
				ended <- e
			} else if late != nil {
				late(e.value)
			}
		}()
		defer func() {
			if v := recover(); v != nil {
				e.err = &PanicError{Value: v, Stack: string(debug.Stack())}
			}
		}()
		e.value, e.err = fn(ctx)
	}()
	select {
	case e := <-ended:
		return e.value, why(ctx, e.err), false
	case <-ctx.Done():
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case e := <-ended:
		return e.value, why(ctx, e.err), false
	case <-t.C:
	}
	if settled.CompareAndSwap(false, true) {
		return value, fmt.Errorf("left behind: %w", context.Cause(ctx)), true
	}
	e := <-ended
	return e.value, why(ctx, e.err), false
}

// why adds the cause to an error that only says that the context has ended.
func why(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err != nil && cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", err, cause)
	}
	return err
}
