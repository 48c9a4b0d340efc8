package mcpchaos

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
)

// answering is the rest of a program behind the middleware.
func answering(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil }

func TestInertMiddlewareAllocatesNothing(t *testing.T) {
	handler := Sending(nil)(answering)
	ctx := t.Context()
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = handler(ctx, "tools/call", nil) }))
}

// hole is a connection that discards what is written to it.
type hole struct{ mcp.Connection }

func (hole) Write(context.Context, jsonrpc.Message) error { return nil }

type toHole struct{}

func (toHole) Connect(context.Context) (mcp.Connection, error) { return hole{}, nil }

func BenchmarkTransport(b *testing.B) {
	msg, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", 1000) + `"}}}`))
	require.NoError(b, err)
	for name, ctx := range map[string]context.Context{
		"no injector":       b.Context(),
		"an idle injector":  chaos.NewContext(b.Context(), chaos.NewInjector(1, nil)),
		"a recording one":   chaos.NewContext(b.Context(), chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true})),
		"a fault that adds": chaos.NewContext(b.Context(), injectorOf(b, chaos.Rule{Target: "mcp/send/*", Fault: FloodListChanged(1)})),
	} {
		b.Run(name, func(b *testing.B) {
			conn, err := Transport(toHole{}, nil).Connect(b.Context())
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if err := conn.Write(ctx, msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
