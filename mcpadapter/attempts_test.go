package mcpadapter

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// soon is a deadline that a test waits out. What follows it is awaited without one.
const soon = 20 * time.Millisecond

// The tokens of two callers. The caller of the token in the environment is called "token".
const (
	watcherToken = "t0ken-of-a-watcher"
	nobodyToken  = "t0ken-without-scopes"
)

func withCallers(o Options) *Options {
	if o.Policy == nil {
		o.Policy = new(policy.Options)
	}
	o.Policy.Tokens = []policy.Token{{Value: watcherToken, Subject: "watcher", Scopes: []string{"chaos:read"}}, {Value: nobodyToken, Subject: "nobody", Scopes: []string{}}}
	return &o
}

// serving serves over a socket of its own until the test ends.
func serving(t *testing.T, o Options) (srv *Server, address string) {
	t.Helper()
	srv = serverOf(t, newShop(t).host, withCallers(o))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return srv, l.Addr().String()
}

// raw sends text over a connection of its own, and returns what comes back until
// the server closes it.
func raw(t *testing.T, address, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	answer, err := io.ReadAll(c)
	if err != nil {
		require.ErrorContains(t, err, "reset", "%s", answer)
	}
	return string(answer)
}

const statusCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chaos_status","arguments":{}}}`

