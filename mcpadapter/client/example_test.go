package client_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// forecasts stands for any MCP server.
func forecasts() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	type city struct {
		City string `json:"city"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "forecast", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in city) (*mcp.CallToolResult, map[string]any, error) {
			return nil, map[string]any{"city": in.City, "sky": "clear"}, nil
		})
	return s
}

// world is a world whose tools are an MCP server's.
func world(ctx context.Context) (*contract.World, error) {
	here, there := mcp.NewInMemoryTransports()
	if _, err := forecasts().Connect(ctx, there, nil); err != nil {
		return nil, err
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		return nil, err
	}
	agent := func(ctx context.Context, city string, tools chaos.ToolRegistry) (string, error) {
		out, err := tools.CallTool(ctx, "forecast", json.RawMessage(`{"city":"`+city+`"}`))
		if err != nil {
			return "I cannot tell the weather now.", nil
		}
		return city + ": " + string(out), nil
	}
	return &contract.World{Agent: agent, Tools: client.Registry(session), Close: session.Close}, nil
}

// A contract over the tools of an MCP server, with a fault that the agent meets.
func ExampleRegistry() {
	m := &contract.Matrix{
		NewWorld: world, Prompts: []string{"Oslo"},
		Invariants: []contract.Invariant{invariant.Contains("names-the-city", contract.High, "Oslo"), invariant.NotEmpty("answers", contract.High)},
		Scenarios: []contract.Scenario{contract.Calm(),
			{Name: "down", Rules: []chaos.Rule{{Target: "forecast", Fault: fault.Fail(fault.ErrUnavailable)}}}},
	}
	report, err := m.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range report.Cells {
		fmt.Println(c.Cell.Scenario, c.Cell.Invariant, c.State, c.Delivered)
	}
	// Output:
	// calm names-the-city held 0
	// calm answers held 0
	// down names-the-city broken 1
	// down answers held 1
}
