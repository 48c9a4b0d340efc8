package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// everything lets all tools that a desk may have be called by anyone.
func everything(tools ...string) policy.Options {
	o := policy.Options{Mode: policy.ReadWrite, EnableWrite: true}
	for _, name := range tools {
		o.Tools = append(o.Tools, policy.Tool{Name: name})
	}
	return o
}

func TestACallThatPasses(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		d := newDesk("rooms.list")
		_, j := d.behind(t, policy.Options{Tools: []policy.Tool{{Name: "rooms.list", Capability: policy.Read, Target: "floor"}}})
		res := call(t, d.connect(t, era, nil), "rooms.list", `{"floor":"third"}`)
		assert.False(t, res.IsError)
		assert.Equal(t, "fine", text(res))
		line := j.only(t)
		assert.Equal(t, "mcp.tool_call.completed", line["event"])
		assert.Equal(t, []any{"rooms.list", "read-only", "local", "third", "success", "stdio", "", ""},
			[]any{line["tool"], line["mode"], line["caller_subject"], line["target"], line["result"], line["transport"], line["error_detail"], line["session_id"]})
		assert.NotEmpty(t, line["request_id"])
		assert.GreaterOrEqual(t, line["duration_ms"], 0.0)
	})
}

func TestTheOrderOfTheGate(t *testing.T) {
	table := policy.Options{
		Tools: []policy.Tool{
			{Name: "look", Capability: policy.Read},
			{Name: "look.deep", Capability: policy.Read, Scopes: []string{"deep", "far"}},
			{Name: "room.delete", Scopes: []string{"rooms"}, Limit: &policy.Limit{Budget: 1}},
		},
		Confirm: []policy.Confirm{{Tool: "*.delete"}},
	}
	for _, tc := range []struct {
		reason     string
		mode       policy.Mode
		scopes     []string
		tool, args string
		status     int
		code       string
		detail     string
	}{
		{"mode goes before scope, confirmation and rate", policy.ReadOnly, nil, "room.delete", `{}`, 403, policy.CodeReadOnly,
			"tool room.delete writes, and the server is in read-only mode"},
		{"scope before confirmation and rate", policy.ReadWrite, []string{"deep"}, "room.delete", `{}`, 403, policy.CodeMissingScope,
			"tool room.delete missing required scope(s): rooms (granted: deep)"},
		{"confirmation before rate", policy.ReadWrite, []string{"rooms"}, "room.delete", `{}`, 400, policy.CodeConfirmationRequired,
			"tool room.delete requires confirm=true"},
		{"rate comes last", policy.ReadWrite, []string{"rooms"}, "room.delete", `{"confirm":true}`, 429, policy.CodeBudgetExhausted,
			"tool room.delete: the budget of 1 calls of the server is used up"},
		{"all scopes that miss are named", policy.ReadOnly, nil, "look.deep", `{}`, 403, policy.CodeMissingScope,
			"tool look.deep missing required scope(s): deep, far (granted: none)"},
		{"the mode is said of a call whose arguments nobody could read", policy.ReadOnly, nil, "room.delete", `[]`, 403, policy.CodeReadOnly,
			"tool room.delete writes, and the server is in read-only mode"},
		{"arguments that are no object", policy.ReadOnly, nil, "look", `[]`, 400, policy.CodeInvalidArguments, "the arguments are not a JSON object"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			each(t, func(t *testing.T, era string) {
				d := newDesk("look", "look.deep", "room.delete")
				o := table
				o.Mode, o.EnableWrite, o.Local = tc.mode, true, &policy.Caller{Subject: "ann", Scopes: tc.scopes}
				_, j := d.behind(t, o)
				cs := d.connect(t, era, nil)
				if tc.status == http.StatusTooManyRequests {
					require.False(t, call(t, cs, tc.tool, tc.args).IsError)
				}
				before := len(d.reached())
				e := envelope(t, call(t, cs, tc.tool, tc.args))
				assert.Equal(t, []any{tc.status, tc.code, tc.detail}, []any{e.Status, e.Code, e.Detail})
				assert.NotEmpty(t, e.Hint)
				assert.Len(t, d.reached(), before, "the handler saw nothing")
				lines := j.lines(t)
				last := lines[len(lines)-1]
				assert.Equal(t, []any{tc.tool, "error", "ann", tc.code + ": " + tc.detail},
					[]any{last["tool"], last["result"], last["caller_subject"], last["error_detail"]})
			})
		})
	}
}

