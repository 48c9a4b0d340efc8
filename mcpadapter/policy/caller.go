package policy

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type callerKey struct{}

// origin is what Gate.HTTPHandler knows of a request, for transports that do not
// hand the request itself to the gate.
type origin struct {
	caller    Caller
	transport string
}

type originKey struct{}

// CallerFrom returns who makes the call that a handler works on. ok is false
// outside a handler behind a [Gate]. The caller's scopes must not be changed.
func CallerFrom(ctx context.Context) (c Caller, ok bool) {
	v, ok := ctx.Value(callerKey{}).(*visit)
	if !ok {
		return c, false
	}
	return v.caller, true
}

// identify finds out who calls. A request that came over HTTP without passing
// [Gate.HTTPHandler], or another bearer check of the SDK's, is not
// authenticated, however it got here.
func (v *visit) identify(ctx context.Context, req *mcp.CallToolRequest) bool {
	from, wrapped := ctx.Value(originKey{}).(origin)
	overHTTP := req.Extra != nil && req.Extra.Header != nil
	switch {
	case wrapped:
		v.transport = from.transport
	case overHTTP:
		v.transport = transportHTTP
	default:
		v.transport = transportStdio
	}
	switch {
	case req.Extra != nil && req.Extra.TokenInfo != nil: // of this very request, not of the one that began the session
		v.caller = Caller{Subject: req.Extra.TokenInfo.UserID, Scopes: req.Extra.TokenInfo.Scopes}
	case wrapped && (!overHTTP || len(v.gate.tokens) == 0): // SSE, or loopback without a token
		v.caller = from.caller
	case !overHTTP && !wrapped:
		v.caller = v.gate.local
	default:
		v.caller = Caller{Subject: anonymous}
		return false
	}
	return true
}

const (
	anonymous      = "anonymous"
	transportHTTP  = "http"
	transportStdio = "stdio"
)
