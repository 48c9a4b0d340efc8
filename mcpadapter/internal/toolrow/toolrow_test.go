package toolrow

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/internal/calls"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/failure"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

type in struct {
	N int `json:"n" range:"0,9"`
}

type out struct {
	Twice int `json:"twice"`
}

// Every way in which a function ends is a result.
func TestEveryEndIsAResult(t *testing.T) {
	var log strings.Builder
	e := &Engine{Active: calls.NewActive(), Life: t.Context(), CallTime: time.Minute, ArgumentBytes: 100, Log: slog.New(slog.NewTextHandler(&log, nil))}
	row, err := Define(Row[string]{Name: "double", Area: "chaos", Kind: Kind{Write: true}}, nil,
		func(_ context.Context, c *Call[string], in in) (out, error) {
			assert.Equal(t, "the server", c.Server)
			switch in.N {
			case 7:
				panic("seven")
			case 8:
				runtime.Goexit()
			case 9:
				return out{}, failure.NotFound("no nine", "ask for less")
			}
			return out{2 * in.N}, nil
		})
	require.NoError(t, err)
	for args, want := range map[string]any{
		`{"n":3}`:  json.RawMessage(`{"twice":6}`),
		`{"n":7}`:  failure.New(500, "panic", "double panicked: seven", "A function of the host did that; look at the host's log."),
		`{"n":8}`:  failure.New(500, policy.CodeToolError, "double ended its goroutine (t.FailNow or runtime.Goexit)", "A function of the host did that; look at the host's log."),
		`{"n":9}`:  failure.New(404, "not_found", "no nine", "ask for less"),
		`{"n":10}`: "n is 10",
	} {
		req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "double", Arguments: json.RawMessage(args)}}
		res, err := row.Serve(e, "the server")(t.Context(), req)
		require.NoError(t, err)
		if detail, ok := want.(string); ok {
			assert.Contains(t, res.StructuredContent.(*failure.Problem).Detail, detail)
			continue
		}
		assert.Equal(t, want, res.StructuredContent, args)
		assert.Equal(t, args != `{"n":3}`, res.IsError, args)
	}
	assert.Contains(t, log.String(), "panic in a tool")
	assert.Contains(t, log.String(), "toolrow_test.go", "with the stack")
}

// The policy's row follows from the kind.
func TestTheRowOfThePolicy(t *testing.T) {
	writes := (&Row[string]{Name: "w", Area: "chaos", Kind: Kind{Write: true}, ReadsIf: "dry_run"}).Rule()
	assert.Equal(t, []string{"chaos:write"}, writes.Scopes)
	assert.Equal(t, []policy.Action{{Field: "dry_run", Values: []any{true}, Capability: policy.Read, Scopes: []string{"chaos:read"}}}, writes.Actions)
	reads := (&Row[string]{Name: "r", Area: "timeline"}).Rule()
	assert.Equal(t, []string{"timeline:read"}, reads.Scopes)
	assert.Equal(t, policy.Read, reads.Capability)
	refused := (&Row[string]{Name: "r", OnError: func(c *Call[string], p *failure.Problem) any {
		return string(c.Req.Params.Arguments) + p.Code
	}}).Failure(json.RawMessage(`{}`), &policy.Error{Code: "forbidden"})
	assert.Equal(t, "{}forbidden", refused)
}
