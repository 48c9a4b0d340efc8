package mcpchaos_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/mcpadapter/mcpchaos"
)

// shop is any MCP server.
func shop() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "refund"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("order 7 was refunded before")
	})
	return s
}

// connected is a session with it, broken by wrap or middleware.
func connected(ctx context.Context, protocol *mcp.Client, wrap func(mcp.Transport) mcp.Transport) *mcp.ClientSession {
	here, there := mcp.NewInMemoryTransports()
	if _, err := shop().Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := protocol.Connect(ctx, wrap(here), nil)
	if err != nil {
		panic(err)
	}
	return session
}

// The server does its work and its answer is lost on the way.
func ExampleTransport() {
	ctx := context.Background()
	in := chaos.NewInjector(1, nil)
	session := connected(ctx, mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil),
		func(inner mcp.Transport) mcp.Transport {
			return mcpchaos.Transport(inner, &mcpchaos.Options{Injector: in})
		})
	defer session.Close()

	if err := in.Register(chaos.Rule{Target: "mcp/receive/tools/call/refund", When: when.First(1), Fault: mcpchaos.Drop()}); err != nil {
		panic(err)
	}
	patience, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := client.Registry(session).CallTool(patience, "refund", nil)
	fmt.Println(err)
	_, err = client.Registry(session).CallTool(ctx, "refund", nil)
	fmt.Println(err)
	// Output:
	// context deadline exceeded
	// order 7 was refunded before
}

// A failed tool call whose result does not say that it failed.
func ExampleSending() {
	ctx := context.Background()
	in := chaos.NewInjector(1, nil)
	if err := in.Register(chaos.Rule{Target: "mcp/tools/call/refund", Fault: mcpchaos.UnsetError()}); err != nil {
		panic(err)
	}
	protocol := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	protocol.AddSendingMiddleware(mcpchaos.Sending(&mcpchaos.Options{Injector: in}))
	session := connected(ctx, protocol, func(inner mcp.Transport) mcp.Transport { return inner })
	defer session.Close()

	out, err := client.Registry(session).CallTool(ctx, "refund", nil)
	fmt.Println(string(out), err)
	fmt.Println(in.Events()[0].Fault, in.Events()[0].Delivered)
	// Output:
	// "order 7 was refunded before" <nil>
	// mcp_error_unset true
}
