package fault

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// Errors that read like those of a real dependency. [Fail] takes any of them,
// or any other error. Their texts name neither this package nor its purpose.
var (
	// ErrUnavailable is the answer of an overloaded or restarting service.
	ErrUnavailable = errors.New("service unavailable")
	// ErrInternal is the answer of a service that failed inside.
	ErrInternal = errors.New("internal server error")
	// ErrRateLimited is the answer of a service to too many requests.
	ErrRateLimited = errors.New("too many requests")
	// ErrTokenExpired is the error of [AuthExpired]: the answer to credentials that
	// are no longer valid.
	ErrTokenExpired = errors.New("401 Unauthorized: the access token expired")
	// ErrDeclined is the answer of an agent that does not take a task: see
	// [RejectDelegation].
	ErrDeclined = errors.New("the agent declined the task")
	// ErrResourceExhausted is the error of [ResourceExhausted].
	ErrResourceExhausted = errors.New("resource exhausted")

	// ErrTimeout is the error of [Timeout] and [LoseReply]. It matches
	// [context.DeadlineExceeded] and [os.ErrDeadlineExceeded], and is a
	// net.Error whose Timeout method reports true.
	ErrTimeout error = &netError{text: "i/o timeout", timeout: true,
		like: []error{context.DeadlineExceeded, os.ErrDeadlineExceeded}}
	// ErrConnectionRefused matches [syscall.ECONNREFUSED]; it is a net.Error.
	ErrConnectionRefused error = &netError{text: "connect: connection refused", like: []error{syscall.ECONNREFUSED}}
	// ErrConnectionReset matches [syscall.ECONNRESET]; it is a net.Error.
	ErrConnectionReset error = &netError{text: "read: connection reset by peer", like: []error{syscall.ECONNRESET}}
	// ErrNetworkPartition is the error of [Partition]. It matches
	// [syscall.EHOSTUNREACH]; it is a net.Error.
	ErrNetworkPartition error = &netError{text: "connect: no route to host", like: []error{syscall.EHOSTUNREACH}}
)

// netError has the methods of a net.Error without importing package net.
type netError struct {
	text    string
	timeout bool
	like    []error // what a real one would match
}

func (e *netError) Error() string { return e.text }

// Timeout reports whether the error is that of a time-out.
func (e *netError) Timeout() bool { return e.timeout }

// Temporary completes the net.Error interface; as in package net, a time-out is temporary.
func (e *netError) Temporary() bool { return e.timeout }

// Unwrap makes errors.Is find what a real error would match.
func (e *netError) Unwrap() []error { return e.like }
