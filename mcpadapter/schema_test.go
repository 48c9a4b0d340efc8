package mcpadapter

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A default that is no JSON is refused by package toolschema. The SDK drops an answer that cannot be written as JSON, and the client waits
// for ever: a default that is no JSON in one tool silences tools/list for all.
func TestADefaultIsJSON(t *testing.T) {
	c := clientOf(t, serverOf(t, newShop(t).host, nil), nil)
	list, err := c.ListTools(t.Context(), &mcp.ListToolsParams{})
	require.NoError(t, err)
	schema := make(map[string]json.RawMessage)
	for _, tool := range list.Tools {
		text, err := json.Marshal(tool.InputSchema)
		require.NoError(t, err)
		schema[tool.Name] = text
	}
	var subscribe struct {
		Properties map[string]struct{ Default any }
	}
	require.NoError(t, json.Unmarshal(schema["events_subscribe"], &subscribe))
	assert.Equal(t, "faults", subscribe.Properties["mode"].Default)
}
