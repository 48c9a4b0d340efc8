package mcp_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/mcpadapter/mcpchaos"
)

const honest = "I could not find out where order 1042 is."

// ask is the agent: it asks the server's tool twice at most.
func ask(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
	for range 2 {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		out, err := tools.CallTool(try, "orders_status", json.RawMessage(`{"order":"1042"}`))
		cancel()
		if err == nil {
			return "Order 1042 was " + string(out), nil
		}
	}
	return honest, nil
}

// newServer is the server. It may be in another process: then connect over
// &mcp.CommandTransport, in real time.
func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "orders_status", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct {
			Order string `json:"order"`
		}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "shipped"}}}, nil, nil
		})
	return server
}

// newWorld connects a client, with injection points at its requests and messages.
func newWorld(ctx context.Context) (*contract.World, error) {
	near, far := mcp.NewInMemoryTransports()
	serving, err := newServer().Connect(ctx, far, nil)
	if err != nil {
		return nil, err
	}
	protocol := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	protocol.AddSendingMiddleware(mcpchaos.Sending(nil))
	session, err := protocol.Connect(ctx, mcpchaos.Transport(near, nil), nil)
	if err != nil {
		return nil, err
	}
	closed := func() error {
		_ = session.Close() // its error says what a fault did to the connection
		return serving.Wait()
	}
	return &contract.World{Agent: ask, Tools: client.Registry(session), Close: closed}, nil
}

func TestOverMCP(t *testing.T) {
	const request, reply = "mcp/tools/call/orders_status", "mcp/receive/tools/call/orders_status"
	contracttest.Run(t, &contract.Matrix{
		NewWorld: newWorld,
		Points:   []string{request, reply},
		Prompts:  []string{"Where is order 1042?"},
		Invariants: []contract.Invariant{
			invariant.ContainsAny("right-or-honest", contract.Critical, "shipped", honest),
			invariant.CallsAtMost("two-calls", contract.High, 2, "orders_status"),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "tool-down", Rules: []chaos.Rule{{Target: "orders_status", Fault: fault.Fail(fault.ErrUnavailable)}}},
			{Name: "tool-removed", Rules: []chaos.Rule{{Target: request, Fault: mcpchaos.RemoveTool()}}},
			{Name: "reply-lost", Rules: []chaos.Rule{{Target: reply, When: when.First(1), Fault: mcpchaos.Drop()}}},
		},
	}, nil)
}
