package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// gated is a table with everything that a call can meet on its way through.
func gated() policy.Options {
	return policy.Options{Mode: policy.ReadWrite, EnableWrite: true, Audit: io.Discard, Timeout: time.Minute,
		Tools: []policy.Tool{{Name: "noop", Scopes: []string{"a"}, Target: "name", Limit: &policy.Limit{PerSecond: 1e9, Burst: 1e9},
			Actions: []policy.Action{{Field: "dry_run", Values: []any{true}, Capability: policy.Read}}}},
		Confirm: []policy.Confirm{{Tool: "noop", Field: "operation", Values: []any{"ForceOff"}}}}
}

const benchArguments = `{"name":"room-3","operation":"On","count":3,"dry_run":false}`

// BenchmarkOverhead calls a no-op tool of a bare server and of one behind the
// gate in turns, in blocks, and reports the median of the blocks' ratios: the
// machine's moods hit both. The promise is at most 1.10.
func BenchmarkOverhead(b *testing.B) {
	session := func(behind bool) *mcp.ClientSession {
		d := &desk{server: mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)}
		d.server.AddTool(&mcp.Tool{Name: "noop", InputSchema: json.RawMessage(`{"type":"object"}`)}, noop)
		if behind {
			o := gated()
			g, err := policy.New(&o)
			require.NoError(b, err)
			d.server.AddReceivingMiddleware(g.Middleware())
		}
		return d.connect(b, newEra, nil)
	}
	bare, behind := session(false), session(true)
	params := &mcp.CallToolParams{Name: "noop", Arguments: json.RawMessage(benchArguments)}
	block := func(cs *mcp.ClientSession) time.Duration {
		began := time.Now()
		for range 50 {
			res, err := cs.CallTool(b.Context(), params)
			if err != nil || res.IsError {
				b.Fatal(err, text(res))
			}
		}
		return time.Since(began)
	}
	block(bare)
	block(behind)
	var ratios []float64
	var without, with time.Duration
	for b.Loop() {
		first, second := block(bare), block(behind)
		without, with = without+first, with+second
		ratios = append(ratios, float64(second)/float64(first))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(float64(without.Nanoseconds())/float64(50*len(ratios)), "bare-ns/call")
	b.ReportMetric(float64(with.Nanoseconds())/float64(50*len(ratios)), "gated-ns/call")
}

func noop(_ context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return new(mcp.CallToolResult), nil
}

// BenchmarkGate is the gate alone, without a server.
func BenchmarkGate(b *testing.B) {
	o := gated()
	g, err := policy.New(&o)
	require.NoError(b, err)
	handle := g.Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { return new(mcp.CallToolResult), nil })
	for _, size := range []int{0, 1 << 10, 1 << 16} {
		args := json.RawMessage(strings.TrimSuffix(benchArguments, "}") + `,"text":"` + strings.Repeat("x", size) + `"}`)
		b.Run("argument="+fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := handle(b.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "noop", Arguments: args}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRedact(b *testing.B) {
	for _, size := range []int{64, 1 << 10, 16 << 10} {
		s := strings.Repeat("no rooms left on floor 3, user=ann; ", size/36+1)[:size]
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				policy.Redact(s)
			}
		})
	}
}
