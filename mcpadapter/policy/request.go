package policy

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// Methods that the gate treats in a way of their own.
const (
	methodInitialize  = "initialize"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodListen      = "subscriptions/listen"
)

// codeRefused is the JSON-RPC code of a request other than tools/call that the
// gate refuses. The error's data has the envelope.
const codeRefused = -32010

// A Request is a rule for requests other than tools/call: resources, templates,
// subscriptions, prompts, completions and the level of messages. The handshake,
// ping, discovery, notifications and the list of tools need no rule.
type Request struct {
	_ struct{}

	// Method is a pattern of methods, such as "resources/read" or "prompts/*".
	Method string
	// Name is a pattern of what is requested: a resource's URI, a prompt's name,
	// the reference of a completion. Empty: all. Names are matched as they are
	// written.
	Name string
	// Scopes are all required. None: a caller needs at least one scope, whichever.
	Scopes []string
}

type requestRule struct {
	Request
	method, name *glob.Glob
}

func compileRequests(requests []Request, bad complain) (rules []requestRule) {
	for i, r := range requests {
		rule := requestRule{Request: r}
		var err error
		if rule.method, err = glob.Compile(r.Method); err != nil {
			bad("a pattern of methods, such as resources/*", r.Method, "Requests[%d].Method", i)
		}
		if r.Name != "" {
			if rule.name, err = glob.Compile(r.Name); err != nil {
				bad("a pattern of URIs or names", r.Name, "Requests[%d].Name", i)
			}
		}
		checkNeeds(bad, Read, r.Scopes, "Requests[%d]", i)
		rules = append(rules, rule)
	}
	return rules
}

// ruleFor returns the first rule that fits, or that of requests without one.
func (g *Gate) ruleFor(method, name string) requestRule {
	for _, r := range g.requests {
		if r.method.Match(method) && (r.name == nil || r.name.Match(name)) {
			return r
		}
	}
	return requestRule{Request: Request{Scopes: []string{ScopeRead}}}
}

// open reports whether a method needs no permission: it opens and keeps a
// session, or lists what exists.
func open(method string) bool {
	switch method {
	case methodInitialize, "ping", "server/discover", methodListTools:
		return true
	}
	return strings.HasPrefix(method, "notifications/")
}

// request is the gate for everything but tools/call. It writes an audit line
// for each request that it judges, and for others if they fail.
func (g *Gate) request(ctx context.Context, method string, req mcp.Request,
	next mcp.MethodHandler) (res mcp.Result, err error) {
	acc := g.begin(ctx, req)
	acc.method, acc.target = method, named(req.GetParams())
	defer func() {
		if p := recover(); p != nil { // left alone, it would end the process
			acc.detail = fmt.Sprintf("panic: %v (%s)", p, panicPlace())
			res, err = nil,
				&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: method + " failed inside the server"}
		}
		if !open(method) || acc.detail != "" {
			g.audit.completed(ctx, acc)
		}
	}()
	if open(method) {
		if method == methodInitialize {
			return acc.initialize(ctx, req, next)
		}
		acc.detail = ""
		return next(ctx, method, req)
	}
	done, refusal := acc.admit(ctx, req)
	if refusal != nil {
		acc.detail = refusal.Code + ": " + refusal.Error()
		return nil, refusal.wire(codeRefused)
	}
	accepted := false // also where the handler panics
	defer func() { done(accepted) }()
	res, err = next(context.WithValue(ctx, callerKey{}, acc), method, req)
	if accepted = err == nil; accepted {
		acc.detail = ""
		if method == methodUnsubscribe {
			g.sessions.unwatch(acc.sessionKey(), acc.target)
		}
		return res, nil
	}
	acc.detail = err.Error()
	return nil, err
}

