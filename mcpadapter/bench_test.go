package mcpadapter

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
)

// A call that only looks, from client to client: what a tool costs.
func BenchmarkCall(b *testing.B) {
	params := &mcp.CallToolParams{Name: "chaos_status", Arguments: json.RawMessage(`{}`)}
	bench := func(b *testing.B, c *mcp.ClientSession) {
		b.ReportAllocs()
		for b.Loop() {
			if res, err := c.CallTool(b.Context(), params); err != nil || res.IsError {
				b.Fatal(res, err)
			}
		}
	}
	b.Run("bare SDK, memory", func(b *testing.B) {
		bare := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
		bare.AddTool(&mcp.Tool{Name: "chaos_status", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "{}"}}, StructuredContent: json.RawMessage("{}")}, nil
		})
		bench(b, clientOf(b, &Server{mcp: bare}, nil))
	})
	b.Run("memory", func(b *testing.B) { bench(b, clientOf(b, serverOf(b, newShop(b).host, nil), nil)) })
	for _, version := range []string{sessionless, "2025-11-25"} {
		b.Run("http "+version, func(b *testing.B) {
			web := httptest.NewServer(serverOf(b, newShop(b).host, nil).Handler())
			defer web.Close()
			client := &http.Client{Transport: bearer{token, http.DefaultTransport}}
			c, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(),
				&mcp.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: client}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			require.NoError(b, err)
			bench(b, c)
			require.NoError(b, c.Close())
			http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		})
	}
}

// What the program under test pays for being listened to.
func BenchmarkFeed(b *testing.B) {
	delivered := chaos.Event{Target: "orders.get", Rule: "r", Delivered: true}
	b.Run("not delivered", func(b *testing.B) {
		q := faulthub.NewQueue()
		for b.Loop() {
			q.Record(context.Background(), chaos.Event{Target: "orders.get"})
		}
	})
	b.Run("delivered", func(b *testing.B) {
		q := faulthub.NewQueue()
		done := make(chan struct{})
		go q.Run(done, func(chaos.Event) {}, func(uint64) {})
		for b.Loop() {
			q.Record(context.Background(), delivered)
		}
		close(done)
	})
}
