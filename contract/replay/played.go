package replay

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/findings"
)

// A PlayedError is a failure of a recorded call as the agent gets it again. It wraps the
// error that the fault makes which [Session.Faults] has for the failure: a time-out
// matches context.DeadlineExceeded, a refused connection syscall.ECONNREFUSED, a status
// of 400 or above is a [*chaoshttp.HTTPError], and so on. An error type of the tool's own
// does not come back: a registry around the [Player] may make it of this one.
type PlayedError struct {
	Text       string        // as it was recorded
	Status     int           // the HTTP status or that of the protocol, also one in Text; 0: none is known
	RetryAfter time.Duration // how long the callee asked the caller to wait; 0: it did not say

	like error
}

// Error returns the text as it was recorded.
func (e *PlayedError) Error() string { return e.Text }

// Timeout reports whether the failure was a time-out.
func (e *PlayedError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.like, &t) && t.Timeout()
}

// Unwrap returns an error of the same class, or nil.
func (e *PlayedError) Unwrap() error { return e.like }

// played makes the error of a recorded failure.
func played(c *findings.Call) error {
	e := &PlayedError{Text: c.Error.Text, Status: statusOf(c.Error), RetryAfter: c.Error.RetryAfter}
	if timedOut(c.Error) {
		e.like = fault.ErrTimeout
	}
	if e.like == nil || isFailure(e.Status) {
		e.like = errors.Join(e.like, madeBy(failureOf(c), c.Tool))
	}
	return e
}

// madeBy is the error by which a tool fails under a fault, or nil.
func madeBy(f chaos.Fault, tool string) error {
	if failer, ok := f.(chaos.Failer); ok {
		return meant(failer.Fail(chaos.Call{Target: tool}))
	}
	plan, err := chaos.NewPlan(0, chaos.Rule{Target: "*", Fault: f})
	if err != nil {
		return nil
	}
	in := plan.Injector("", nil)
	defer in.Close()
	_, err = chaos.WrapRegistry(silent{}, in).CallTool(context.Background(), tool, nil)
	var injected *chaos.InjectedError
	if !errors.As(err, &injected) {
		return nil
	}
	return injected.Err
}

// meant is the error that an error stands for by its text, or the error itself.
func meant(err error) error {
	text := err.Error()
	for _, known := range []error{
		fault.ErrUnavailable, fault.ErrInternal, fault.ErrRateLimited, fault.ErrResourceExhausted,
		fault.ErrTokenExpired, fault.ErrDeclined, fault.ErrNetworkPartition, context.Canceled, io.ErrUnexpectedEOF,
	} {
		if text == known.Error() || strings.HasSuffix(text, ": "+known.Error()) {
			return known
		}
	}
	if strings.HasPrefix(text, "unknown tool ") {
		return chaos.ErrUnknownTool
	}
	return err
}

// silent is a registry of tools that do nothing.
type silent struct{}

func (silent) Tools(context.Context) ([]chaos.Tool, error) { return nil, nil }

func (silent) CallTool(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}
