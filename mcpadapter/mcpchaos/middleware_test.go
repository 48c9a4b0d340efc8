package mcpchaos

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
)

// sides are a client's and a server's middleware: a fault must do the same to
// the client's caller from either.
func sides(t *testing.T, in *chaos.Injector) map[string]*mcp.ClientSession {
	t.Helper()
	protocol := newClient(nil)
	protocol.AddSendingMiddleware(Sending(&Options{Injector: in}))
	server := desk()
	server.AddReceivingMiddleware(Receiving(&Options{Injector: in}))
	return map[string]*mcp.ClientSession{"client": wired(t, desk(), protocol, nil), "server": wired(t, server, newClient(nil), nil)}
}

func TestResultFaults(t *testing.T) {
	for _, tc := range []struct {
		why    string
		target string
		fault  chaos.Fault
		tool   string
		check  func(*testing.T, *mcp.CallToolResult, error)
	}{
		{"a failure looks like an answer", "mcp/tools/call/fail", UnsetError(), "fail", func(t *testing.T, res *mcp.CallToolResult, err error) {
			require.NoError(t, err)
			assert.False(t, res.IsError)
			assert.Equal(t, "out of stock", res.Content[0].(*mcp.TextContent).Text)
		}},
		{"a removed tool is unknown", "mcp/tools/call/echo", RemoveTool(), "echo", func(t *testing.T, _ *mcp.CallToolResult, err error) {
			var wire *jsonrpc.Error
			require.ErrorAs(t, err, &wire)
			assert.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
			assert.Equal(t, `unknown tool "echo"`, wire.Message)
		}},
		{"an error of any kind", "mcp/tools/call/echo", fault.Fail(errors.New("database is locked")), "echo", func(t *testing.T, _ *mcp.CallToolResult, err error) {
			assert.ErrorContains(t, err, "database is locked")
		}},
		{"a delay", "mcp/tools/call/echo", fault.Delay(time.Millisecond), "echo", func(t *testing.T, res *mcp.CallToolResult, err error) {
			require.NoError(t, err)
			assert.Equal(t, answered, res.Content[0].(*mcp.TextContent).Text)
		}},
		{"a lost reply", "mcp/tools/call/echo", fault.LoseReply(), "echo", func(t *testing.T, _ *mcp.CallToolResult, err error) { assert.Error(t, err) }},
		{"another result", "mcp/tools/call/echo", fault.Replace(says("lies")), "echo", func(t *testing.T, res *mcp.CallToolResult, err error) {
			require.NoError(t, err)
			assert.Equal(t, "lies", res.Content[0].(*mcp.TextContent).Text)
		}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Target: tc.target, Fault: tc.fault})
			for side, session := range sides(t, in) {
				before := len(in.Events())
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tc.tool, Arguments: map[string]any{"order": 7}})
				cancel()
				tc.check(t, res, err)
				events := in.Events()[before:]
				require.Len(t, events, 1, side)
				assert.True(t, events[0].Delivered, side)
			}
		})
	}
}

func TestListsWithFaults(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Target: "mcp/tools/list", Fault: HideTool("fail")},
		chaos.Rule{Target: "mcp/tools/list", Fault: ChangeDescription("echo", "Sends your secrets to the desk.")},
		chaos.Rule{Name: "none such", Target: "mcp/tools/list", Fault: HideTool("none such")})
	for side, session := range sides(t, in) {
		res, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err, side)
		var names, texts []string
		for _, tool := range res.Tools {
			names, texts = append(names, tool.Name), append(texts, tool.Description)
		}
		assert.Equal(t, []string{"echo", "other"}, names)
		assert.Equal(t, []string{"Sends your secrets to the desk.", "does other"}, texts)
	}
	event := in.Events()[0]
	assert.Len(t, event.Changes, 2)
	assert.Equal(t, []string{"none such"}, event.Idle, "what changed nothing was not delivered")
}

func TestAnErrorThatIsNotSetCannotBeUnset(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Target: "mcp/tools/call/*", Fault: UnsetError()})
	for side, session := range sides(t, in) {
		_, err := call(t.Context(), session, "echo")
		require.NoError(t, err, side)
	}
	for _, e := range in.Events() {
		assert.False(t, e.Delivered)
	}
}

// wrongKind is a fault of a user that the SDK would panic over.
type wrongKind struct{ result any }

func (f wrongKind) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return f.result, nil
}

func TestResultsOfTheWrongKind(t *testing.T) {
	for _, result := range []any{nil, &mcp.ListToolsResult{}, (*mcp.CallToolResult)(nil), 7} {
		_, isResult := result.(mcp.Result)
		in := injectorOf(t, chaos.Rule{Name: "wrong", Target: "mcp/tools/call/*", Fault: wrongKind{result}})
		for side, session := range sides(t, in) {
			_, err := call(t.Context(), session, "echo")
			if result == nil || isResult {
				assert.Error(t, err, "%s: %T", side, result)
				continue
			}
			assert.NoError(t, err, "%s: %T does not fit the call, which goes through", side, result)
			events := in.Events()
			e := events[len(events)-1]
			assert.False(t, e.Delivered)
			assert.Contains(t, e.Note, "wrong type")
		}
	}
}

func TestARemovedToolThroughTheRegistry(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Name: "gone", Group: "gone", Target: "mcp/tools/call/echo", Fault: RemoveTool()},
		chaos.Rule{Name: "hidden", Group: "gone", Target: "mcp/tools/list", Fault: HideTool("echo")})
	for side, session := range sides(t, in) {
		r := client.Registry(session)
		tools, err := r.Tools(t.Context())
		require.NoError(t, err, side)
		assert.Len(t, tools, 2)
		_, err = r.CallTool(t.Context(), "echo", nil)
		assert.ErrorIs(t, err, chaos.ErrUnknownTool, side)
	}
	bare, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "echo"}, func(context.Context, struct{}) (int, error) { return 0, nil }))
	require.NoError(t, err)
	_, err = chaos.WrapRegistry(bare, injectorOf(t, chaos.Rule{Target: "echo", Fault: RemoveTool()})).CallTool(t.Context(), "echo", nil)
	assert.EqualError(t, err, `unknown tool "echo"`)
}

func TestPlaces(t *testing.T) {
	for _, tc := range []struct{ method, params, want string }{
		{"tools/call", `{"name":"echo","arguments":{"a":1}}`, "tools/call/echo"},
		{"tools/call", `{"name":7}`, "tools/call"},
		{"tools/call", `7`, "tools/call"},
		{"resources/read", `{"uri":"a://b/c"}`, "resources/read/a://b/c"},
		{"prompts/get", `{"name":"p"}`, "prompts/get/p"},
		{"tools/list", ``, "tools/list"},
		{"notifications/initialized", `{}`, "notifications/initialized"},
	} {
		assert.Equal(t, tc.want, placeOf(tc.method, []byte(tc.params)).path)
	}
	key := func(params string) uint64 { return placeOf("tools/call", []byte(params)).key }
	assert.Equal(t, key(`{"name":"x","arguments":{"a":1,"b":2},"_meta":{"progressToken":1}}`), key(`{"name":"x","arguments":{"b":2,"a":1.0}}`))
	assert.NotEqual(t, key(`{"arguments":{"a":1}}`), key(`{"arguments":{"a":2}}`))
	assert.Equal(t, placeOf("tools/list", []byte(`{"_meta":{"a":1},"cursor":"x"}`)), placeOf("tools/list", []byte(`{"cursor":"x"}`)))
}
