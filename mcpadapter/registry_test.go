package mcpadapter

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// The tools of a server of this package are a registry, and what its gate refuses
// is said in the words of package client.
func TestAToolThatTheGateDoesNotKnow(t *testing.T) {
	gated := client.Registry(clientOf(t, serverOf(t, newShop(t).host, nil), nil))
	_, err := gated.CallTool(t.Context(), "nowhere", nil)
	assert.ErrorIs(t, err, chaos.ErrUnknownTool, "by the gate's code")
}

func TestTheToolsOfAProcess(t *testing.T) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: child(t)}, nil)
	require.NoError(t, err)
	r := client.Registry(session)
	tools, err := r.Tools(t.Context())
	require.NoError(t, err)
	assert.NotEmpty(t, tools)
	out, err := r.CallTool(t.Context(), "chaos_status", nil)
	require.NoError(t, err)
	assert.True(t, json.Valid(out))
	require.NoError(t, session.Close())
}
