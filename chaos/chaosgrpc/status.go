package chaosgrpc

import (
	"context"
	"errors"
	"io"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// seen is an error as the caller of this point sees it: that of one of its faults is a status. reached: the call
// reached its callee, so that a time-out is a reply that was lost.
func seen(err error, target string, reached bool) (caller error, injected bool) {
	made, ok := err.(*chaos.InjectedError)
	if !ok || made.Target != target {
		return err, false
	}
	st := statusOf(made.Err, reached)
	own := *made
	own.Err = st.Err()
	return &statusError{own, st}, true
}

// statusError is a status that a fault made. Nothing but the status can be matched, as with one from a server, and
// chaos.ErrInjected.
type statusError struct {
	injected chaos.InjectedError
	status   *status.Status
}

func (e *statusError) Error() string              { return e.injected.Error() }
func (e *statusError) Unwrap() error              { return &e.injected }
func (e *statusError) GRPCStatus() *status.Status { return e.status }

// codesOf are the codes of errors that faults make.
var codesOf = []struct {
	err  error
	code codes.Code
}{
	{context.DeadlineExceeded, codes.DeadlineExceeded}, // and fault.ErrTimeout
	{os.ErrDeadlineExceeded, codes.DeadlineExceeded},
	{context.Canceled, codes.Canceled},
	{fault.ErrUnavailable, codes.Unavailable},
	{fault.ErrInternal, codes.Internal},
	{fault.ErrRateLimited, codes.ResourceExhausted},
	{fault.ErrResourceExhausted, codes.ResourceExhausted},
	{fault.ErrTokenExpired, codes.Unauthenticated},
	{fault.ErrDeclined, codes.FailedPrecondition},
	{chaos.ErrUnknownTool, codes.Unimplemented},
}

// statusOf is the status that gRPC gives for an error, never OK.
func statusOf(err error, reached bool) *status.Status {
	if st, ok := status.FromError(err); ok && st.Code() != codes.OK {
		return st
	}
	if reached && errors.Is(err, fault.ErrTimeout) {
		return status.New(codes.Unavailable, err.Error())
	}
	for _, c := range codesOf {
		if errors.Is(err, c.err) {
			return status.New(c.code, err.Error())
		}
	}
	var network interface{ Timeout() bool }
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return status.New(codes.Unavailable, err.Error())
	}
	return status.New(codes.Unknown, err.Error())
}
