package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/examples/cluster/sim"
	mcpclient "github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

const (
	oldEra = "2025-11-25"
	newEra = "2026-07-28"
	token  = "the-token-of-the-cluster"
)

// A journal is a writer for audit lines.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) lines(t testing.TB) []map[string]any {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	var lines []map[string]any
	for text := range strings.Lines(j.buf.String()) {
		var line map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		if line["event"] != "mcp.tool_call.started" { // before each that writes
			lines = append(lines, line)
		}
	}
	return lines
}

func writable() policy.Options {
	return policy.Options{Mode: policy.ReadWrite, EnableWrite: true, Tokens: []policy.Token{{Value: token}}}
}

// A surface is a control surface over a cluster of its own.
type surface struct {
	server *mcp.Server
	gate   *policy.Gate
	audit  *journal
}

func newSurface(t testing.TB, o policy.Options) *surface {
	t.Helper()
	s := &surface{audit: new(journal)}
	o.Audit = s.audit
	var err error
	s.server, s.gate, err = newServer(sim.New(), o)
	require.NoError(t, err)
	return s
}

func (s *surface) inMemory(t testing.TB, era string) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	ss, err := s.server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	cs := connect(t, here, era)
	t.Cleanup(func() {
		cs.Close()
		ss.Wait()
	})
	return cs
}

func (s *surface) overHTTP(t testing.TB, era string) *mcp.ClientSession {
	t.Helper()
	h, err := s.gate.HTTPHandler(handler(s.server), nil)
	require.NoError(t, err)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	cs := connect(t, &mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: mcpclient.WithToken(nil, web.URL, token)}, era)
	t.Cleanup(func() { cs.Close() })
	return cs
}

func connect(t testing.TB, transport mcp.Transport, era string) *mcp.ClientSession {
	t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	require.NoError(t, err)
	return cs
}

// everywhere runs a test over both transports in both eras.
func everywhere(t *testing.T, o policy.Options, test func(t *testing.T, s *surface, cs *mcp.ClientSession)) {
	for _, era := range []string{oldEra, newEra} {
		t.Run("memory/"+era, func(t *testing.T) {
			s := newSurface(t, o)
			test(t, s, s.inMemory(t, era))
		})
		t.Run("http/"+era, func(t *testing.T) {
			s := newSurface(t, o)
			test(t, s, s.overHTTP(t, era))
		})
	}
}

// call calls a tool that has to work, and decodes its output.
func call[Out any](t testing.TB, cs *mcp.ClientSession, name, args string) (out Out) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	require.NoError(t, err)
	require.False(t, res.IsError, "%s: %s", name, text(res))
	structured, err := json.Marshal(res.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(structured, &out))
	return out
}

// refused calls a tool that has to fail, and decodes the envelope.
func refused(t testing.TB, cs *mcp.ClientSession, name, args string) (e policy.Error) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	require.NoError(t, err)
	require.True(t, res.IsError, "%s %s went through", name, args)
	require.NoError(t, json.Unmarshal([]byte(text(res)), &e), text(res))
	if slices.Contains([]string{policy.CodeReadOnly, policy.CodeMissingScope, policy.CodeConfirmationRequired, policy.CodeRateLimited}, e.Code) {
		structured, err := json.Marshal(res.StructuredContent)
		require.NoError(t, err)
		assert.JSONEq(t, text(res), string(structured), "a refusal of the gate is structured too")
	}
	return e
}

func text(res *mcp.CallToolResult) string {
	t, _ := res.Content[0].(*mcp.TextContent)
	return t.Text
}
