package policy

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/shakedown-go/shakedown/internal/redact"
)

// HTTPOptions describe where a handler will be served, and how long a caller
// may take.
type HTTPOptions struct {
	_ struct{}

	// Listen is the address that the server will listen on, such as "127.0.0.1:8080".
	Listen string
	// LoopbackWithoutToken lets everyone on this machine call without a token, if
	// Listen is a loopback address. If no token is configured either, HTTPHandler
	// returns an error.
	LoopbackWithoutToken bool
	// TokensInClearBeyondLoopback accepts requests that carry their token without
	// TLS from or to another machine, where the network between can read it. It is
	// for a proxy that ends TLS and reaches this server over a private network.
	TokensInClearBeyondLoopback bool
	// Transport names the transport in the audit log. Empty: "http".
	Transport string

	// Patience is how long a caller may take to send a body, and to read what one write
	// sends it; there may be any number of them. A caller that is refused has a second of
	// it, until its connection is closed. 0: 30 s.
	Patience time.Duration
	// FailedLogins bounds the requests of one address (of one /64 of IPv6) that carry
	// no valid token. One that has used it up gets 429 whatever it carries. Behind a
	// proxy all callers have its address. Nil: 20 at once, and one every five seconds.
	FailedLogins *Limit
}

// Defaults of HTTPOptions.Patience, and the most of it for callers that are refused.
const (
	usualPatience   = 30 * time.Second
	refusalPatience = time.Second
)

func (o HTTPOptions) withDefaults() (HTTPOptions, error) {
	problems := fields.List()
	problems.Demand(o.Patience >= 0, "HTTPOptions.Patience", o.Patience, "0 (30 s) or more")
	o.FailedLogins.check(problems.Wrongf, "HTTPOptions.FailedLogins")
	o.Patience = cmp.Or(o.Patience, usualPatience)
	o.FailedLogins = cmp.Or(o.FailedLogins, &Limit{PerSecond: 0.2, Burst: 20})
	o.Transport = cmp.Or(o.Transport, transportHTTP)
	return o, problems.Err()
}

// HTTPHandler guards the HTTP handler of a server, streamable or SSE. Wrap
// every HTTP handler of a server behind the gate in one.
//
// A request without a valid bearer token gets 401 before its body is read, with
// problem details and an audit line without a tool, and its connection is
// closed. A request that a browser sends for another site gets 403, and so does
// one for a session that another caller began. The handler behind it, and the
// tools, do not see the caller's token.
//
// If no token is configured, HTTPHandler fails with a [*FieldError], unless o
// lets everyone on a loopback address call. Even then, requests from or to any
// other address are refused.
func (g *Gate) HTTPHandler(next http.Handler, o *HTTPOptions) (http.Handler, error) {
	o = cmp.Or(o, &HTTPOptions{})
	full, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(g.tokens) == 0 {
		if !o.LoopbackWithoutToken {
			return nil, fields.Wrong("Tokens", nil,
				"a token ("+envToken+", "+envTokensFile+
					") for HTTP, or LoopbackWithoutToken with a loopback address in Listen")
		}
		if host, _, err := net.SplitHostPort(o.Listen); err != nil || !loopback(host) {
			return nil, fields.Because("HTTPOptions.Listen", o.Listen, err,
				"a loopback address and port, such as 127.0.0.1:8080, where there is no token")
		}
	}
	g.audit.sink.mu.Lock()
	g.audit.sink.overWeb = true
	g.audit.sink.mu.Unlock()
	bearer := auth.RequireBearerToken(originOf, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	return &guard{gate: g, options: full, next: bearer(http.NewCrossOriginProtection().Handler(next))}, nil
}

// originOf passes the caller to the SDK, which binds sessions to it. The caller
// was authenticated before.
func originOf(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	from, ok := ctx.Value(originKey{}).(*origin)
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	return from.info(), nil
}

// A guard is the handler that HTTPHandler returns: it checks a request, and
// passes it on or refuses it.
type guard struct {
	gate    *Gate
	options HTTPOptions
	next    http.Handler
}

func (h *guard) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	began := time.Now()
	control := http.NewResponseController(w)
	if mayHaveBody(req) { // until the caller is known
		_ = control.SetReadDeadline(began.Add(min(refusalPatience, h.options.Patience)))
	}
	acc := &access{gate: h.gate, began: began, transport: h.options.Transport, caller: Caller{Subject: anonymous}}
	granted, refusal := h.admit(req)
	if refusal == nil {
		acc.caller = granted.caller
		refusal = h.belongs(acc, req)
	}
	if refusal == nil && h.opens(req) {
		var give func()
		if give, refusal = h.gate.sessions.hold(acc.caller.Subject); refusal == nil {
			defer give()
		}
	}
	if refusal != nil {
		_ = control.SetWriteDeadline(began.Add(h.options.Patience))
		h.refuse(w, req, acc, refusal)
		return
	}
	from := &origin{caller: acc.caller, transport: h.options.Transport}
	ctx := context.WithValue(req.Context(), originKey{}, from)
	if !granted.expires.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, granted.expires)
		defer cancel()
	}
	req = req.Clone(ctx)
	req.Header.Set("Authorization", "Bearer "+redact.Marker) // the handler must not see the token
	if mayHaveBody(req) {
		_ = control.SetReadDeadline(began.Add(h.options.Patience))
		req.Body = &timedBody{ReadCloser: req.Body, control: control}
	}
	out := &timedWriter{ResponseWriter: w, control: control, each: h.options.Patience}
	if h.opens(req) {
		out.endpoint = func(id string) {
			from.session = id
			out.forget = h.gate.sessions.own(eventsKey+id, acc.caller.Subject)
		}
		defer out.leave()
	}
	h.next.ServeHTTP(out, req)
}

