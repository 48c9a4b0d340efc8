package policy_test

import (
	"context"
	"strings"
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

func TestAManifestIsADocumentAndBack(t *testing.T) {
	c := rooms(t, nil)
	text, err := c.YAML()
	require.NoError(t, err)
	golden.Equal(t, "tools.yaml", text)
	back, err := policy.ParseManifest(text)
	require.NoError(t, err)
	assert.NoError(t, back.Check(c), "what was written is what is read")
	again, err := back.YAML()
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again))
}

func TestAManifestCanBeTheTable(t *testing.T) {
	text, err := rooms(t, nil).YAML()
	require.NoError(t, err)
	c, err := policy.ParseManifest(text)
	require.NoError(t, err)
	d := newDesk("room.book", "room.delete", "room.list")
	d.behind(t, policy.Options{Tools: c.Rows(), Confirm: c.Confirm(), Mode: policy.ReadWrite, EnableWrite: true})
	cs := d.connect(t, oldEra, nil)
	assert.Equal(t, policy.CodeConfirmationRequired, envelope(t, call(t, cs, "room.delete", `{}`)).Code)
	assert.Equal(t, policy.CodeConfirmationRequired, envelope(t, call(t, cs, "room.book", `{"price":"MUCH"}`)).Code)
	assert.False(t, call(t, cs, "room.book", `{"room":"3"}`).IsError)
	assert.Equal(t, []string{`room.book {"room":"3"}`}, d.reached())
}

func TestCheckListsAllDifferences(t *testing.T) {
	want := rooms(t, nil)
	got := rooms(t, func(o *policy.Options, tool *mcp.Tool) {
		o.Tools[0].Capability, o.Tools[0].Target = policy.Read, ""
		o.Tools[1].Scopes = []string{"rooms:write"}
		o.Tools = append(o.Tools[:2], o.Tools[3:]...) // room.list is no longer served
		o.Confirm = o.Confirm[:1]
		tool.OutputSchema = map[string]any{"type": "object", "properties": map[string]any{"booked": map[string]any{"type": "boolean", "title": "Booked"}}}
	})
	got.Tools = append(got.Tools, policy.ManifestTool{Name: "room.paint"})
	var lines []string
	for line := range strings.Lines(want.Check(got).Error()) {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "policy: manifest: tool ")))
	}
	assert.Equal(t, []string{
		`room.book: capability is "read", the manifest says "write"`,
		`room.book: confirmation is missing, the manifest says [{"field":"price","tool":"room.*","values":[7,2.5,"much",true]}]`,
		`room.book: input_schema.properties.confirm.description is missing, the manifest says "Must be true, and only after the user agreed, when price is one of [7,2.5,\"much\",true]."`,
		`room.book: input_schema.properties.confirm.type is missing, the manifest says "boolean"`,
		`room.book: output_schema.additionalProperties is missing, the manifest says false`,
		`room.book: output_schema.properties.booked.title is "Booked", the manifest has none`,
		`room.book: output_schema.required is missing, the manifest says ["booked"]`,
		`room.book: target is missing, the manifest says "room"`,
		`room.delete: confirmation is [{"tool":"*.delete"}], the manifest says [{"tool":"*.delete"},{"field":"price","tool":"room.*","values":[7,2.5,"much",true]}]`,
		`room.delete: scopes is ["rooms:write"], the manifest says ["rooms:write","rooms:admin"]`,
		`room.list: the server does not offer it`,
		`room.paint: it is not in the manifest`,
	}, lines)
	assert.NoError(t, want.Check(rooms(t, nil)))
}

func TestAManifestIsReadStrictly(t *testing.T) {
	const tool = "version: 1\ntools:\n  - name: look\n    capability: read\n    scopes: []\n    input_schema: {type: object}\n"
	_, err := policy.ParseManifest([]byte(tool))
	require.NoError(t, err)
	for _, tc := range []struct{ reason, text, want string }{
		{"nothing", "", "EOF"},
		{"a later form", strings.Replace(tool, "1", "2", 1), "policy: version is 2; allowed: 1"},
		{"a member that it does not know", tool + "    scope: [x]\n", "field scope not found"},
		{"a member twice", tool + "    name: x\n", "already defined"},
		{"a second document", tool + "---\n{}\n", "allowed: one document"},
		{"a capability that is none", strings.Replace(tool, "read", "Read", 1), `capability is "Read"; allowed: write, read`},
		{"a tool twice", tool + tool[strings.Index(tool, "  - "):], "allowed: one row a tool"},
		{"no input schema", strings.Replace(tool, "{type: object}", "{}", 1), "tools[0].input_schema.type is missing; allowed: object"},
		{"a schema that is none", strings.Replace(tool, "object}", "object, minimum: many}", 1), "tools[0].input_schema: "},
		{"a rule for another tool", tool + "    confirmation: [{tool: other}]\n", `Confirm[0].Tool is "other"`},
		{"a rule without values", tool + "    confirmation: [{tool: look, field: x}]\n", "Confirm[0].Values is missing"},
		{"a value that is none", tool + "    actions: [{field: x, values: [[1]], capability: read, scopes: []}]\n", "Tools[0].Actions[0].Values is a []interface {}"},
		{"a list in place of an object", "[]", "cannot unmarshal"},
		{"too much", "# " + strings.Repeat("x", 8<<20), "at most"},
	} {
		_, err := policy.ParseManifest([]byte(tc.text))
		assert.ErrorContains(t, err, tc.want, tc.reason)
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add("version: 1\ntools: [{name: a, capability: read, scopes: [], input_schema: {type: object}}]")
	f.Add("version: 1\ntools: [{name: a, confirmation: [{tool: '*', field: b, values: [1, .nan]}], input_schema: {type: object, properties: {b: {enum: [1]}}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := policy.ParseManifest([]byte(text))
		if err != nil {
			return
		}
		again, err := c.YAML()
		require.NoError(t, err)
		back, err := policy.ParseManifest(again)
		require.NoError(t, err, "what was accepted is accepted again:\n%s", again)
		require.NoError(t, back.Check(c))
	})
}
