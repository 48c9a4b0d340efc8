package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/mcpadapter/mcpchaos"
	"github.com/shakedown-go/shakedown/scoring"
)

// overHTTP serves a server and returns what connects to it, in a session of its own each time.
func overHTTP(t *testing.T, s *mcp.Server, sending ...mcp.Middleware) func(context.Context) (*mcp.ClientSession, error) {
	t.Helper()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{JSONResponse: true}))
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		web.CloseClientConnections()
		web.Close()
	})
	return func(ctx context.Context) (*mcp.ClientSession, error) {
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		c.AddSendingMiddleware(sending...)
		return c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true}, nil)
	}
}

// A contract over a server behind HTTP, with faults of the tool and of the protocol.
func TestAContractOverHTTP(t *testing.T) {
	order := foreign(map[string]mcp.ToolHandler{"orders.get": gives(blocks(text("order 1042 is shipped")), nil)})
	connect := overHTTP(t, order, mcpchaos.Sending(nil))
	agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		out, err := tools.CallTool(ctx, "orders.get", json.RawMessage(`{"order":"1042"}`))
		if err != nil {
			return "I could not look up order 1042: " + err.Error(), nil
		}
		return string(out), nil
	}
	m := &contract.Matrix{
		Prompts: []string{"Where is order 1042?"}, Points: []string{"mcp/tools/call/orders.get"},
		NewWorld: func(ctx context.Context) (*contract.World, error) {
			session, err := connect(ctx)
			if err != nil {
				return nil, err
			}
			return &contract.World{Agent: agent, Tools: Registry(session), Close: session.Close}, nil
		},
		Invariants: []contract.Invariant{invariant.Contains("names-the-order", contract.Critical, "1042")},
		Scenarios: []contract.Scenario{contract.Calm(),
			{Name: "down", Rules: []chaos.Rule{{Target: "orders.get", Fault: fault.Fail(fault.ErrUnavailable)}}},
			{Name: "removed", Rules: []chaos.Rule{{Target: "mcp/tools/call/*", Fault: mcpchaos.RemoveTool()}}}},
	}
	r, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, scoring.Pass, r.Score.Verdict)
	for _, f := range r.Faults {
		assert.Equal(t, 1, f.Delivered, f.Scenario)
	}
	assert.Len(t, r.Faults, 2)
}

// Whatever a failure contains, reading it neither panics nor hides its text.
func FuzzToolError(f *testing.F) {
	for _, doc := range []string{`{"status":409,"code":"busy","detail":"d","hint":"h"}`, `{"type":"about:blank","title":"t","status":"x"}`, `{"problem":{"problem":{}}}`,
		`{"status":1e9,"code":7,"detail":[]}`, `null`, `[`, ``} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		err := errorResult("tool", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: doc}}})
		if doc != "" {
			assert.Equal(t, doc, err.Error())
		}
		assert.NotEmpty(t, err.Error())
		_ = err.Is(chaos.ErrUnknownTool)
	})
}
