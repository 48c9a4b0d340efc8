// Package usercode runs functions that may panic, end their goroutine, outlast
// their context or never return, without harm to who calls them.
//
// [Go] starts one and gives its error on a channel. [Do] also waits for it, within
// a context and a grace, and leaves it behind when both are over. A [Loop] does so
// for many functions, one after the other, on one goroutine. Channels and timers
// are made where these functions are called, so all work in a synctest bubble.
//
// What user code returns may be an error whose own methods fail. The functions of this
// package pass on only what can be asked ([Sound]); [ErrorText] is the text of an error
// that came another way.
package usercode

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// A PanicError is a panic of user code. Packages export it under the same name.
type PanicError struct {
	Value any    // what it panicked with; what cannot be written, or asked as an error, is replaced by a description
	Stack string // of the goroutine that panicked
}

// Error is the value of the panic, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrExited is the error of user code that ended its goroutine, unless the caller
// names another one.
var ErrExited = errors.New("it ended its goroutine (t.FailNow or runtime.Goexit)")

// Grace is how long user code may usually take to end once its time is over.
const Grace = time.Second

// Recover is deferred by a function that calls user code on its own goroutine. It
// turns a panic into the error "WHAT panicked: VALUE", and an error that cannot be asked
// into one that can ([Sound]). A Goexit goes on.
func Recover(err *error, what string) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s panicked: %v", what, soundValue(v))
	}
	*err = Sound(*err)
}

// run calls fn and reports how it ended: its error, which is [Sound], a [*PanicError], or
// exited if it ended its goroutine. In that case the goroutine ends after the report.
func run(exited error, fn func() error, report func(error)) {
	err := exited
	defer func() { report(err) }()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: soundValue(v), Stack: string(debug.Stack())}
		}
	}()
	err = Sound(fn())
}

// Go runs fn on a goroutine of its own and returns the channel on which its error
// arrives: what it returned, a [*PanicError], or exited (nil: [ErrExited]). Nobody
// has to receive.
func Go(exited error, fn func() error) <-chan error {
	ended := make(chan error, 1)
	go run(named(exited), fn, func(err error) { ended <- err })
	return ended
}

func named(exited error) error {
	if exited == nil {
		return ErrExited
	}
	return exited
}

// Options of [Do]. The zero value waits without end.
type Options[T any] struct {
	Exited error // of a function that ends its goroutine; nil: [ErrExited]
	// Grace is how long the function may go on after its context has ended with
	// that cause; nil: as long as it likes.
	Grace func(cause error) time.Duration
	// Late is called with the value of a function that was left behind, when it
	// has ended, on its goroutine; nil: nothing is.
	Late func(T)
}

// Patient is a grace that is the same for every cause.
func Patient(d time.Duration) func(error) time.Duration {
	return func(error) time.Duration { return d }
}

// Do runs fn on a goroutine of its own and waits for it. If ctx ends and fn does
// not within the grace, it is left behind: left is true and the error is the cause
// of ctx. Otherwise the error is that of fn, a [*PanicError] or o.Exited. The
// value is what fn returned, also if it came within the grace.
func Do[T any](ctx context.Context, o Options[T], fn func(context.Context) (T, error)) (value T, err error, left bool) {
	var result T
	var settled atomic.Bool // by the end of fn or by leaving it, whichever comes first
	ended := make(chan error, 1)
	go run(named(o.Exited), func() (err error) {
		result, err = fn(ctx)
		return err
	}, func(err error) {
		if settled.CompareAndSwap(false, true) {
			ended <- err
		} else if o.Late != nil {
			o.Late(result)
		}
	})
	if o.Grace == nil {
		err = <-ended
		return result, err, false
	}
	select {
	case err = <-ended:
		return result, err, false
	case <-ctx.Done():
	}
	t := time.NewTimer(o.Grace(context.Cause(ctx)))
	defer t.Stop()
	select {
	case err = <-ended:
		return result, err, false
	case <-t.C:
	}
	if settled.CompareAndSwap(false, true) {
		return value, Sound(context.Cause(ctx)), true
	}
	err = <-ended
	return result, err, false
}