// Callers that are slow or unknown try to exhaust the server. Each attempt ends
// with a closed connection.
func TestAttemptsToHoldConnections(t *testing.T) {
	const slowBody = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{"
	for _, tc := range []struct{ attempt, expectation, text string }{
		{"a body that does not come, no token", "401", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + slowBody},
		{"the same in chunks", "401", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"},
		{"the same for events", "401", "POST /sse?sessionid=x HTTP/1.1\r\nHost: localhost\r\n" + slowBody},
		{"the same with another token", "401", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer nope\r\n" + slowBody},
		{"the same with a token", "400", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n" + slowBody},
		{"a header that does not end", "", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: "},
		{"no byte at all", "", ""},
		{"a body for nobody", "404", "POST /admin HTTP/1.1\r\nHost: localhost\r\n" + slowBody},
		{"a body for the health check", "404", "POST /healthz HTTP/1.1\r\nHost: localhost\r\n" + slowBody},
		{"a body for another host", "403", "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer " + token + "\r\n" + slowBody},
		{"an enormous header", "431", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 2*64<<10) + "\r\n\r\n"},
	} {
		t.Run(tc.attempt, func(t *testing.T) {
			t.Parallel()
			limits := Limits{Patience: time.Second}
			if tc.expectation == "" { // for the others a busy machine may need longer
				limits.Patience = soon
			}
			_, address := serving(t, Options{Limits: limits})
			answer := raw(t, address, tc.text) // returns when the connection is closed
			if tc.expectation == "" {
				assert.NotContains(t, answer, "200")
				return
			}
			assert.True(t, strings.HasPrefix(answer, "HTTP/1.1 "+tc.expectation), "%.300s", answer)
		})
	}
}

// Callers without a token hold all connections that they may. Health checks are
// answered all the same, and when a connection has ended there is room again.
func TestAttemptsToUseUpDescriptors(t *testing.T) {
	_, address := serving(t, Options{Limits: Limits{Connections: 6, AddressConnections: 3}})
	from := func(host string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
		c, err := d.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	ask := func(host, request string) string {
		c := from(host)
		_, _ = io.WriteString(c, request+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n")
		answer, _ := bufio.NewReader(c).ReadString('\n')
		return strings.TrimSpace(answer)
	}
	const call = "DELETE /mcp"
	require.Equal(t, "HTTP/1.1 400 Bad Request", ask("127.0.0.1", call), "there is no such session")
	var held []net.Conn
	for range 3 {
		held = append(held, from("127.0.0.1"), from("127.0.0.2"))
	}
	for _, host := range []string{"127.0.0.1", "127.0.0.3"} {
		for _, path := range []string{pathLive, pathHealth} {
			require.Eventually(t, func() bool { return ask(host, "GET "+path) == "HTTP/1.1 200 OK" }, 20*time.Second, time.Millisecond)
		}
		require.Eventually(t, func() bool { return ask(host, call) == "HTTP/1.1 503 Service Unavailable" }, 20*time.Second, time.Millisecond)
	}
	require.NoError(t, held[0].Close())
	require.Eventually(t, func() bool { return ask("127.0.0.1", call) == "HTTP/1.1 400 Bad Request" }, 20*time.Second, time.Millisecond)
}

// Only a caller with a token keeps its connection: whoever has none cannot hold many.
func TestWhoIsNotKnownIsNotKept(t *testing.T) {
	_, address := serving(t, Options{})
	for _, request := range []string{"GET /livez", "GET /healthz", "GET /nothing", "POST /mcp"} {
		answer := raw(t, address, request+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n") // until it is closed
		assert.Contains(t, answer, "Connection: close", request)
	}
}

// Clients cannot fill the injector with rules.
func TestAttemptsToRegisterRulesWithoutEnd(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	rules := ""
	for i := range maxRules {
		rules += fmt.Sprintf(`{"name":"r%d","target":"orders.*","fault":{"kind":"lost_reply","params":{"duration":"1s"}}},`, i)
	}
	apply := func(name string) *mcp.CallToolResult {
		return ask(t, c, "chaos_apply_plan", `{"name":"`+name+`","plan":{"seed":"1","rules":[`+strings.TrimSuffix(rules, ",")+`]}}`)
	}
	first := apply("a")
	require.False(t, first.IsError, textIn(t, first))
	assert.False(t, apply("a").IsError, "it replaces itself")
	const full = "500 rules are in force, and this would add "
	assert.Contains(t, textIn(t, apply("b")), full+"500; allowed: 500 in all")
	assert.Contains(t, textIn(t, ask(t, c, "chaos_inject_fault", `{"fault_name":"x","action":"register","fault_type":"error"}`)), full+"1; ")
	require.False(t, ask(t, c, "chaos_disarm", `{}`).IsError)
	assert.False(t, apply("b").IsError)
}

func TestAttemptsToGuessAToken(t *testing.T) {
	var audit lines
	_, address := serving(t, Options{Policy: &policy.Options{Audit: &audit}, Limits: Limits{FailedLogins: &policy.Limit{PerSecond: 0.001, Burst: 5}}})
	post := func(token string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/mcp", strings.NewReader(statusCall))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	for i := range 5 {
		assert.Equal(t, 401, post(fmt.Sprint("guess-", i)))
	}
	for i := range 50 {
		assert.Equal(t, 429, post(fmt.Sprint("guess-", i)))
	}
	assert.Equal(t, 429, post(token), "a correct guess gets the answer of a wrong one")
	assert.Equal(t, 6, strings.Count(audit.String(), `"result":"error"`), "the disk is not filled: one line for all that were too many")
	assert.NotContains(t, audit.String(), "guess-")
}

// callerWith is a client with a token.
func callerWith(t *testing.T, token string) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: bearer{token, transport}}
}

func TestAttemptsToHoldSessions(t *testing.T) {
	srv, address := serving(t, Options{Policy: &policy.Options{MaxSessions: 4, MaxCallerSessions: 2}})
	open := func(era, token string) (*mcp.ClientSession, error) {
		transport, version := eras("http://"+address, callerWith(t, token))[era]()
		return mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	}
	var held []*mcp.ClientSession
	for _, era := range []string{"with sessions", "server-sent events"} {
		c, err := open(era, watcherToken)
		require.NoError(t, err, era)
		held = append(held, c)
	}
	for _, era := range []string{"with sessions", "server-sent events"} {
		_, err := open(era, watcherToken)
		assert.Error(t, err, "%s: the caller has its two", era)
	}
	for range 2 {
		c, err := open("with sessions", token)
		require.NoError(t, err, "another caller has its own")
		held = append(held, c)
	}
	_, err := open("with sessions", nobodyToken)
	assert.ErrorContains(t, err, "the server holds 4 sessions")
	stateless, err := open("without sessions", nobodyToken)
	require.NoError(t, err, "who needs no session is not in anybody's way")
	require.NoError(t, stateless.Close())
	for _, c := range held {
		_ = c.Close()
	}
	for { // the server notices
		c, err := open("with sessions", watcherToken)
		if err == nil {
			require.NoError(t, c.Close())
			break
		}
	}
	for len(collect(srv)) > 0 {
		runtime.Gosched()
	}
}

func collect(srv *Server) (all []*mcp.ServerSession) {
	for s := range srv.mcp.Sessions() {
		all = append(all, s)
	}
	return all
}

// A message for a session that another caller has begun is refused, and its line
// names who sent it, not who would have been taken for the sender.
func TestAttemptsToSpeakInAnothersSession(t *testing.T) {
	var audit lines
	_, address := serving(t, Options{Policy: &policy.Options{Audit: &audit}})
	base := "http://" + address
	post := func(path, session, token string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(statusCall))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := callerWith(t, token).Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	c := connect(t, eras(base, callerWith(t, token))["with sessions"], nil)
	place := eventsOf(t, base, token)
	for _, tc := range []struct {
		attempt, path, session, token string
		expectation                   int
	}{
		{"one's own session", "/mcp", c.ID(), token, 200},
		{"another's", "/mcp", c.ID(), watcherToken, 403},
		{"another's, without scopes", "/mcp", c.ID(), nobodyToken, 403},
		{"another's, without a token", "/mcp", c.ID(), "nope", 401},
		{"one that there is not", "/mcp", "no-such-session", watcherToken, 404},
		{"one's own events", place, "", token, 202},
		{"another's events", place, "", watcherToken, 403},
		{"another's events, without a token", place, "", "nope", 401},
		{"events that there are not", "/sse?sessionid=no-such", "", watcherToken, 404},
	} {
		assert.Equal(t, tc.expectation, post(tc.path, tc.session, tc.token), tc.attempt)
	}
	text := audit.String()
	assert.Contains(t, text, `"caller_subject":"watcher","target":"","result":"error"`)
	assert.Equal(t, 3, strings.Count(text, policy.CodeForbiddenSession))
	assert.NotContains(t, text, c.ID(), "a session's identifier is in no line")
	u, err := url.Parse(place)
	require.NoError(t, err)
	assert.NotContains(t, text, u.Query().Get("sessionid"))
	assert.Contains(t, text, `"session_id":"s-`, "its label is")
}

// eventsOf opens a stream of server-sent events, and returns where messages go.
func eventsOf(t *testing.T, base, token string) (place string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/sse", nil)
	require.NoError(t, err)
	res, err := callerWith(t, token).Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(t, 200, res.StatusCode)
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if place, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return place
		}
	}
	require.Fail(t, "no endpoint")
	return ""
}

// A client that requests much and reads nothing does not delay the end: its
// answers are larger than all buffers between.
func TestAttemptsToHoldTheEnd(t *testing.T) {
	const asked = 400 // times the 60 kB of the tool contract
	read := `{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"` + uriTools + `"}}`
	for _, attempt := range []string{"a stream of events that nobody reads", "answers that nobody reads"} {
		var audit lines
		srv, err := NewServer(newShop(t).host, withCallers(Options{Getenv: writable, Policy: &policy.Options{Audit: &audit}}))
		require.NoError(t, err)
		web := httptest.NewServer(srv.Handler())
		deaf, err := net.Dial("tcp", web.Listener.Addr().String())
		require.NoError(t, err)
		require.NoError(t, deaf.(*net.TCPConn).SetReadBuffer(4<<10))
		send := func(to io.Writer, header, body string) {
			_, err := fmt.Fprintf(to, "POST %s\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
				header, token, len(body), body)
			require.NoError(t, err)
		}
		answers := 1 // that were made when no more can be written
		if attempt == "answers that nobody reads" {
			c := connect(t, eras(web.URL, callerWith(t, token))["with sessions"], nil)
			for i := range asked {
				send(deaf, "/mcp HTTP/1.1\r\nMcp-Session-Id: "+c.ID(), fmt.Sprintf(read, 100+i))
			}
		} else {
			_, err := fmt.Fprintf(deaf, "GET /sse HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", token)
			require.NoError(t, err)
			place := endpoint(t, deaf)
			speaking, err := net.Dial("tcp", web.Listener.Addr().String())
			require.NoError(t, err)
			accepted := bufio.NewReader(speaking)
			post := func(body string) {
				send(speaking, place+" HTTP/1.1", body)
				res, err := http.ReadResponse(accepted, nil)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				require.Equal(t, 202, res.StatusCode)
			}
			post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}}`)
			post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			for i := range asked {
				post(fmt.Sprintf(read, 100+i))
			}
			require.NoError(t, speaking.Close())
			answers = asked
		}
		for strings.Count(audit.String(), eventRead) < answers {
			runtime.Gosched()
		}
		assert.NoError(t, srv.Shutdown(context.Background()), attempt)
		web.Close() // returns when no request is being served any more
		require.NoError(t, deaf.Close())
	}
}

const eventRead = `"event":"mcp.request.completed"`

// endpoint reads where messages go, a byte at a time, and no byte more.
func endpoint(t *testing.T, c net.Conn) string {
	t.Helper()
	var text strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(text.String(), "\n\n"); {
		_, err := c.Read(one)
		require.NoError(t, err)
		text.Write(one)
	}
	_, place, _ := strings.Cut(text.String(), "data: ")
	return strings.TrimSpace(place)
}

// Tokens do not cross a network in clear, unless an option allows exactly that.
func TestAttemptsToListenInClear(t *testing.T) {
	open := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return addressed{l, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}}
	}
	srv := serverOf(t, newShop(t).host, nil)
	assert.ErrorContains(t, srv.Serve(t.Context(), open()), "TokensInClearBeyondLoopback")
	post := func(srv *Server, from string) int {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(statusCall))
		r.Header.Set("Authorization", "Bearer "+token)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, r)
		return w.Code
	}
	assert.Equal(t, 403, post(srv, "10.0.0.9:5000"), "behind a server of the host's own")
	assert.NotEqual(t, 403, post(srv, "127.0.0.1:5000"))
	allowed := serverOf(t, newShop(t).host, &Options{TokensInClearBeyondLoopback: true})
	assert.NotEqual(t, 403, post(allowed, "10.0.0.9:5000"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.NoError(t, allowed.Serve(ctx, open()))
}