func TestAnUnknownToolIsAProtocolError(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		d := newDesk("look", "hidden")
		_, j := d.behind(t, policy.Options{Tools: []policy.Tool{{Name: "look", Capability: policy.Read}, {Name: "gone", Capability: policy.Read}}})
		cs := d.connect(t, era, nil)
		names := []string{"nothing", "hidden", "Look", "look ", " look", "lo\u043fk", "", "gone", "../look"}
		for _, name := range names {
			_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			var wire *jsonrpc.Error
			require.ErrorAs(t, err, &wire, "%q", name)
			assert.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code, "%q", name)
			var e policy.Error
			require.NoError(t, json.Unmarshal(wire.Data, &e), "%q: %s", name, wire.Data)
			assert.NotEmpty(t, e.Detail)
		}
		assert.Empty(t, d.reached())
		assert.Len(t, j.lines(t), len(names), "each left its line")
		list, err := cs.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, list.Tools, 1, "a tool without a row is not listed either")
		assert.Equal(t, "look", list.Tools[0].Name)
	})
}

func TestRefusalsCarryTheResultType(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		d := newDesk("write")
		g, err := policy.New(&policy.Options{Tools: []policy.Tool{{Name: "write"}}, Audit: new(journal)})
		require.NoError(t, err)
		var wire []byte
		d.server.AddReceivingMiddleware(g.Middleware())
		d.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler { // only to look at what leaves
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				if method == "tools/call" {
					wire, _ = json.Marshal(res)
				}
				return res, err
			}
		})
		call(t, d.connect(t, era, nil), "write", `{}`)
		var got map[string]any
		require.NoError(t, json.Unmarshal(wire, &got))
		if era == newEra {
			assert.Equal(t, "complete", got["resultType"], "clients of the new era reject a result without its type")
		} else {
			assert.NotContains(t, got, "resultType")
		}
		assert.Equal(t, true, got["isError"])
	})
}

func TestFailuresOfHandlers(t *testing.T) {
	problem := &policy.Problem{Type: "https://example.com/full", Title: "Full", Status: 409, Detail: "no room left", Instance: "/rooms/3",
		Extensions: map[string]any{"floor": "third"}}
	for _, tc := range []struct {
		reason string
		result *mcp.CallToolResult
		err    error
		want   policy.Error
	}{
		{"any error", nil, errors.New("no such room"), policy.Error{Status: 500, Code: policy.CodeToolError, Detail: "no such room"}},
		{"the handler's own envelope", nil, &policy.Error{Status: 404, Code: "no_room", Detail: "no room 7", Hint: "list them"},
			policy.Error{Status: 404, Code: "no_room", Detail: "no room 7", Hint: "list them"}},
		{"an envelope with nothing in it", nil, &policy.Error{}, policy.Error{Status: 500, Code: policy.CodeToolError, Detail: "Internal Server Error"}},
		{"problem details stay whole", nil, problem, policy.Error{Status: 409, Code: policy.CodeUpstreamProblem, Detail: "no room left", Problem: problem,
			Hint: "the service behind the tool refused the request; see the problem"}},
		{"a deadline", nil, context.DeadlineExceeded, policy.Error{Status: 504, Code: policy.CodeDeadlineExceeded,
			Detail: "context deadline exceeded", Hint: "ask for less, or try again later"}},
		{"a cancellation", nil, context.Canceled, policy.Error{Status: 408, Code: policy.CodeCancelled, Detail: "context canceled",
			Hint: "the call was cancelled; what it had begun may have happened"}},
		{"an error result", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}}, nil,
			policy.Error{Status: 500, Code: policy.CodeToolError, Detail: "no"}},
		{"an error result without a word", &mcp.CallToolResult{IsError: true}, nil,
			policy.Error{Status: 500, Code: policy.CodeToolError, Detail: "Internal Server Error"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			each(t, func(t *testing.T, era string) {
				d := newDesk()
				d.tool("raw", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return tc.result, tc.err })
				mcp.AddTool(d.server, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
					return tc.result, nil, tc.err
				})
				_, j := d.behind(t, everything("raw", "typed"))
				cs := d.connect(t, era, nil)
				for _, tool := range []string{"raw", "typed"} {
					assert.Equal(t, tc.want, envelope(t, call(t, cs, tool, `{}`)), tool)
				}
				assert.Len(t, j.lines(t), 2)
			})
		})
	}
}

