package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A server that was made without this library, and a gate in front of it.
func Example() {
	server := mcp.NewServer(&mcp.Implementation{Name: "rooms", Version: "1"}, nil)
	for _, name := range []string{"rooms.list", "rooms.delete"} {
		mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, "done", nil
		})
	}

	gate, err := policy.New(&policy.Options{
		Mode: policy.ReadWrite, EnableWrite: true,
		Tools: []policy.Tool{
			{Name: "rooms.list", Capability: policy.Read},
			{Name: "rooms.delete", Scopes: []string{"rooms:write"}},
		},
		Confirm: []policy.Confirm{{Tool: "*.delete"}},
		Audit:   io.Discard,
	})
	if err != nil {
		log.Fatal(err)
	}
	server.AddReceivingMiddleware(gate.Middleware())

	ctx := context.Background()
	here, there := mcp.NewInMemoryTransports()
	session, _ := server.Connect(ctx, there, nil)
	client, _ := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, here, nil)
	for _, args := range []string{`{}`, `{"confirm":"true"}`, `{"confirm":true}`} {
		res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "rooms.delete", Arguments: json.RawMessage(args)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(args, res.IsError, res.Content[0].(*mcp.TextContent).Text)
	}
	client.Close()
	session.Wait()

	// Output:
	// {} true {"status":400,"code":"confirmation_required","detail":"tool rooms.delete requires confirm=true","hint":"ask the user, then call again with the boolean \"confirm\": true"}
	// {"confirm":"true"} true {"status":400,"code":"confirmation_required","detail":"tool rooms.delete requires confirm=true","hint":"ask the user, then call again with the boolean \"confirm\": true"}
	// {"confirm":true} false "done"
}

// Mode and token come from the environment; without a token there is no HTTP.
func ExampleEnv() {
	environment := map[string]string{"SHAKEDOWN_MCP_MODE": "read-write"}
	_, err := policy.Env(func(name string) string { return environment[name] }, nil)
	fmt.Println(err)

	environment["SHAKEDOWN_MCP_ENABLE_WRITE"] = "true"
	o, err := policy.Env(func(name string) string { return environment[name] }, nil)
	if err != nil {
		log.Fatal(err)
	}
	gate, err := policy.New(o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(gate.Mode())
	_, err = gate.HTTPHandler(http.NotFoundHandler(), nil)
	fmt.Println(err)

	// Output:
	// read-write mode requires SHAKEDOWN_MCP_ENABLE_WRITE=true
	// read-write
	// policy: Tokens is missing; allowed: a token (SHAKEDOWN_MCP_TOKEN, SHAKEDOWN_MCP_TOKENS_FILE) for HTTP, or LoopbackWithoutToken with a loopback address in Listen
}

// A handler returns what the API behind it gave; the client gets it whole.
func ExampleReadProblem() {
	handler := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/rooms/7", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		return policy.ReadProblem(res) // nil below 400
	}
	_ = handler
}

func ExampleRedact() {
	fmt.Println(policy.Redact(`POST /login password=hunter2 {"api_key":"abc"} Bearer xyz123`))
	// Output: POST /login password=[redacted] {"api_key":"[redacted]"} Bearer [redacted]
}