// opens reports whether a request opens a session of server-sent events, which
// lasts as long as the request.
func (h *guard) opens(req *http.Request) bool {
	return req.Method == http.MethodGet && req.Header.Get(sessionHeader) == ""
}

// refuse answers a request that is refused. Its body is never read: the
// connection is closed.
func (h *guard) refuse(w http.ResponseWriter, req *http.Request, acc *access, e *Error) {
	acc.detail, acc.id, acc.remote = e.Code+": "+e.Error(), h.gate.audit.nextID(), address(req)
	if e.Code != CodeTooManyLogins || h.gate.logins.firstRefusal(acc.remote) {
		h.gate.audit.completed(req.Context(), acc)
	}
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if e.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "5")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Connection", "close")
	w.WriteHeader(e.Status)
	w.Write([]byte(e.text()))
}

func (h *guard) admit(req *http.Request) (*grant, *Error) {
	wrong := func(detail string) *Error {
		e := unauthenticated()
		e.Detail = detail
		return e
	}
	if len(h.gate.tokens) == 0 {
		if !local(req) {
			return nil, wrong("this server answers on its own machine only")
		}
		return &grant{caller: h.gate.local}, nil
	}
	from, now := address(req), time.Now()
	if e := h.gate.logins.tooMany(from, h.options.FailedLogins, now); e != nil {
		return nil, e
	}
	token, found := bearer(req)
	detail := "the request carries no bearer token"
	if found {
		detail = "the bearer token is not valid"
		switch g := h.gate.tokens.lookup(token); {
		case g == nil:
		case !g.valid(now):
			detail = "the bearer token of " + g.caller.Subject + " has expired"
		case req.TLS == nil && !h.options.TokensInClearBeyondLoopback && !local(req):
			return nil, &Error{Status: http.StatusForbidden, Code: CodeTLSRequired,
				Detail: "the token came in clear from beyond this machine",
				Hint:   "use https; whoever could read along has the token now, so have it replaced"}
		default:
			return g, nil
		}
	}
	h.gate.logins.failedLogin(from, h.options.FailedLogins, now)
	return nil, wrong(detail)
}

const sessionHeader = "Mcp-Session-Id"

func (h *guard) belongs(acc *access, req *http.Request) *Error {
	if id := req.Header.Get(sessionHeader); id != "" {
		acc.session = id
		if owner, known := h.gate.sessions.owner(streamKey + id); known && owner != acc.caller.Subject {
			return notYours()
		}
	}
	id := req.URL.Query().Get("sessionid") // of server-sent events, where the SDK puts it
	if id == "" || req.Method != http.MethodPost {
		return nil
	}
	acc.session = id
	owner, known := h.gate.sessions.owner(eventsKey + id)
	switch {
	case !known:
		return &Error{Status: http.StatusNotFound, Code: CodeUnknownSession, Detail: "there is no such session",
			Hint: "connect again"}
	case owner != acc.caller.Subject:
		return notYours()
	}
	return nil
}

func notYours() *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeForbiddenSession,
		Detail: "the session belongs to another caller", Hint: "begin a session of your own"}
}

// bearer reads the header as auth.RequireBearerToken does. Two such headers
// count as none, because two proxies could read them differently.
func bearer(req *http.Request) (string, bool) {
	headers := req.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	words := strings.Fields(headers[0])
	if len(words) != 2 || !strings.EqualFold(words[0], "Bearer") {
		return "", false
	}
	return words[1], true
}

// local reports whether both ends of the connection are on this machine. A
// request without addresses is not local.
func local(req *http.Request) bool {
	here, ok := req.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if ok && here != nil {
		if here.Network() == "unix" || here.Network() == "pipe" { // the latter is net.Pipe: one process
			return true
		}
		host, _, err := net.SplitHostPort(here.String())
		if err != nil || !loopback(host) {
			return false
		}
	}
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	return err == nil && loopback(host)
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
