package mcpadapter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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

// child is this test binary as a server in a process of its own.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), asServer+"=1", "SHAKEDOWN_MCP_MODE=read-write", "SHAKEDOWN_MCP_ENABLE_WRITE=true")
	return cmd
}

func TestAServerInAProcess(t *testing.T) {
	for _, version := range []string{sessionless, "2025-11-25", "2024-11-05"} {
		t.Run(version, func(t *testing.T) {
			cmd := child(t)
			var audit lines
			cmd.Stderr = &audit
			c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			require.NoError(t, err)
			assert.Equal(t, version, c.InitializeResult().ProtocolVersion)
			tools, err := c.ListTools(t.Context(), nil)
			require.NoError(t, err)
			assert.Len(t, tools.Tools, len(outputs()))
			answer[injectOutput](t, c, "chaos_inject_fault", `{"fault_name":"f","action":"register","fault_type":"error"}`)
			assert.Equal(t, 400, refusal(t, c, "chaos_inject_fault", `{"action":"inject"}`).Status)
			require.NoError(t, c.Close(), "it ends with its input")
			assert.Contains(t, audit.String(), `"event":"mcp.tool_call.completed"`, "audit goes to standard error")
		})
	}
}

// Lines that no client would write. Each gets an answer, and the server goes on.
func TestLinesThatAreWrong(t *testing.T) {
	cmd := child(t)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	answers := bufio.NewReader(out)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, tc := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chaos_inject_fault","arguments":{"fault_name":"` + "\xff" + `","action":"remove"},` + meta + `}}`, `"isError":true`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"chaos_status","arguments":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `,` + meta + `}}`, `"isError":true`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"chaos_status","arguments":{"a":"` + strings.Repeat("x", 2<<20) + `"},` + meta + `}}`, `"isError":true`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"no.such",` + meta + `}}`, `-32602`},
		{`{"jsonrpc":"2.0","id":5,"method":"no/such","params":{` + meta + `}}`, `"error"`},
		{`no JSON at all`, `{"error":{"code":-32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, `-32700`},
		{`{} {}`, `-32700`},
		{"\xff\xfe\x00", `-32700`},
		{strings.Repeat("x", 5<<20), `-32600`},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"` + strings.Repeat("x", 5<<20) + `"}}`, `-32600`},
		{strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), `-32700`},
		{strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), `-32600`},
		{`{"jsonrpc":"2.0","id":11,"method":"ping","params":{"a":` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + `}}`, `-32600`},
		{`[]`, `-32600`},
		{`7`, `-32600`},
		{`null`, `-32600`},
		{`{}`, `-32600`},
		{`{"jsonrpc":"1.0","id":8,"method":"ping"}`, `-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `-32600`},
		{`{"jsonrpc":"2.0","id":9,"method":["ping"]}`, `-32600`},
		{"\n \r\n\t" + `{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"no.such",` + meta + `}}` + "\r", `-32602`},
		{`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"chaos_status","arguments":{},` + meta + `}}`, `"total_runs"`},
	} {
		_, err := io.WriteString(in, tc.line+"\n")
		require.NoError(t, err)
		answer, err := answers.ReadString('\n')
		require.NoError(t, err, "the server ended after %.200s", tc.line)
		assert.Contains(t, answer, tc.want, "%.200s", tc.line)
		assert.True(t, json.Valid([]byte(answer)), "standard output has nothing but the protocol")
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}
