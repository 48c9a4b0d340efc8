package policy_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

const (
	adminToken  = "the-token-of-the-admin"
	readerToken = "the-token-of-a-reader"
	thirdToken  = "the-token-of-a-third"
)

// bothEras serves both eras of the protocol on one URL.
func bothEras(s *mcp.Server) http.Handler {
	get := func(*http.Request) *mcp.Server { return s }
	stateful := mcp.NewStreamableHTTPHandler(get, nil)
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Mcp-Protocol-Version") >= newEra {
			stateless.ServeHTTP(w, req)
			return
		}
		stateful.ServeHTTP(w, req)
	})
}

func twoTokens() policy.Options {
	return policy.Options{Mode: policy.ReadWrite, EnableWrite: true,
		Tools:   []policy.Tool{{Name: "look", Capability: policy.Read, Scopes: []string{"rooms:read"}}, {Name: "room.delete", Scopes: []string{"rooms:write"}}},
		Confirm: []policy.Confirm{{Tool: "*.delete"}},
		Tokens:  []policy.Token{{Value: adminToken}, {Value: readerToken, Subject: "reader", Scopes: []string{"rooms:read"}}}}
}

// listen serves the desk behind a gate, on a loopback address.
func listen(t *testing.T, o policy.Options, h *policy.HTTPOptions, serve func(*mcp.Server) http.Handler) (*desk, *journal, string) {
	t.Helper()
	d := newDesk("look", "room.delete")
	g, j := d.behind(t, o)
	handler, err := g.HTTPHandler(serve(d.server), h)
	require.NoError(t, err)
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return d, j, s.URL
}

func dial(t *testing.T, transport mcp.Transport, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, o).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	require.NoError(t, err)
	t.Cleanup(func() { cs.Close() })
	return cs
}

func streamable(url, token string) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client.WithToken(nil, url, token)}
}

func TestCallsOverHTTP(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		d, j, url := listen(t, twoTokens(), nil, bothEras)
		admin := dial(t, streamable(url, adminToken), era, nil)
		reader := dial(t, streamable(url, readerToken), era, nil)
		assert.False(t, call(t, admin, "room.delete", `{"confirm":true}`).IsError)
		assert.Equal(t, 400, envelope(t, call(t, admin, "room.delete", `{}`)).Status)
		assert.False(t, call(t, reader, "look", `{}`).IsError)
		assert.Equal(t, "tool room.delete missing required scope(s): rooms:write (granted: rooms:read)",
			envelope(t, call(t, reader, "room.delete", `{"confirm":true}`)).Detail)
		assert.Len(t, d.reached(), 2)
		lines := j.lines(t)
		require.Len(t, lines, 4)
		for i, subject := range []string{"token", "token", "reader", "reader"} {
			assert.Equal(t, []any{"http", subject}, []any{lines[i]["transport"], lines[i]["caller_subject"]})
			assert.Equal(t, era == oldEra, lines[i]["session_id"] != "", "the new era has no sessions")
		}
	})
}

func TestTheUserIsAskedOverHTTP(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		d, _, url := listen(t, twoTokens(), nil, bothEras)
		var questions []string
		cs := dial(t, streamable(url, adminToken), era, asked(&mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil, &questions))
		assert.False(t, call(t, cs, "room.delete", `{}`).IsError)
		assert.Equal(t, []string{"Run room.delete? It cannot be undone."}, questions)
		assert.Equal(t, []string{"room.delete {}"}, d.reached())
	})
}

func TestServerSentEvents(t *testing.T) {
	d, j, url := listen(t, twoTokens(), &policy.HTTPOptions{Transport: "sse"}, func(s *mcp.Server) http.Handler {
		return mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
	})
	cs := dial(t, &mcp.SSEClientTransport{Endpoint: url, HTTPClient: client.WithToken(nil, url, readerToken)}, oldEra, nil)
	assert.False(t, call(t, cs, "look", `{}`).IsError)
	assert.Equal(t, 403, envelope(t, call(t, cs, "room.delete", `{"confirm":true}`)).Status, "a reader, although this transport hands no token to the gate")
	assert.Len(t, d.reached(), 1)
	assert.Equal(t, []any{"sse", "reader"}, []any{j.lines(t)[0]["transport"], j.lines(t)[0]["caller_subject"]})
}

