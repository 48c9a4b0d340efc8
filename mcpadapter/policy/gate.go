package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodCallTool  = "tools/call"
	methodListTools = "tools/list"
)

// Middleware is the gate as receiving middleware of a server. Add it after all
// other middleware: what is added last is outermost, sees every call, and has
// the last word. One gate may stand in front of several servers; they share its
// limits.
func (g *Gate) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok && method == methodCallTool {
				return g.call(ctx, call, next)
			}
			res, err := g.request(ctx, method, req, next)
			if list, ok := res.(*mcp.ListToolsResult); ok && method == methodListTools && err == nil {
				return g.listing(list, g.visit(ctx, req).caller)
			}
			return res, err
		}
	}
}

// A visit is one request on its way through the gate.
type visit struct {
	gate          *Gate
	began         time.Time
	id            string // of ours
	clientID      string // of the request, as the client gave it; empty: not known
	session       string
	events        bool // the session is one of server-sent events
	transport     string
	remote        string // address of a caller that was refused over HTTP
	caller        Caller
	authenticated bool
	method        string // empty: tools/call
	tool          string // as the caller spelt it
	row           *row   // nil: unknown
	target        string
	code          string // of the failure; empty: none
	detail        string // of the error, for the audit log
	answered      bool   // the user said yes to a question in a result
}

// visit begins a visit: whose it is, and by which way it came.
func (g *Gate) visit(ctx context.Context, req mcp.Request) *visit {
	v := &visit{gate: g, began: time.Now(), id: g.audit.nextID(), detail: "the handler ended its goroutine"}
	if session, ok := req.GetSession().(*mcp.ServerSession); ok && session != nil {
		v.session = session.ID()
	}
	v.authenticated = v.identify(ctx, req.GetExtra())
	return v
}

// call is the gate itself. The line of audit is written when it is left, however
// it is left: also by a panic, and by a handler that ends its goroutine.
func (g *Gate) call(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler) (res mcp.Result, err error) {
	v := g.visit(ctx, req)
	defer func() {
		if p := recover(); p != nil {
			v.detail = fmt.Sprintf("panic: %v (%s)", p, panicPlace())
			res, err = v.failure(req, &Error{Status: http.StatusInternalServerError, Code: CodePanic,
				Detail: "the tool failed inside the server", Hint: "this is a defect of the tool; its operator finds it in the audit log"})
		}
		g.audit.completed(ctx, v)
	}()
	res, err = v.pass(ctx, req, next)
	return res, err
}

// pass holds the call against the policy, in the documented order, and lets it
// through or refuses it. It sets v.detail in any case.
func (v *visit) pass(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	v.tool = req.Params.Name
	v.row = v.gate.rows[v.tool]
	if !v.authenticated {
		return v.refuse(req, unauthenticated())
	}
	if v.row == nil {
		e := &Error{Status: http.StatusNotFound, Code: CodeUnknownTool,
			Detail: fmt.Sprintf("unknown tool %q", clip(v.tool, 200)), Hint: "call one of the tools of tools/list; names are exact"}
		v.detail = e.Detail
		return nil, e.wire(jsonrpc.CodeInvalidParams)
	}
	args, err := parseArguments(req.Params.Arguments)
	if err != nil {
		args = &arguments{}
	}
	v.setTarget(args)
	capability, refusal := v.permitted(args)
	if refusal != nil {
		return v.refuse(req, refusal)
	}
	if err != nil { // after mode and scope, which do not depend on what cannot be read
		return v.refuse(req, &Error{Status: http.StatusBadRequest, Code: CodeInvalidArguments, Detail: err.Error(),
			Hint: "send one JSON object with each argument once"})
	}
	question, refusal := v.confirm(ctx, req, args)
	if question != nil || refusal != nil {
		if refusal != nil {
			return v.refuse(req, refusal)
		}
		v.detail = "confirmation asked for"
		return question, nil
	}
	var taken taken
	if !v.row.Unlimited {
		if taken, refusal = v.gate.limiter.take(v.toolBounds(args), time.Now()); refusal != nil {
			return v.refuse(req, refusal)
		}
	}
	if capability != Read {
		err := v.gate.audit.started(ctx, v)
		if err != nil && !v.gate.options.AuditBestEffort && !v.row.Unlimited {
			taken.back()
			return v.refuse(req, &Error{Status: http.StatusServiceUnavailable, Code: CodeAuditUnavailable, Detail: "the audit log cannot be written, so nothing may be changed",
				Hint: "reading still works; try again when the operator has mended the audit log"})
		}
	}
	res, err := v.run(ctx, req, args, next)
	if v.code == CodeInvalidArguments { // the tool did nothing
		taken.back()
	}
	return res, err
}

// permitted judges mode and scope, by the action that fits or the row.
func (v *visit) permitted(args *arguments) (Capability, *Error) {
	capability, scopes, what := v.row.Capability, v.row.Scopes, "tool "+v.tool
	for _, a := range v.row.Actions {
		if value, ok := args.exact(a.Field); ok && holds(value, a.Values) {
			capability, scopes = a.Capability, a.Scopes
			break
		}
	}
	if capability != Read && v.gate.mode != ReadWrite {
		return capability, &Error{Status: http.StatusForbidden, Code: CodeReadOnly, Detail: what + " writes, and the server is in read-only mode",
			Hint: "read with another tool or action, or ask the operator for a server in read-write mode"}
	}
	return capability, v.missing(scopes, what)
}

// run calls the handler and gives what it returned the form that all failures
// have.
func (v *visit) run(ctx context.Context, req *mcp.CallToolRequest, args *arguments, next mcp.MethodHandler) (mcp.Result, error) {
	if timeout := max(v.row.Timeout, 0); timeout > 0 || v.gate.options.Timeout > 0 {
		if timeout == 0 {
			timeout = v.gate.options.Timeout
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	passed, err := v.forHandler(req, args)
	if err != nil {
		return v.refuse(req, toError(ctx, err))
	}
	res, err := next(context.WithValue(ctx, callerKey{}, v), methodCallTool, passed)
	return v.outcome(ctx, req, v.carry(args, res), err)
}

// forHandler is the request without what was meant for the gate. Only tools that
// have a rule lose the argument: for others it is theirs, or a mistake that
// their schema finds.
func (v *visit) forHandler(req *mcp.CallToolRequest, args *arguments) (*mcp.CallToolRequest, error) {
	if len(v.row.confirm) == 0 {
		return req, nil
	}
	params, passed := *req.Params, *req
	if !v.row.KeepConfirm {
		rest, err := args.withoutConfirm()
		if err != nil {
			return nil, err
		}
		params.Arguments = rest
	}
	params.InputResponses = withoutQuestion(params.InputResponses)
	params.RequestState, _ = v.unseal(args, params.RequestState)
	passed.Params = &params
	return &passed, nil
}

// setTarget reads the argument that names what the call is about.
func (v *visit) setTarget(args *arguments) {
	if v.row.Target == "" {
		return
	}
	value, ok := args.loose(v.row.Target)
	if !ok {
		return
	}
	v.target = string(value) // numbers as they were written
	if got, ok := scalar(value); ok {
		if s, ok := got.(string); ok {
			v.target = s
		}
	}
}

// panicPlace is where the panic was raised: the first frame below the runtime's.
func panicPlace() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			panicked = panicked || f.Function == "runtime.gopanic"
		case panicked:
			return fmt.Sprintf("%s:%d", f.Function, f.Line)
		}
		if !more {
			return "place unknown"
		}
	}
}

// errNotResult is what a middleware below the gate would have to return.
var errNotResult = errors.New("a middleware returned something that is no result of a tool")
