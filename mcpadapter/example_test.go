package mcpadapter_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// A program with one wrapped function becomes a server, and an MCP client breaks
// that function.
func Example() {
	// The server: what the program adds.
	in := chaos.NewInjector(1, nil)
	srv, err := mcpadapter.NewServer(mcpadapter.Host{Name: "order desk", Injector: in}, &mcpadapter.Options{Getenv: environment, Policy: &policy.Options{Audit: io.Discard}})
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	defer web.Close()
	defer srv.Shutdown(context.Background())

	// The program: a wrapped function, called with the injector in the context.
	ctx := chaos.NewContext(context.Background(), in)
	lookup := chaos.Wrap("orders.get", func(context.Context, string) (string, error) { return "on its way", nil })
	fmt.Println(lookup(ctx, "1042"))

	// The client, in another process as a rule.
	operator := mcp.NewClient(&mcp.Implementation{Name: "operator", Version: "1"}, nil)
	session, err := operator.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp",
		HTTPClient: client.WithToken(nil, web.URL, "change-me")}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		_ = session.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	}()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "chaos_inject_fault", Arguments: map[string]any{
		"fault_name": "orders are down", "action": "register", "fault_type": "error", "target": "orders.*", "probability": 1, "error_message": "503 Service Unavailable",
	}})
	if err != nil {
		log.Fatal(err)
	}
	out := res.StructuredContent.(map[string]any)
	fmt.Println(out["status"], out["fault_type"], out["matched_targets"], out["in_force"])

	fmt.Println(lookup(ctx, "1042"))
	// Output:
	// on its way <nil>
	// registered error [orders.get] true
	//  503 Service Unavailable
}

// environment stands for that of the process.
func environment(name string) string {
	return map[string]string{
		"SHAKEDOWN_MCP_MODE": "read-write", "SHAKEDOWN_MCP_ENABLE_WRITE": "true", "SHAKEDOWN_MCP_TOKEN": "change-me",
	}[name]
}