// A caller has a budget of its own, which a new session does not renew.
func TestBudgetsOfCallers(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		o := twoTokens()
		o.Tokens = append(o.Tokens, policy.Token{Value: thirdToken, Subject: "third"})
		o.Tools[0].SessionLimit, o.Tools[0].Limit = &policy.Limit{Budget: 1}, &policy.Limit{Budget: 3}
		_, _, url := listen(t, o, nil, bothEras)
		codes := func(token string) (codes []string) {
			cs := dial(t, streamable(url, token), era, nil)
			for range 2 {
				code := "passes"
				if res := call(t, cs, "look", `{}`); res.IsError {
					code = envelope(t, res).Detail
				}
				codes = append(codes, code)
			}
			return codes
		}
		const own, all = "tool look: the budget of 1 calls of this caller is used up", "tool look: the budget of 3 calls of the server is used up"
		assert.Equal(t, []string{"passes", own}, codes(adminToken))
		assert.Equal(t, []string{"passes", own}, codes(readerToken))
		assert.Equal(t, []string{own, own}, codes(adminToken), "to reconnect does not help")
		assert.Equal(t, []string{"passes", all}, codes(thirdToken))
	})
}

// A body that must not be read.
type untouched struct{ read atomic.Bool }

func (u *untouched) Read([]byte) (int, error) {
	u.read.Store(true)
	return 0, io.EOF
}

func TestWhoHasNoTokenGets401(t *testing.T) {
	for reason, header := range map[string][]string{
		"nothing":                  nil,
		"another token":            {"Bearer the-token-of-nobody"},
		"half of the token":        {"Bearer " + adminToken[:10]},
		"the token and more":       {"Bearer " + adminToken + "x"},
		"the token twice in one":   {"Bearer " + adminToken + " " + adminToken},
		"two headers":              {"Bearer " + adminToken, "Bearer " + adminToken},
		"another scheme":           {"Basic " + adminToken},
		"no scheme":                {adminToken},
		"the token in capitals":    {"Bearer " + strings.ToUpper(adminToken)},
		"an empty token":           {"Bearer "},
		"a comma-separated second": {"Bearer x, Bearer " + adminToken},
	} {
		j := new(journal)
		o := twoTokens()
		o.Audit = j
		g, err := policy.New(&o)
		require.NoError(t, err)
		h, err := g.HTTPHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }), nil)
		require.NoError(t, err)
		body := new(untouched)
		req := httptest.NewRequest(http.MethodPost, "/?access_token="+adminToken, body)
		req.Header["Authorization"] = header
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		assert.Equal(t, http.StatusUnauthorized, w.Code, reason)
		assert.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
		var e policy.Error
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &e))
		assert.Equal(t, []any{401, policy.CodeUnauthenticated}, []any{e.Status, e.Code})
		assert.False(t, body.read.Load(), "%s: the body was read", reason)
		line := j.only(t)
		assert.Equal(t, []any{"", "anonymous", "error", "http"}, []any{line["tool"], line["caller_subject"], line["result"], line["transport"]})
		assert.NotContains(t, j.String(), adminToken[:10])
	}
}

func TestBearerIsReadWithoutCase(t *testing.T) {
	for _, header := range []string{"Bearer " + adminToken, "bearer " + adminToken, "BEARER  " + adminToken} {
		_, _, url := listen(t, twoTokens(), nil, func(*mcp.Server) http.Handler { return http.NotFoundHandler() })
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", header)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		res.Body.Close()
		assert.Equal(t, http.StatusNotFound, res.StatusCode, header)
	}
}

