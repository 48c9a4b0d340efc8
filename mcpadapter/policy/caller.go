package policy

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type callerKey struct{}

// origin is what Gate.HTTPHandler knows of a request.
type origin struct {
	caller    Caller
	transport string
	session   string // of server-sent events, which the SDK does not provide; set before the client knows it
}

// originKey is for transports that do not pass the request itself to the gate.
type originKey struct{}

// originExtra is the name of the request's own origin in the token information
// that the SDK passes on.
const originExtra = "github.com/shakedown-go/shakedown/mcpadapter/policy"

// info returns the origin as the token information that the SDK passes on.
func (o *origin) info() *auth.TokenInfo {
	return &auth.TokenInfo{UserID: o.caller.Subject, Scopes: slices.Clone(o.caller.Scopes),
		Extra: map[string]any{originExtra: o}}
}

// CallerFrom returns the caller of the call that a handler serves. ok is false
// outside a handler behind a [Gate]. Do not change the caller's scopes.
func CallerFrom(ctx context.Context) (c Caller, ok bool) {
	acc, ok := ctx.Value(callerKey{}).(*access)
	if !ok {
		return c, false
	}
	return acc.caller, true
}

// identify determines the caller. A request over HTTP is authenticated only if
// it passed [Gate.HTTPHandler] or another bearer check of the SDK.
func (acc *access) identify(ctx context.Context, extra *mcp.RequestExtra) bool {
	began, wrapped := ctx.Value(originKey{}).(*origin) // of the request that began the session
	overHTTP := extra != nil && extra.Header != nil
	acc.transport = transportStdio
	if overHTTP {
		acc.transport = transportHTTP
	}
	if extra != nil && extra.TokenInfo != nil { // of this very request
		acc.caller = Caller{Subject: extra.TokenInfo.UserID, Scopes: extra.TokenInfo.Scopes}
		if from, ok := extra.TokenInfo.Extra[originExtra].(*origin); ok {
			acc.caller, acc.transport = from.caller, from.transport
		}
		return true
	}
	switch {
	case wrapped:
		acc.transport = began.transport
		if !overHTTP { // server-sent events, whose stream ends with the token
			acc.session, acc.events, acc.caller = began.session, began.session != "", began.caller
			return true
		}
	case !overHTTP:
		acc.caller = acc.gate.local
		return true
	}
	acc.caller = Caller{Subject: anonymous}
	return false
}

const (
	anonymous      = "anonymous"
	transportHTTP  = "http"
	transportStdio = "stdio"
)