// admit judges a request: authentication, scopes, rate, subscriptions. done ends
// what it counts, with whether the server accepted the request.
func (acc *access) admit(ctx context.Context, req mcp.Request) (done func(accepted bool), refusal *Error) {
	if !acc.authenticated {
		return nil, unauthenticated()
	}
	g := acc.gate
	followed := followed(req.GetParams())
	needs := []requestRule{g.ruleFor(acc.method, acc.target)}
	for _, uri := range followed {
		needs = append(needs, g.ruleFor(methodSubscribe, uri))
	}
	for _, need := range needs {
		if e := acc.missing(need.Scopes, acc.method); e != nil {
			return nil, e
		}
		if len(acc.caller.Scopes) == 0 {
			return nil, &Error{Status: http.StatusForbidden, Code: CodeMissingScope,
				Detail: acc.method + " needs a caller that was granted a scope (granted: none)",
				Hint:   "call with a token that was granted one"}
		}
	}
	if _, e := g.limiter.take(acc.bounds(nil, nil, acc.method), time.Now()); e != nil {
		return nil, e
	}
	switch acc.method {
	case methodSubscribe:
		return g.sessions.watch(acc.sessionKey(), acc.target)
	case methodListen:
		done, e := g.sessions.listen(acc.caller.Subject, max(len(followed), 1))
		if e == nil {
			g.audit.started(ctx, acc) // it stays open, and its other line comes at its end
		}
		return done, e
	}
	return func(bool) {}, nil
}

// initialize counts a session, and remembers its caller until it ends.
func (acc *access) initialize(ctx context.Context, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	acc.detail = ""
	session, _ := req.GetSession().(*mcp.ServerSession)
	// standard input, memory; server-sent events are counted where they are opened
	if acc.session == "" || acc.events || session == nil {
		return next(ctx, methodInitialize, req)
	}
	s := acc.gate.sessions
	give, refusal := s.hold(acc.caller.Subject)
	if refusal != nil {
		acc.detail = refusal.Code + ": " + refusal.Error()
		return nil, refusal.wire(codeRefused)
	}
	forget := s.own(acc.sessionKey(), acc.caller.Subject)
	res, err := next(ctx, methodInitialize, req)
	if err != nil {
		forget()
		give()
		return nil, err
	}
	go func() { // ends with the session
		_ = session.Wait()
		forget()
		give()
	}()
	return res, nil
}

func named(p mcp.Params) string {
	switch p := p.(type) {
	case *mcp.ReadResourceParams:
		return p.URI
	case *mcp.SubscribeParams:
		return p.URI
	case *mcp.UnsubscribeParams:
		return p.URI
	case *mcp.GetPromptParams:
		return p.Name
	case *mcp.CompleteParams:
		if p != nil && p.Ref != nil {
			return p.Ref.Name + p.Ref.URI
		}
	case *mcp.SubscriptionsListenParams:
		return strings.Join(followed(p), " ")
	}
	return ""
}

// followed are the resources that a request which stays open asks for.
func followed(p mcp.Params) []string {
	listen, ok := p.(*mcp.SubscriptionsListenParams)
	if !ok || listen == nil || listen.Notifications == nil {
		return nil
	}
	return listen.Notifications.ResourceSubscriptions
}

func (acc *access) missing(scopes []string, what string) *Error {
	var missing []string
	for _, s := range scopes {
		if !slices.Contains(acc.caller.Scopes, s) {
			missing = append(missing, s)
		}
	}
	if len(missing) == 0 || slices.Contains(acc.caller.Scopes, ScopeAdmin) {
		return nil
	}
	granted := "none"
	if len(acc.caller.Scopes) > 0 {
		granted = strings.Join(acc.caller.Scopes, ", ")
	}
	return &Error{Status: http.StatusForbidden, Code: CodeMissingScope,
		Detail: fmt.Sprintf("%s missing required scope(s): %s (granted: %s)", what, strings.Join(missing, ", "),
			granted),
		Hint: "call with a token that was granted these scopes"}
}

func unauthenticated() *Error {
	return &Error{Status: http.StatusUnauthorized, Code: CodeUnauthenticated,
		Detail: "the call carries no valid token",
		Hint:   "send the header Authorization: Bearer with the server's token"}
}