func TestAProtocolErrorOfAHandlerKeepsItsCode(t *testing.T) {
	d := newDesk()
	d.tool("raw", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32042, Message: "see the page"}
	})
	_, j := d.behind(t, everything("raw"))
	_, err := d.connect(t, newEra, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "raw"})
	var wire *jsonrpc.Error
	require.ErrorAs(t, err, &wire)
	assert.EqualValues(t, -32042, wire.Code)
	assert.JSONEq(t, `{"status":500,"code":"tool_error","detail":"see the page","hint":""}`, string(wire.Data))
	assert.Equal(t, "see the page", j.only(t)["error_detail"])
}

func TestWhatElseAnErrorResultHoldsStays(t *testing.T) {
	d := newDesk()
	d.tool("raw", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, StructuredContent: map[string]any{"tried": 3},
			Content: []mcp.Content{&mcp.TextContent{Text: "no"}, &mcp.TextContent{Text: "three times"}}}, nil
	})
	d.behind(t, everything("raw"))
	res := call(t, d.connect(t, newEra, nil), "raw", `{}`)
	assert.Equal(t, "no", envelope(t, res).Detail)
	assert.Len(t, res.Content, 3, "the envelope stands in front")
	assert.Equal(t, map[string]any{"tried": 3.0}, res.StructuredContent)
}

func TestAnEnvelopeOfTheHandlersOwnStaysAsItIs(t *testing.T) {
	const own = `{"status":409,"code":"taken","detail":"room 3 is taken","hint":"list them"}`
	for text, want := range map[string]string{
		own: own,
		`{"status":200,"code":"fine","detail":"x","hint":""}`: `{"status":500,"code":"tool_error","detail":"{\"status\":200,\"code\":\"fine\",\"detail\":\"x\",\"hint\":\"\"}","hint":""}`,
		`{"error":"taken"}`: `{"status":500,"code":"tool_error","detail":"{\"error\":\"taken\"}","hint":""}`,
	} {
		d := newDesk()
		d.tool("raw", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, StructuredContent: map[string]any{"a": 1},
				Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
		_, j := d.behind(t, everything("raw"))
		res := call(t, d.connect(t, newEra, nil), "raw", `{}`)
		require.Len(t, res.Content, 1)
		assert.JSONEq(t, want, res.Content[0].(*mcp.TextContent).Text)
		if text == own {
			assert.Equal(t, "taken: room 3 is taken", j.only(t)["error_detail"])
		}
	}
}

func TestBadArgumentsAreForTheModelToCorrect(t *testing.T) {
	type room struct {
		Floor int `json:"floor"`
	}
	each(t, func(t *testing.T, era string) {
		d := newDesk()
		mcp.AddTool(d.server, &mcp.Tool{Name: "book"}, func(context.Context, *mcp.CallToolRequest, room) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
		_, j := d.behind(t, everything("book"))
		cs := d.connect(t, era, nil)
		wrong := []string{`{}`, `{"floor":"third"}`, `{"floor":3,"flor":4}`, `{"floor":99999999999999999999}`, `{"floor":null}`, `[]`, `"x"`, `{"floor":3,"Floor":4}`}
		for _, args := range wrong {
			e := envelope(t, call(t, cs, "book", args))
			assert.Equal(t, []any{400, policy.CodeInvalidArguments}, []any{e.Status, e.Code}, "%s: %s", args, e.Detail)
		}
		assert.False(t, call(t, cs, "book", `{"floor":3}`).IsError, "the server goes on")
		assert.Len(t, j.lines(t), len(wrong)+1)
	})
}

func TestAPanicIsAnAnswerAndALine(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		d := newDesk()
		d.tool("raw", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			panic("password=hunter22 is wrong")
		})
		_, j := d.behind(t, everything("raw"))
		cs := d.connect(t, era, nil)
		e := envelope(t, call(t, cs, "raw", `{}`))
		assert.Equal(t, []any{500, policy.CodePanic, "the tool failed inside the server"}, []any{e.Status, e.Code, e.Detail})
		detail := j.only(t)["error_detail"].(string)
		assert.Contains(t, detail, "panic: password=[redacted] is wrong (")
		assert.Contains(t, detail, "TestAPanicIsAnAnswerAndALine", "it says where")
		call(t, cs, "raw", `{}`) // the process lives
	})
}

