package mcpchaos

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shakedown-go/shakedown/chaos"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a server with a tool that answers, one that fails, and one more.
func desk() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	add := func(name string, handler mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
	}
	add("echo", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return says(string(req.Params.Arguments)), nil
	})
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := says("out of stock")
		res.IsError = true
		return res, nil
	})
	add("other", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return says("other"), nil })
	return s
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// injectorOf has the rules, and records only calls that they match.
func injectorOf(t testing.TB, rules ...chaos.Rule) *chaos.Injector {
	t.Helper()
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	return plan.Injector("", nil)
}

// wired connects a client to a server in memory, each through what wrap makes of its transport.
func wired(t testing.TB, s *mcp.Server, c *mcp.Client, wrap func(mcp.Transport) mcp.Transport) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	_, err := s.Connect(context.Background(), there, nil)
	require.NoError(t, err)
	var mine mcp.Transport = here
	if wrap != nil {
		mine = wrap(here)
	}
	session, err := c.Connect(context.Background(), mine, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func newClient(o *mcp.ClientOptions) *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
}

// call asks a tool and returns the text of its result.
func call(ctx context.Context, session *mcp.ClientSession, tool string) (string, error) {
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"order": 7}})
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}
