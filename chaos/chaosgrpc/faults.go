package chaosgrpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// Status fails a call with a status; the callee is not reached. code is any but OK, message the description. For one
// with details use fault.Fail with status.Status.Err.
func Status(code codes.Code, message string) chaos.Fault {
	return statusFault.Of(statusParams{code.String(), message})
}

type statusParams struct {
	Code    string `json:"code" bounds:"enum=Canceled|Unknown|InvalidArgument|DeadlineExceeded|NotFound|AlreadyExists|PermissionDenied|ResourceExhausted|FailedPrecondition|Aborted|OutOfRange|Unimplemented|Internal|Unavailable|DataLoss|Unauthenticated" doc:"the code, as package codes spells it"`
	Message string `json:"message,omitempty" doc:"the description"`
}

// Coordinates has the persistence of the code: whether the caller may try the same again.
func (p statusParams) Coordinates(d *chaos.Description) {
	switch p.code() {
	case codes.Canceled, codes.Unknown, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted, codes.Internal,
		codes.Unavailable:
	default:
		d.Persistence = chaos.Permanent
	}
}

// code is Unknown for a name that the check refuses.
func (p statusParams) code() codes.Code {
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		if c.String() == p.Code {
			return c
		}
	}
	return codes.Unknown
}

var statusFault = &catalog.Fail[statusParams]{
	Row: catalog.Row{Kind: "grpc_status", Doc: "The call fails with a status of gRPC.",
		Go: "chaosgrpc.Status(code, message)", Example: `{"code":"Unavailable","message":"no healthy upstream"}`,
		Layer: chaos.LayerGRPC, Class: chaos.ClassCrash},
	Fail: func(_ chaos.Call, p statusParams) error { return status.Error(p.code(), p.Message) },
}

// GoAway is a server that goes away: it sends GOAWAY and closes the connection before the call has ended. The caller
// gets after messages of a stream, or no reply, and then Unavailable. A unary call does its work; a stream is not asked
// for more than these messages, and with after 0 for none. after is at least 0.
//
// A server that lets calls end after its GOAWAY is not seen by callers.
func GoAway(after int) chaos.Fault { return goAway.Of(goAwayParams{after}) }

type goAwayParams struct {
	After int `json:"after,omitempty" bounds:"min=0" doc:"number of messages of a stream that come before"`
}

var goAway = &catalog.Own[goAwayParams, chaos.Fault]{
	Row: catalog.Row{Kind: "grpc_go_away", Doc: "The server goes away before the call has ended.",
		Go: "chaosgrpc.GoAway(after)", Example: `{"after":1}`, Layer: chaos.LayerGRPC, Class: chaos.ClassCrash,
		Visibility: chaos.Explicit, Effect: chaos.EffectUnknown},
	Make: func(m catalog.Made[goAwayParams]) chaos.Fault {
		return goingAway{m, fault.CutAfterWith(m.Params.After, goneAway()).(chaos.Streamer)}
	},
}

// goneAway has the text of a client of gRPC.
func goneAway() error {
	return status.Error(codes.Unavailable, "closing transport due to: connection error: desc = "+
		`"error reading from server: EOF", received prior goaway: code: NO_ERROR, debug data: "graceful_stop"`)
}

type goingAway struct {
	catalog.Made[goAwayParams]
	chaos.Streamer
}

func (goingAway) Phase() chaos.Phase { return chaos.PhaseChange }

func (goingAway) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	if result, err := next(ctx, args); err != nil {
		return result, err
	}
	return nil, goneAway()
}

// Rows are the kinds of this package, for planjson.Options.Rows.
func Rows() []*catalog.Row { return catalog.List(statusFault, goAway) }
