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

// gated is a table with every check that a call can pass through.
func gated() policy.Options {
	return policy.Options{Mode: policy.ReadWrite, EnableWrite: true, Audit: io.Discard,
		Tools: []policy.Tool{{Name: "noop", Scopes: []string{"a"}, Target: "name", Limit: &policy.Limit{PerSecond: 1e9, Burst: 1e9},
			Actions: []policy.Action{{Field: "dry_run", Values: []any{true}, Capability: policy.Read}}}},
		Confirm: []policy.Confirm{{Tool: "noop", Field: "operation", Values: []any{"ForceOff"}}}}
}

// usual is what most tools have: a scope, a target, no limits and rules.
func usual() policy.Options {
	return policy.Options{Audit: io.Discard, Tools: []policy.Tool{{Name: "noop", Capability: policy.Read, Scopes: []string{"a"}, Target: "name"}}}
}

const benchArguments = `{"name":"room-3","operation":"On","count":3,"dry_run":false}`

// BenchmarkOverhead calls a no-op tool of a bare server and of one behind the
// gate in turns, a few calls each. It reports the ratio of the tenth percentiles,
// because other load on the machine makes some turns slow, and none fast. The
// bound is 1.10.
func BenchmarkOverhead(b *testing.B) {
	b.Run("usual", func(b *testing.B) { overhead(b, usual()) })
	b.Run("everything", func(b *testing.B) { overhead(b, gated()) })
}

func overhead(b *testing.B, o policy.Options) {
	session := func(behind bool) *mcp.ClientSession {
		d := &desk{server: mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)}
		mcp.AddTool(d.server, &mcp.Tool{Name: "noop"}, noop)
		if behind {
			g, err := policy.New(&o)
			require.NoError(b, err)
			d.server.AddReceivingMiddleware(g.Middleware())
		}
		return d.connect(b, newEra, nil)
	}
	bare, behind := session(false), session(true)
	params := &mcp.CallToolParams{Name: "noop", Arguments: json.RawMessage(benchArguments)}
	const calls = 5
	turn := func(cs *mcp.ClientSession) float64 {
		began := time.Now()
		for range calls {
			res, err := cs.CallTool(b.Context(), params)
			if err != nil || res.IsError {
				b.Fatal(err, text(res))
			}
		}
		return float64(time.Since(began).Nanoseconds()) / calls
	}
	for range 20 {
		turn(bare)
		turn(behind)
	}
	var without, with []float64
	for b.Loop() {
		without = append(without, turn(bare))
		with = append(with, turn(behind))
	}
	slices.Sort(without)
	slices.Sort(with)
	tenth := len(with) / 10
	b.ReportMetric(with[tenth]/without[tenth], "ratio")
	b.ReportMetric(without[tenth], "bare-ns/call")
	b.ReportMetric(with[tenth], "gated-ns/call")
}

type benchInput struct {
	Name      string `json:"name"`
	Operation string `json:"operation"`
	Count     int    `json:"count"`
	DryRun    bool   `json:"dry_run"`
}

func noop(context.Context, *mcp.CallToolRequest, benchInput) (*mcp.CallToolResult, any, error) {
	return nil, nil, nil
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
