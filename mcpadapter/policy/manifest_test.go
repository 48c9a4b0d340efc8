package policy_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/golden"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

type roomOrder struct {
	Room  string  `json:"room" jsonschema:"its number"`
	Price float64 `json:"price,omitempty"`
	Dry   bool    `json:"dry_run,omitempty"`
}

type roomAnswer struct {
	Booked bool `json:"booked"`
}

// rooms is a server with typed tools behind a gate, and its contract.
func rooms(t *testing.T, change func(o *policy.Options, tool *mcp.Tool)) *policy.Manifest {
	t.Helper()
	o := policy.Options{
		Tools: []policy.Tool{
			{Name: "room.book", Scopes: []string{"rooms:write"}, Target: "room", Actions: []policy.Action{
				{Field: "dry_run", Values: []any{true}, Capability: policy.Read, Scopes: []string{"rooms:read"}},
			}},
			{Name: "room.delete", Scopes: []string{"rooms:write", "rooms:admin"}},
			{Name: "room.list", Capability: policy.Read},
			{Name: "not.offered"},
		},
		Confirm: []policy.Confirm{{Tool: "*.delete"}, {Tool: "room.*", Field: "price", Values: []any{7, 2.5, "much", true}}},
	}
	d := newDesk("room.delete", "room.list")
	book := &mcp.Tool{Name: "room.book"}
	if change != nil {
		change(&o, book)
	}
	mcp.AddTool(d.server, book, func(context.Context, *mcp.CallToolRequest, roomOrder) (*mcp.CallToolResult, roomAnswer, error) {
		return nil, roomAnswer{Booked: true}, nil
	})
	g, _ := d.behind(t, o)
	c, err := g.Manifest(t.Context(), d.connect(t, newEra, nil))
	require.NoError(t, err)
	return c
}

func TestAManifestIsADocument(t *testing.T) {
	c := rooms(t, nil)
	text, err := c.YAML()
	require.NoError(t, err)
	golden.Equal(t, "tools.yaml", text)
	again, err := rooms(t, nil).YAML()
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again), "equal servers, equal bytes")
	changed, err := rooms(t, func(o *policy.Options, _ *mcp.Tool) { o.Tools[0].Target = "" }).YAML()
	require.NoError(t, err)
	assert.NotEqual(t, string(text), string(changed))
}
