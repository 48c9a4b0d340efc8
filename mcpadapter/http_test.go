package mcpadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// bearer sends the token with every request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// eras are the ways in which a client may speak over HTTP.
func eras(base string, client *http.Client) map[string]func() (mcp.Transport, string) {
	stream := func(version string) func() (mcp.Transport, string) {
		return func() (mcp.Transport, string) {
			return &mcp.StreamableClientTransport{Endpoint: base + "/mcp", HTTPClient: client}, version
		}
	}
	return map[string]func() (mcp.Transport, string){
		"without sessions": stream(sessionless), "with sessions": stream("2025-11-25"), "older": stream("2025-03-26"),
		"server-sent events": func() (mcp.Transport, string) {
			return &mcp.SSEClientTransport{Endpoint: base + "/sse", HTTPClient: client}, "2024-11-05"
		},
	}
}

// listen serves over real HTTP until the test ends.
func listen(t *testing.T, s *Server) (base string, client *http.Client) {
	t.Helper()
	web := httptest.NewServer(s.Handler())
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(now) // cancels the calls of clients that disappeared
		transport.CloseIdleConnections()
		web.CloseClientConnections() // streams that hang
		web.Close()
	})
	return web.URL, &http.Client{Transport: bearer{token, transport}}
}

// connect opens a session in one of the eras.
func connect(t *testing.T, era func() (mcp.Transport, string), o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	transport, version := era()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	assert.Equal(t, version, session.InitializeResult().ProtocolVersion)
	return session
}

func TestEveryEraSeesTheSameTools(t *testing.T) {
	s := newShop(t)
	srv := serverOf(t, s.host, nil)
	local := clientOf(t, srv, nil)
	want, err := local.ListTools(t.Context(), nil)
	require.NoError(t, err)
	base, client := listen(t, srv)
	for name, era := range eras(base, client) {
		t.Run(name, func(t *testing.T) {
			c := connect(t, era, nil)
			got, err := c.ListTools(t.Context(), nil)
			require.NoError(t, err)
			wantText, err := json.Marshal(want.Tools)
			require.NoError(t, err)
			gotText, err := json.Marshal(got.Tools)
			require.NoError(t, err)
			assert.Equal(t, string(wantText), string(gotText))

			answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error","probability":1,"target":"orders.*"}`)
			assert.True(t, callFails(s))
			answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove"}`)
			p := refusal(t, c, "chaos_inject_fault", `{"fault_name":"f","action":"inject"}`)
			assert.Equal(t, 404, p.Status)
			_, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"})
			assert.ErrorContains(t, err, "no_such_tool")

			answer[report.Digest](t, c, "contract_run", `{}`)
			report, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uriLatest})
			require.NoError(t, err)
			assert.Contains(t, report.Contents[0].Text, `"names-the-order"`)
		})
	}
}

func TestWhoMayNotSpeakOverHTTP(t *testing.T) {
	var audit lines
	srv := serverOf(t, newShop(t).host, &Options{Policy: &policy.Options{Audit: &audit}, Limits: Limits{BodyBytes: 2000}})
	base, authorised := listen(t, srv)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for why, tc := range map[string]struct {
		path, body string
		change     func(*http.Request)
		client     *http.Client
		want       int
	}{
		"no token":                 {"/mcp", list, func(*http.Request) {}, http.DefaultClient, 401},
		"no token for events":      {"/sse", list, func(*http.Request) {}, http.DefaultClient, 401},
		"another token":            {"/mcp", list, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, http.DefaultClient, 401},
		"a name after a rebinding": {"/mcp", list, func(r *http.Request) { r.Host = "evil.example" }, authorised, 403},
		"another site's page":      {"/mcp", list, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, authorised, 403},
		"an enormous body":         {"/mcp", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 3000) + `"}`, func(*http.Request) {}, authorised, 413},
		"no such path":             {"/admin", list, func(*http.Request) {}, authorised, 404},
		"no JSON":                  {"/mcp", `{`, func(*http.Request) {}, authorised, 400},
		"a batch of nesting":       {"/mcp", strings.Repeat("[", 1900), func(*http.Request) {}, authorised, 400},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+tc.path, strings.NewReader(tc.body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		tc.change(req)
		res, err := tc.client.Do(req)
		require.NoError(t, err, why)
		require.NoError(t, res.Body.Close())
		assert.Equal(t, tc.want, res.StatusCode, why)
	}
	for _, path := range []string{"/healthz", "/livez"} {
		res, err := http.Get(base + path)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		assert.Equal(t, 200, res.StatusCode, "%s needs no token", path)
	}
	assert.Equal(t, 3, strings.Count(audit.String(), `"event":"mcp.tool_call.completed"`), "refused callers leave a line")
	assert.NotContains(t, audit.String(), token)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestHealthDuringTheShutdown(t *testing.T) {
	srv := serverOf(t, newShop(t).host, nil)
	require.NoError(t, srv.Shutdown(t.Context()))
	for path, want := range map[string]int{"/healthz": 503, "/livez": 200} {
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		assert.Equal(t, want, w.Code, "%s during the shutdown: what ends is not killed", path)
	}
}

func TestWithoutATokenNothingListens(t *testing.T) {
	none := func(string) string { return "" }
	open := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return l
	}
	strict := serverOf(t, newShop(t).host, &Options{Getenv: none})
	assert.ErrorContains(t, strict.Serve(t.Context(), open()), "SHAKEDOWN_MCP_TOKEN")
	w := httptest.NewRecorder()
	strict.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(nil)))
	assert.Equal(t, 401, w.Code, "a handler without a token refuses everything")

	allowed := serverOf(t, newShop(t).host, &Options{Getenv: none, LoopbackWithoutToken: true})
	remote := &net.TCPAddr{IP: net.IPv4zero, Port: 80}
	assert.ErrorContains(t, allowed.Serve(t.Context(), addressed{open(), remote}), "loopback")
	r := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(nil)) // from 192.0.2.1
	w = httptest.NewRecorder()
	allowed.Handler().ServeHTTP(w, r)
	assert.Equal(t, 401, w.Code, "nor do others get in")
	base, _ := listen(t, allowed)
	c := connect(t, eras(base, http.DefaultClient)["with sessions"], nil)
	answer[statusOutput](t, c, "chaos_status", `{}`)
	p := refusal(t, c, "chaos_inject_fault", `{"fault_name":"f","action":"remove"}`)
	assert.Equal(t, "read_only", p.Code, "read-only unless enabled twice")
	require.NoError(t, c.Close())
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// addressed is a listener that says it listens elsewhere.
type addressed struct {
	net.Listener
	addr net.Addr
}

func (a addressed) Addr() net.Addr { return a.addr }