func TestAHandlerThatEndsItsGoroutineLeavesItsLine(t *testing.T) {
	j := new(journal)
	o := everything("raw")
	o.Audit = j
	g, err := policy.New(&o)
	require.NoError(t, err)
	handle := g.Middleware()(func(context.Context, string, mcp.Request) (mcp.Result, error) { runtime.Goexit(); return nil, nil })
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		handle(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "raw"}})
	}()
	<-gone // nobody can answer for it
	assert.Equal(t, "the handler ended its goroutine", j.only(t)["error_detail"])
}

// waiting is a desk with a tool that waits until its call is cancelled.
func waiting() *desk {
	d := newDesk("look")
	d.tool("wait", func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	return d
}

func TestACancelledCallIs408(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		synctest.Test(t, func(t *testing.T) {
			d := waiting()
			_, j := d.behind(t, everything("wait", "look"))
			cs := d.connect(t, era, nil)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
				failed <- err
			}()
			synctest.Wait()
			cancel()
			assert.ErrorIs(t, <-failed, context.Canceled)
			synctest.Wait()
			line := j.only(t)
			assert.Equal(t, []any{"wait", "error", "cancelled: context canceled"}, []any{line["tool"], line["result"], line["error_detail"]})
			assert.False(t, call(t, cs, "look", `{}`).IsError, "the server goes on")
		})
	})
}

func TestAClientThatDisappearsLeavesALine(t *testing.T) {
	each(t, func(t *testing.T, era string) {
		synctest.Test(t, func(t *testing.T) {
			d := waiting()
			_, j := d.behind(t, everything("wait", "look"))
			here, there := mcp.NewInMemoryTransports()
			ss, err := d.server.Connect(t.Context(), there, nil)
			require.NoError(t, err)
			gone := &hangUp{Transport: here}
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), gone, &mcp.ClientSessionOptions{ProtocolVersion: era})
			require.NoError(t, err)
			go cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait"})
			synctest.Wait()
			gone.conn.Close() // the wire is cut in mid-call
			synctest.Wait()
			ss.Wait()
			cs.Close()
			assert.Equal(t, []any{"wait", "error"}, []any{j.only(t)["tool"], j.only(t)["result"]})
			assert.False(t, call(t, d.connect(t, era, nil), "look", `{}`).IsError, "the server goes on")
		})
	})
}

// hangUp lets a test close the wire under a session.
type hangUp struct {
	mcp.Transport
	conn mcp.Connection
}

func (h *hangUp) Connect(ctx context.Context) (_ mcp.Connection, err error) {
	h.conn, err = h.Transport.Connect(ctx)
	return h.conn, err
}

func TestTheTargetIsWhatTheCallSays(t *testing.T) {
	for args, want := range map[string]string{
		`{"id":"x0c0"}`: "x0c0", `{"ID":"x0c0"}`: "x0c0", `{"id":12345678901234567890}`: "12345678901234567890", `{"id":["a","b"]}`: `["a","b"]`,
		`{"id":null}`: "null", `{}`: "", `{"id":"ghp_0123456789abcdef0123"}`: "[redacted]",
	} {
		d := newDesk("look")
		_, j := d.behind(t, policy.Options{Tools: []policy.Tool{{Name: "look", Capability: policy.Read, Target: "id"}}})
		call(t, d.connect(t, newEra, nil), "look", args)
		assert.Equal(t, want, j.only(t)["target"], args)
	}
}
