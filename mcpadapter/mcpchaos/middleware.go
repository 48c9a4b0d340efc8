package mcpchaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// Options are settings of middleware and transports. nil is the zero value.
type Options struct {
	_ struct{}
	// Injector is used whatever the contexts carry. Servers need it, because their
	// contexts come from the wire. nil: the injector in the context of each
	// request. A message that belongs to no request sent from here uses the context
	// of Connect.
	Injector *chaos.Injector
}

// injector returns the injector that applies, or nil.
func (o *Options) injector(ctx context.Context) *chaos.Injector {
	if o != nil && o.Injector != nil {
		return o.Injector
	}
	return chaos.FromContext(ctx)
}

// Sending returns middleware that makes each request sent by a client or server
// an injection point. The caller gets an injected error; the peer is not
// reached.
func Sending(o *Options) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return cross(ctx, o, next, method, req)
		}
	}
}

// Receiving returns middleware that makes each request received by a client or
// server an injection point. The peer gets an injected error as a protocol
// error: a [*jsonrpc.Error] keeps its code, any other becomes an internal
// error, -32603, with its text.
func Receiving(o *Options) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := cross(ctx, o, next, method, req)
			err = usercode.Sound(err) // of a handler
			var wire *jsonrpc.Error
			if err != nil && errors.Is(err, chaos.ErrInjected) && !errors.As(err, &wire) {
				err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
			}
			return res, err
		}
	}
}

// cross passes a request through its injection point.
func cross(ctx context.Context, o *Options, next mcp.MethodHandler, method string,
	req mcp.Request) (mcp.Result, error) {
	in := o.injector(ctx)
	if in == nil {
		return next(ctx, method, req)
	}
	params, err := json.Marshal(req.GetParams())
	if err != nil {
		params = nil // such parameters are not sent either; next says so
	}
	at := placeOf(method, params)
	var real mcp.Result
	call := chaos.WrapWith(atMiddleware+at.path, func(ctx context.Context, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		real = res
		return res, err
	}, &chaos.WrapOptions[mcp.Request]{Injector: in, Key: func(mcp.Request) uint64 { return at.key }})
	res, err := call(ctx, req)
	if err != nil {
		return nil, err
	}
	return res, fits(method, real, res)
}

// fits rejects a result of another type than the method's, because the SDK
// would panic on it.
func fits(method string, real, res mcp.Result) error {
	want := reflect.TypeOf(real)
	switch {
	case strings.HasPrefix(method, "notifications/"), want != nil && reflect.TypeOf(res) == want:
		return nil
	case method == "tools/call":
		want = reflect.TypeFor[*mcp.CallToolResult]()
	case method == "tools/list":
		want = reflect.TypeFor[*mcp.ListToolsResult]()
	}
	if want != nil && reflect.TypeOf(res) == want && !reflect.ValueOf(res).IsNil() {
		return nil
	}
	return fmt.Errorf("mcpchaos: a fault gave %T as the result of %s", res, method)
}

// The beginnings of targets.
const (
	atMiddleware = "mcp/"
	atSend       = "mcp/send/"
	atReceive    = "mcp/receive/"
	callTool     = "tools/call/"
)

// place describes what a message is about: the end of its target, and its key.
type place struct {
	path string
	key  uint64
}

// placeOf names a request by its method and what it asks for.
func placeOf(method string, params []byte) place {
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil { // no object: nothing to be named by
		return place{method, jsonhash.Sum(params)}
	}
	p := place{path: method}
	named := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
	var name string
	if by, ok := named[method]; ok && json.Unmarshal(members[by], &name) == nil && name != "" {
		p.path += "/" + name
	}
	if method == "tools/call" {
		p.key = jsonhash.Sum(members["arguments"])
		return p
	}
	delete(members, "_meta") // tokens differ from request to request
	rest, err := json.Marshal(members)
	if err == nil {
		p.key = jsonhash.Sum(rest)
	}
	return p
}