func TestHTTPRefusesToStartWithoutAToken(t *testing.T) {
	g, err := policy.New(&policy.Options{Tools: []policy.Tool{{Name: "look", Capability: policy.Read}}})
	require.NoError(t, err)
	for _, tc := range []struct {
		reason string
		o      *policy.HTTPOptions
		want   string // "": it starts
	}{
		{"nothing said", nil, "policy: Tokens is missing"},
		{"an address is not a word", &policy.HTTPOptions{Listen: "127.0.0.1:80"}, "policy: Tokens is missing"},
		{"nor is the word an address", &policy.HTTPOptions{LoopbackWithoutToken: true}, "HTTPOptions.Listen"},
		{"all addresses", &policy.HTTPOptions{LoopbackWithoutToken: true, Listen: ":80"}, "HTTPOptions.Listen"},
		{"all addresses, in numbers", &policy.HTTPOptions{LoopbackWithoutToken: true, Listen: "0.0.0.0:80"}, "HTTPOptions.Listen"},
		{"a remote one", &policy.HTTPOptions{LoopbackWithoutToken: true, Listen: "10.0.0.1:80"}, "HTTPOptions.Listen"},
		{"a name like it", &policy.HTTPOptions{LoopbackWithoutToken: true, Listen: "localhost.evil.example:80"}, "HTTPOptions.Listen"},
		{"loopback", &policy.HTTPOptions{LoopbackWithoutToken: true, Listen: "127.0.0.1:80"}, ""},
		{"its name", &policy.HTTPOptions{LoopbackWithoutToken: true, Listen: "localhost:0"}, ""},
		{"the newer protocol's", &policy.HTTPOptions{LoopbackWithoutToken: true, Listen: "[::1]:80"}, ""},
	} {
		_, err := g.HTTPHandler(http.NotFoundHandler(), tc.o)
		if tc.want == "" {
			assert.NoError(t, err, tc.reason)
		} else {
			assert.ErrorContains(t, err, tc.want, tc.reason)
		}
	}
}

func TestLoopbackWithoutToken(t *testing.T) {
	o := twoTokens()
	o.Tokens, o.Local = nil, &policy.Caller{Subject: "dev", Scopes: []string{"rooms:read"}}
	each(t, func(t *testing.T, era string) {
		d, j, url := listen(t, o, &policy.HTTPOptions{Listen: "127.0.0.1:0", LoopbackWithoutToken: true}, bothEras)
		cs := dial(t, streamable(url, ""), era, nil)
		assert.False(t, call(t, cs, "look", `{}`).IsError)
		assert.Equal(t, 403, envelope(t, call(t, cs, "room.delete", `{"confirm":true}`)).Status)
		assert.Len(t, d.reached(), 1)
		assert.Equal(t, []any{"http", "dev"}, []any{j.lines(t)[0]["transport"], j.lines(t)[0]["caller_subject"]})
	})
	for reason, tc := range map[string]struct{ here, there string }{
		"the listener moved": {"10.0.0.1:80", "127.0.0.1:5000"},
		"a remote caller":    {"127.0.0.1:80", "10.0.0.9:5000"},
	} {
		g, err := policy.New(&policy.Options{Audit: new(journal)})
		require.NoError(t, err)
		h, err := g.HTTPHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }),
			&policy.HTTPOptions{Listen: "127.0.0.1:80", LoopbackWithoutToken: true})
		require.NoError(t, err)
		req := httptest.NewRequest(http.MethodPost, "/", nil)
		req.RemoteAddr = tc.there
		here, err := net.ResolveTCPAddr("tcp", tc.here)
		require.NoError(t, err)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, here)))
		assert.Equal(t, http.StatusUnauthorized, w.Code, reason)
	}
}

func TestAServerThatForgotTheHandlerIsClosedAllTheSame(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		d := newDesk("look", "room.delete")
		_, j := d.behind(t, twoTokens())
		s := httptest.NewServer(bothEras(d.server)) // not wrapped
		defer s.Close()
		cs := dial(t, streamable(s.URL, adminToken), era, nil)
		assert.Equal(t, 401, envelope(t, call(t, cs, "look", `{}`)).Status)
		assert.Empty(t, d.reached())
		assert.Equal(t, "anonymous", j.only(t)["caller_subject"])
		cs.Close()
	})
}

func TestABatchIsSoManyCalls(t *testing.T) {
	d, j, url := listen(t, func() policy.Options { o := twoTokens(); o.Mode = policy.ReadOnly; return o }(), nil, func(s *mcp.Server) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	})
	one := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{}}}`
	two := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"room.delete","arguments":{"confirm":true}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("["+one+","+two+"]"))
	require.NoError(t, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2025-03-26", "Authorization": "Bearer " + adminToken} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	assert.Contains(t, string(text), "read-only mode")
	assert.Equal(t, []string{"look {}"}, d.reached())
	assert.Len(t, j.lines(t), 2)
}

// served serves a handler over a socket until the test ends.
func served(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
