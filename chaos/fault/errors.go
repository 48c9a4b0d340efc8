package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
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
	// ErrDeclined is the answer of an agent that does not take a task, for [Fail]
	// As "delegation_rejected".
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

// A BudgetError says that a budget is used up. It matches
// [ErrResourceExhausted]. For rate and concurrency it also matches
// [ErrRateLimited], for memory [syscall.ENOMEM], and for disk space
// [syscall.ENOSPC].
type BudgetError struct {
	Resource string  // "call", "rate", "token", "cost", "time", "memory", "disk" or "concurrency"
	Limit    float64 // of the budget: calls, tokens, bytes, seconds, or the currency of the cost
	Used     float64 // of it; the last call may have used more than was left
	// RetryAfter is the time until the budget is refilled; 0: never, or unknown.
	RetryAfter time.Duration
}

// Error returns the text that a dependency with such a budget would send.
func (e *BudgetError) Error() string {
	switch e.Resource {
	case "rate":
		return "too many requests: the limit is " + amount(e.Limit) + e.again()
	case "concurrency":
		return "too many concurrent requests: the limit is " + amount(e.Limit)
	case "memory":
		return "cannot allocate memory"
	case "disk":
		return "write: no space left on device"
	}
	return fmt.Sprintf("quota exceeded: %s of %s%s used", amount(e.Used), amount(e.Limit), e.unit()) + e.again()
}

func (e *BudgetError) unit() string {
	switch e.Resource {
	case "call", "token":
		return " " + e.Resource + "s"
	case "time":
		return " seconds"
	}
	return ""
}

func (e *BudgetError) again() string {
	if e.RetryAfter <= 0 {
		return ""
	}
	return ", try again in " + e.RetryAfter.String()
}

func amount(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Is reports whether target is one of the errors that [BudgetError] lists for
// the resource.
func (e *BudgetError) Is(target error) bool {
	switch target {
	case ErrResourceExhausted:
		return true
	case ErrRateLimited:
		return e.Resource == "rate" || e.Resource == "concurrency"
	}
	switch e.Resource {
	case "memory":
		return errors.Is(syscall.ENOMEM, target)
	case "disk":
		return errors.Is(syscall.ENOSPC, target)
	}
	return false
}
