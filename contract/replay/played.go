package replay

import (
	"context"
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

func played(c *findings.Call) error {
	e := &PlayedError{Text: c.Error.Text, Status: statusOf(c.Error), RetryAfter: c.Error.RetryAfter}
	if timedOut(c.Error) {
		e.like = fault.ErrTimeout
	}
	if e.like == nil || isFailure(e.Status) {
		if f, ok := failureOf(c).(chaos.Failer); ok {
			e.like = errors.Join(e.like, meant(f.Fail(chaos.Call{Target: c.Tool})))
		}
	}
	return e
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
