package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	methodCallTool  = "tools/call"
	methodListTools = "tools/list"
)

// Middleware returns the gate as receiving middleware of a server. Add it after
// all other middleware: the last one added is outermost, so it sees every call
// first and every result last. Several servers may use one gate; they share its
// limits.
func (g *Gate) Middleware() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if call, ok := req.(*mcp.CallToolRequest); ok && method == methodCallTool {
				return g.call(ctx, call, next)
			}
			res, err := g.request(ctx, method, req, next)
			if list, ok := res.(*mcp.ListToolsResult); ok && method == methodListTools && err == nil {
				return g.listing(list, g.begin(ctx, req).caller)
			}
			return res, err
		}
	}
}

// An access is one request on its way through the gate.
type access struct {
	gate          *Gate
	began         time.Time
	id            string // made by the gate
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

// begin starts an access: it identifies the caller and the transport.
func (g *Gate) begin(ctx context.Context, req mcp.Request) *access {
	acc := &access{gate: g, began: time.Now(), id: g.audit.nextID(), detail: "the handler ended its goroutine"}
	if session, ok := req.GetSession().(*mcp.ServerSession); ok && session != nil {
		acc.session = session.ID()
	}
	acc.authenticated = acc.identify(ctx, req.GetExtra())
	return acc
}

// call judges and runs one tools/call. Its audit line is written however the
// call ends: also by a panic, or by a handler that ends its goroutine.
func (g *Gate) call(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler) (res mcp.Result, err error) {
	acc := g.begin(ctx, req)
	defer func() {
		if p := recover(); p != nil {
			acc.detail = fmt.Sprintf("panic: %v (%s)", p, panicPlace())
			res, err = acc.failure(req, &Error{Status: http.StatusInternalServerError, Code: CodePanic,
				Detail: "the tool failed inside the server",
				Hint:   "this is a defect of the tool; its operator finds it in the audit log"})
		}
		g.audit.completed(ctx, acc)
	}()
	res, err = acc.pass(ctx, req, next)
	return res, err
}

// pass checks the call against the policy, in the documented order, and runs or
// refuses it. It always sets acc.detail.
func (acc *access) pass(ctx context.Context, req *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	acc.tool = req.Params.Name
	acc.row = acc.gate.rows[acc.tool]
	if !acc.authenticated {
		return acc.refuse(req, unauthenticated())
	}
	if acc.row == nil {
		e := &Error{Status: http.StatusNotFound, Code: CodeUnknownTool,
			Detail: fmt.Sprintf("unknown tool %q", text.Clip(acc.tool, 200)),
			Hint:   "call one of the tools of tools/list; names are exact"}
		acc.detail = e.Detail
		return nil, e.wire(jsonrpc.CodeInvalidParams)
	}
	args, err := parseArguments(req.Params.Arguments)
	if err != nil {
		args = arguments{}
	}
	acc.setTarget(args)
	capability, refusal := acc.permitted(args)
	if refusal != nil {
		return acc.refuse(req, refusal)
	}
	if err != nil { // after mode and scope, which do not depend on what cannot be read
		return acc.refuse(req, &Error{Status: http.StatusBadRequest, Code: CodeInvalidArguments, Detail: err.Error(),
			Hint: "send one JSON object with each argument once"})
	}
	question, refusal := acc.confirm(ctx, req, args)
	if question != nil || refusal != nil {
		if refusal != nil {
			return acc.refuse(req, refusal)
		}
		acc.detail = "confirmation asked for"
		return question, nil
	}
	var taken taken
	if !acc.row.Unlimited {
		bounds := acc.bounds(acc.row.Limit, acc.row.SessionLimit, "tool "+acc.tool)
		if taken, refusal = acc.gate.limiter.take(bounds, time.Now()); refusal != nil {
			return acc.refuse(req, refusal)
		}
	}
	if capability != Read {
		err := acc.gate.audit.started(ctx, acc)
		if err != nil && !acc.gate.options.AuditBestEffort && !acc.row.Unlimited {
			taken.back()
			return acc.refuse(req,
				&Error{Status: http.StatusServiceUnavailable, Code: CodeAuditUnavailable,
					Detail: "the audit log cannot be written, so nothing may be changed",
					Hint:   "reading still works; try again when the operator has mended the audit log"})
		}
	}
	res, err := acc.run(ctx, req, args, next)
	if acc.code == CodeInvalidArguments { // the tool did nothing
		taken.back()
	}
	return res, err
}

// permitted checks mode and scope: those of the action that applies, else of the row.
func (acc *access) permitted(args arguments) (Capability, *Error) {
	capability, scopes, what := acc.row.Capability, acc.row.Scopes, "tool "+acc.tool
	for _, a := range acc.row.Actions {
		if value, ok := args.members[a.Field]; ok && holds(value, a.Values) {
			capability, scopes = a.Capability, a.Scopes
			break
		}
	}
	if capability != Read && acc.gate.mode != ReadWrite {
		return capability, &Error{Status: http.StatusForbidden, Code: CodeReadOnly,
			Detail: what + " writes, and the server is in read-only mode",
			Hint:   "read with another tool or action, or ask the operator for a server in read-write mode"}
	}
	return capability, acc.missing(scopes, what)
}

// run calls the handler and converts failures to their common form.
func (acc *access) run(ctx context.Context, req *mcp.CallToolRequest, args arguments,
	next mcp.MethodHandler) (mcp.Result, error) {
	passed, err := acc.forHandler(req, args)
	if err != nil {
		return acc.refuse(req, toError(ctx, err))
	}
	res, err := next(context.WithValue(ctx, callerKey{}, acc), methodCallTool, passed)
	return acc.outcome(ctx, req, acc.askAgain(args, res), err)
}

// forHandler returns the request without what was meant for the gate. The
// confirm argument is removed only for tools with a confirmation rule. For
// others it is an argument of their own, or a mistake that their schema finds.
func (acc *access) forHandler(req *mcp.CallToolRequest, args arguments) (*mcp.CallToolRequest, error) {
	if len(acc.row.confirm) == 0 {
		return req, nil
	}
	params, passed := *req.Params, *req
	if !acc.row.KeepConfirm {
		rest, err := args.withoutConfirm()
		if err != nil {
			return nil, err
		}
		params.Arguments = rest
	}
	params.InputResponses = withoutQuestion(params.InputResponses)
	passed.Params = &params
	return &passed, nil
}

// setTarget reads the argument that names what the call is about.
func (acc *access) setTarget(args arguments) {
	if acc.row.Target == "" {
		return
	}
	value, ok := args.loose(acc.row.Target)
	if !ok {
		return
	}
	acc.target = string(value) // numbers as they were written
	if value[0] == '"' {
		acc.target = jsonedit.Unquote(value)
	}
}

// panicPlace returns where the panic was raised: the first frame below the runtime's.
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

// errNotResult reports a middleware below the gate that returned another type.
var errNotResult = errors.New("a middleware returned something that is no result of a tool")

// listing removes the tools without a row, and adds the confirmation argument
// to those that may need it. A caller without any scope sees only tools that
// need none.
func (g *Gate) listing(list *mcp.ListToolsResult, caller Caller) (mcp.Result, error) {
	c := *list
	c.Tools = make([]*mcp.Tool, 0, len(list.Tools)) // never null in JSON
	for _, t := range list.Tools {
		r := g.rows[t.Name]
		if r == nil || len(caller.Scopes) == 0 && len(r.Scopes) > 0 {
			continue
		}
		if len(r.confirm) > 0 {
			shown, err := withConfirm(t, r.confirm)
			if err != nil {
				return nil, fmt.Errorf("policy: input schema of tool %s: %w", t.Name, err)
			}
			t = shown
		}
		c.Tools = append(c.Tools, t)
	}
	return &c, nil
}

// withConfirm returns a copy of the tool, whose schema belongs to the server,
// with the argument. A schema that has it already is not changed.
func withConfirm(t *mcp.Tool, rules []Confirm) (*mcp.Tool, error) {
	text, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	properties, _ := schema["properties"].(map[string]any)
	if _, has := properties[confirmField]; has {
		return t, nil
	}
	if properties == nil {
		properties = make(map[string]any, 1)
	}
	properties[confirmField] = map[string]any{"type": "boolean", "description": describe(rules)}
	schema["properties"] = properties
	c := *t
	c.InputSchema = schema
	return &c, nil
}

// describe returns a sentence for models: when the argument is needed.
func describe(rules []Confirm) string {
	if slices.ContainsFunc(rules, func(r Confirm) bool { return r.Field == "" }) {
		return "Must be true, and only after the user agreed: this cannot be undone."
	}
	s := "Must be true, and only after the user agreed, when "
	for i, r := range rules {
		if i > 0 {
			s += ", or "
		}
		values, _ := json.Marshal(r.Values)
		s += fmt.Sprintf("%s is one of %s", r.Field, values)
	}
	return s + "."
}
