package policy_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// chaosTable is a tool that only reads when it is dry, and one that has an
// action that reads.
func chaosTable() policy.Options {
	return policy.Options{Tools: []policy.Tool{
		{Name: "run", Actions: []policy.Action{{Field: "dry_run", Values: []any{true}, Capability: policy.Read}}},
		{Name: "fault", Actions: []policy.Action{
			{Field: "action", Values: []any{"list", "show"}, Capability: policy.Read, Scopes: []string{"faults:read"}},
		}},
	}, Local: &policy.Caller{Subject: "ann", Scopes: []string{"faults:read"}}}
}

// A server that is as lenient as a Go program can be: its decoder ignores case
// and takes the last of several members.
func lenient(d *desk, wrote *[]string) {
	for _, name := range []string{"run", "fault"} {
		d.tool(name, func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
			var in struct {
				DryRun bool   `json:"dry_run"`
				Action string `json:"action"`
			}
			if err := json.Unmarshal(args, &in); err != nil {
				return nil, err
			}
			action := strings.ToLower(strings.TrimSpace(in.Action))
			if name == "run" && !in.DryRun || name == "fault" && action != "list" && action != "show" {
				*wrote = append(*wrote, name+" "+string(args))
			}
			return fine(ctx, nil)
		})
	}
}

func TestNoWriteGetsThroughInReadOnlyMode(t *testing.T) {
	for i, tc := range []struct{ tool, args string }{
		{"run", `{"dry_run":true}`},
		{"run", ` { "dry_run" : true, "experiment_name" : "x" } `},
		{"run", `{"dry_\u0072un":true}`},
		{"fault", `{"action":"LIST"}`},
		{"fault", `{"action":"show","nested":{"action":"inject"}}`}, // so many only read
		{"run", ``},
		{"run", `{}`},
		{"run", `null`},
		{"run", `{"dry_run":false}`},
		{"run", `{"dry_run":"true"}`},
		{"run", `{"dry_run":1}`},
		{"run", `{"dry_run":null}`},
		{"run", `{"dry_run":[true]}`},
		{"run", `{"dry_run":{"dry_run":true}}`},
		{"run", `{"options":{"dry_run":true}}`},
		{"run", `{"dry_run ":true}`},
		{"run", `{"Dry_Run":true}`},
		{"run", `{"dry_run":true,"dry_run":false}`},
		{"run", `{"dry_run":false,"dry_run":true}`},
		{"run", `{"dry_run":true,"DRY_RUN":false}`},
		{"run", `{"dry_run":true,"dry_\u0072un":false}`},
		{"run", `[{"dry_run":true},{"dry_run":false}]`},
		{"fault", `{"action":"inject"}`},
		{"fault", `{"action":"list","Action":"inject"}`},
		{"fault", `{"action":"list","action":"inject"}`},
		{"fault", `{"action":["list","inject"]}`},
		{"fault", `{"action":{"list":"inject"}}`},
		{"fault", `{"action":"list,inject"}`},
		{"fault", `{"action":"list\u0000inject"}`},
		{"fault", `{"action":""}`},
		{"fault", "{\"action\":\"list\",\"act\u0131on\":\"inject\",\"ACTION\":\"inject\"}"},
		{"fault", "{\"action\":\"li\u017ft\"}"}, // folds to list for us and for a decoder; reads, or is refused
		{"Run", `{"dry_run":true}`},
		{"run ", `{"dry_run":true}`},
		{"run\n", `{"dry_run":true}`},
		{"ru\u006e\u200b", `{"dry_run":true}`},
	} {
		each(t, func(t *testing.T, era string) {
			d := newDesk()
			var wrote []string
			lenient(d, &wrote)
			_, j := d.behind(t, chaosTable())
			params := &mcp.CallToolParams{Name: tc.tool}
			if tc.args != "" {
				params.Arguments = json.RawMessage(tc.args)
			}
			d.connect(t, era, nil).CallTool(t.Context(), params)
			assert.Empty(t, wrote, "a write got through")
			line := j.only(t)
			assert.Equal(t, line["result"] == "success", len(d.reached()) == 1)
			assert.True(t, i >= 5 || line["result"] == "success", "%s %s", tc.tool, tc.args)
		})
	}
}

func TestAnActionHasScopesOfItsOwn(t *testing.T) {
	d := newDesk("fault")
	o := chaosTable()
	o.Mode, o.EnableWrite = policy.ReadWrite, true
	o.Tools[1].Scopes = []string{"faults:write"}
	d.behind(t, o)
	cs := d.connect(t, newEra, nil)
	assert.False(t, call(t, cs, "fault", `{"action":"list"}`).IsError)
	assert.Equal(t, "tool fault missing required scope(s): faults:write (granted: faults:read)", envelope(t, call(t, cs, "fault", `{"action":"inject"}`)).Detail)
}

func TestNoTokenGetsIntoTheAuditLog(t *testing.T) {
	const token = "a-quiet-evening/with+tea=&more" // looks like nothing, but is configured
	secrets := []string{token, "ghp_0123456789abcdefABCDEF0123456789abcd", "hunter2hunter2"}
	d := newDesk()
	d.tool("raw", func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
		var in struct{ Say string }
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		if strings.HasPrefix(in.Say, "!") {
			panic(in.Say)
		}
		return nil, &policy.Error{Status: 418, Code: "said", Detail: in.Say}
	})
	_, j := d.behind(t, policy.Options{Tokens: []policy.Token{{Value: token}},
		Tools: []policy.Tool{{Name: "raw", Capability: policy.Read, Target: "say"}}})
	cs := d.connect(t, newEra, nil)
	for _, secret := range secrets {
		inJSON, _ := json.Marshal(secret)
		for _, say := range []string{
			"password=" + secret, `{"api_key":` + string(inJSON) + `}`, "Authorization: Bearer " + secret, "https://ann:" + secret + "@example.com",
			"!token: " + secret, "password = '" + secret + "'", strings.Repeat("x ", 9000) + "password=" + secret, "Bearer  " + secret,
		} {
			args, err := json.Marshal(map[string]any{"say": say})
			require.NoError(t, err)
			cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw", Arguments: json.RawMessage(args)})
			cs.CallTool(t.Context(), &mcp.CallToolParams{Name: say})                                                    // as the name of a tool
			cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw", Arguments: map[string]any{say: 1, say + "x": 2}}) // as an argument's name
			cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw", Arguments: map[string]any{"say": map[string]any{"password": secret}}})
		}
	}
	for _, secret := range secrets {
		assert.NotContains(t, j.String(), secret)
	}
	assert.NotContains(t, j.String(), "quiet-evening")
	assert.Len(t, j.lines(t), len(secrets)*8*4)
}

func TestADeepBodyIsRefused(t *testing.T) {
	d := newDesk("raw")
	_, j := d.behind(t, everything("raw"))
	cs := d.connect(t, newEra, nil)
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	assert.False(t, call(t, cs, "raw", deep(99)).IsError)
	assert.Contains(t, envelope(t, call(t, cs, "raw", deep(100))).Detail, "nested deeper than 100 levels")
	assert.False(t, call(t, cs, "raw", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`).IsError, "size is the transport's affair")
	assert.Len(t, j.lines(t), 3)
}
