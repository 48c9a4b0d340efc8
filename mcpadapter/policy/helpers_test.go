package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// The last revision of the protocol with sessions, and the first without.
const (
	oldEra = "2025-11-25"
	newEra = "2026-07-28"
)

func eras() []string { return []string{oldEra, newEra} }

// A journal is a writer for audit lines that several goroutines may use.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

// all are the lines written so far.
func (j *journal) all(t testing.TB) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(j.String()) {
		var line map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		lines = append(lines, line)
	}
	return lines
}

// lines are those without the ones of a beginning.
func (j *journal) lines(t testing.TB) (ends []map[string]any) {
	t.Helper()
	for _, line := range j.all(t) {
		if event, _ := line["event"].(string); !strings.HasSuffix(event, ".started") {
			ends = append(ends, line)
		}
	}
	return ends
}

// only is the one line that a single call left.
func (j *journal) only(t testing.TB) map[string]any {
	t.Helper()
	lines := j.lines(t)
	require.Len(t, lines, 1, "exactly one line a call:\n%s", j)
	return lines[0]
}

// A desk is a server that knows nothing of the policy, and what it was asked.
type desk struct {
	server *mcp.Server
	mu     sync.Mutex
	got    []string // "tool arguments", of the calls that reached a handler
}

func (d *desk) note(tool string, args json.RawMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, tool+" "+string(args))
}

func (d *desk) reached() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.got...)
}

// tool adds a tool without a schema to speak of, whose handler answers as h does.
func (d *desk) tool(name string, h func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error)) {
	d.server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			d.note(name, req.Params.Arguments)
			return h(ctx, req.Params.Arguments)
		})
}

func fine(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
}

func newDesk(tools ...string) *desk {
	d := &desk{server: mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)}
	for _, name := range tools {
		d.tool(name, fine)
	}
	return d
}

// behind puts the desk behind a gate with these options, and audits into a
// journal.
func (d *desk) behind(t testing.TB, o policy.Options) (*policy.Gate, *journal) {
	t.Helper()
	j := new(journal)
	o.Audit = j
	g, err := policy.New(&o)
	require.NoError(t, err)
	d.server.AddReceivingMiddleware(g.Middleware())
	return g, j
}

// connect opens a session in memory.
func (d *desk) connect(t testing.TB, era string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	ctx := t.Context()
	here, there := mcp.NewInMemoryTransports()
	ss, err := d.server.Connect(ctx, there, nil)
	require.NoError(t, err)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, o).Connect(ctx, here, &mcp.ClientSessionOptions{ProtocolVersion: era})
	require.NoError(t, err)
	t.Cleanup(func() {
		cs.Close()
		ss.Wait()
	})
	return cs
}

// call sends arguments exactly as they are written here.
func call(t testing.TB, cs *mcp.ClientSession, tool, args string) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	require.NoError(t, err)
	return res
}

// envelope is the error that a result carries.
func envelope(t testing.TB, res *mcp.CallToolResult) policy.Error {
	t.Helper()
	require.True(t, res.IsError, "an error result was expected, not %s", text(res))
	var e policy.Error
	require.NoError(t, json.Unmarshal([]byte(text(res)), &e), text(res))
	return e
}

func text(res *mcp.CallToolResult) string {
	if len(res.Content) == 0 {
		return ""
	}
	t, _ := res.Content[0].(*mcp.TextContent)
	return t.Text
}

// each runs a test in both eras.
func each(t *testing.T, test func(t *testing.T, era string)) {
	for _, era := range eras() {
		t.Run(era, func(t *testing.T) { test(t, era) })
	}
}
