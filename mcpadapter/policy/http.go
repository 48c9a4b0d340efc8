package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// HTTPOptions say where a handler will be served.
type HTTPOptions struct {
	_ struct{}

	// Listen is the address that the server will listen on, such as "127.0.0.1:8080".
	Listen string
	// LoopbackWithoutToken lets everyone on this machine in, if Listen is a loopback
	// address. Without a token and without this there is no handler.
	LoopbackWithoutToken bool
	// Transport names the transport in the audit log. Empty: "http".
	Transport string
}

// A grant is a token that is compared by its hash, so that the time it takes
// tells nothing about it, not even its length.
type grant struct {
	hash   [sha256.Size]byte
	caller Caller
}

func (t Token) grant() grant {
	g := grant{hash: sha256.Sum256([]byte(t.Value)), caller: Caller{Subject: cmp.Or(t.Subject, defaultSubject), Scopes: slices.Clone(t.Scopes)}}
	if t.Scopes == nil {
		g.caller.Scopes = []string{ScopeAdmin}
	}
	return g
}

// HTTPHandler guards the HTTP handler of a server, streamable or SSE. A request
// without a valid bearer token gets 401 before its body is read, with problem
// details and a line of audit that names no tool; one that a browser sends for
// another site gets 403. Every HTTP handler of a server behind the gate has to
// be wrapped in one.
//
// Without a configured token it refuses, with a [*FieldError], unless o says in
// so many words that everyone on a loopback address may call; requests that then
// come from or to any other address are refused all the same.
func (g *Gate) HTTPHandler(next http.Handler, o *HTTPOptions) (http.Handler, error) {
	if o == nil {
		o = new(HTTPOptions)
	}
	h := &guard{gate: g, transport: o.Transport, next: http.NewCrossOriginProtection().Handler(next)}
	if h.transport == "" {
		h.transport = transportHTTP
	}
	if len(g.tokens) > 0 {
		h.next = auth.RequireBearerToken(h.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h.next)
		return h, nil
	}
	if !o.LoopbackWithoutToken {
		return nil, &FieldError{Field: "Tokens", Allowed: "a token (" + envToken + ") for HTTP, or LoopbackWithoutToken with a loopback address in Listen"}
	}
	if host, _, err := net.SplitHostPort(o.Listen); err != nil || !loopback(host) {
		return nil, &FieldError{Field: "HTTPOptions.Listen", Value: o.Listen, Allowed: "a loopback address and port, such as 127.0.0.1:8080, where there is no token", Err: err}
	}
	return h, nil
}

// A guard is the handler that HTTPHandler makes.
type guard struct {
	gate      *Gate
	transport string
	next      http.Handler
}

func (h *guard) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	began := time.Now()
	caller, refusal := h.admit(req)
	if refusal == "" {
		req = req.WithContext(context.WithValue(req.Context(), originKey{}, origin{caller, h.transport}))
		h.next.ServeHTTP(w, req)
		return
	}
	e := &Error{Status: http.StatusUnauthorized, Code: CodeUnauthenticated, Detail: refusal,
		Hint: "send the header Authorization: Bearer with the server's token"}
	h.gate.audit.toolCall(req.Context(), &visit{gate: h.gate, began: began, transport: h.transport, caller: Caller{Subject: anonymous}, detail: e.Code + ": " + refusal})
	w.Header().Set("WWW-Authenticate", "Bearer")
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Connection", "close") // the body has not been read, and will not be
	w.WriteHeader(e.Status)
	w.Write([]byte(e.text()))
}

// admit finds out whose token the request carries; refusal is empty if it may
// pass.
func (h *guard) admit(req *http.Request) (c Caller, refusal string) {
	if len(h.gate.tokens) == 0 {
		if !local(req) {
			return c, "this server answers on its own machine only"
		}
		return h.gate.local, ""
	}
	token, found := bearer(req)
	if !found {
		return c, "the request carries no bearer token"
	}
	if g := h.gate.lookup(token); g != nil {
		return g.caller, ""
	}
	return c, "the bearer token is not valid"
}

// bearer reads the header as auth.RequireBearerToken does. Two headers could be
// read in two ways by two proxies, so they are none.
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

// lookup compares with every token, also behind a match.
func (g *Gate) lookup(token string) (found *grant) {
	hash := sha256.Sum256([]byte(token))
	for i := range g.tokens {
		if subtle.ConstantTimeCompare(hash[:], g.tokens[i].hash[:]) == 1 {
			found = &g.tokens[i]
		}
	}
	return found
}

// verify hands the caller to the SDK, which binds sessions to it.
func (h *guard) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	g := h.gate.lookup(token)
	if g == nil {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: g.caller.Subject, Scopes: slices.Clone(g.caller.Scopes)}, nil
}

// local says whether both ends of the connection are on this machine. A request
// that does not say is not.
func local(req *http.Request) bool {
	here, ok := req.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if ok && here != nil {
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
