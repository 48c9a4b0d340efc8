package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// foreign is any server of another author: the answers of its tools by name.
func foreign(answers map[string]mcp.ToolHandler) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "foreign", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	for name, handler := range answers {
		s.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
	}
	return s
}

func gives(res *mcp.CallToolResult, err error) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, err }
}

func text(s string) mcp.Content { return &mcp.TextContent{Text: s} }

func blocks(list ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: list} }

// over connects a client to a server in memory.
func over(t testing.TB, s *mcp.Server) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	_, err := s.Connect(context.Background(), there, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestResultsAsJSON(t *testing.T) {
	for _, tc := range []struct {
		why  string
		res  *mcp.CallToolResult
		want string
	}{
		{"structured content goes before its text", &mcp.CallToolResult{Content: []mcp.Content{text("7 degrees")}, StructuredContent: map[string]any{"t": 7}}, `{"t":7}`},
		{"its text spells its numbers", &mcp.CallToolResult{Content: []mcp.Content{text(`{"wei":999999999999999999,"t":[1.0]}`)}, StructuredContent: json.RawMessage(`{"t":[1],"wei":999999999999999999}`)}, `{"wei":999999999999999999,"t":[1.0]}`},
		{"a text of another value does not", &mcp.CallToolResult{Content: []mcp.Content{text(`{"wei":7}`)}, StructuredContent: json.RawMessage(`{"wei":999999999999999999}`)}, `{"wei":1000000000000000000}`},
		{"structured content may be a plain value", &mcp.CallToolResult{StructuredContent: []int{1, 2}}, `[1,2]`},
		{"one text is a string", blocks(text("7 degrees")), `"7 degrees"`},
		{"one text that is an object is that object", blocks(text(` {"order": 7} `)), `{"order":7}`},
		{"and so is an array", blocks(text(`[]`)), `[]`},
		{"a number in a text stays text", blocks(text("42")), `"42"`},
		{"null in a text stays text", blocks(text("null")), `"null"`},
		{"what only looks like JSON is text", blocks(text("{cut")), `"{cut"`},
		{"nothing is null", blocks(), `null`},
		{"two texts are blocks", blocks(text("a"), text("b")), `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		{"an image is a block", blocks(&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}), `[{"type":"image","mimeType":"image/png","data":"cG5n"}]`},
		{"and so is a resource", blocks(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a://b", Text: "c"}}),
			`[{"type":"resource","resource":{"uri":"a://b","text":"c"}}]`},
		{"and a link", blocks(&mcp.ResourceLink{URI: "a://b", Name: "c"}), `[{"type":"resource_link","uri":"a://b","name":"c"}]`},
	} {
		t.Run(tc.why, func(t *testing.T) {
			out, err := Registry(over(t, foreign(map[string]mcp.ToolHandler{"tool": gives(tc.res, nil)}))).CallTool(t.Context(), "tool", nil)
			require.NoError(t, err)
			assert.JSONEq(t, tc.want, string(out))
			if strings.Contains(tc.want, "wei") {
				assert.Equal(t, tc.want, string(out), "JSONEq does not see each digit")
			}
		})
	}
}

func TestFailuresOfTools(t *testing.T) {
	failed := func(structured any, list ...mcp.Content) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: list, StructuredContent: structured}
	}
	for _, tc := range []struct {
		why     string
		handler mcp.ToolHandler
		text    string
		check   func(*testing.T, *ToolError)
	}{
		{"texts are what the model reads", gives(failed(nil, text("no such order"), text("try another")), nil), "no such order\ntry another", nil},
		{"structured content is kept", gives(failed(map[string]any{"a": 1}), nil), `{"a":1}`, func(t *testing.T, e *ToolError) {
			assert.JSONEq(t, `{"a":1}`, string(e.Structured))
		}},
		{"nothing said is said", gives(failed(nil), nil), `tool "tool" failed and did not say why`, nil},
		{"an envelope of another failure", gives(failed(nil, text(`{"status":409,"code":"busy","detail":"unknown tool tool","hint":"wait"}`)), nil), "", func(t *testing.T, e *ToolError) {
			var p policy.Error
			require.NoError(t, json.Unmarshal([]byte(e.Error()), &p))
			assert.Equal(t, policy.Error{Status: 409, Code: "busy", Detail: "unknown tool tool", Hint: "wait"}, p)
		}},
		{"an envelope beside words", gives(failed(nil, text("unknown tool tool"), text(`{"status":400,"code":"invalid_arguments","detail":"d","hint":"h"}`)), nil), "", nil},
		{"an error of the protocol", gives(nil, &jsonrpc.Error{Code: -32050, Message: "denied", Data: json.RawMessage(`{"status":403,"code":"read_only","detail":"d","hint":"h"}`)}), "denied",
			func(t *testing.T, e *ToolError) {
				assert.EqualValues(t, -32050, e.Code)
				var wire *jsonrpc.Error
				assert.ErrorAs(t, e, &wire)
			}},
		{"a tool that found nothing is not unknown", gives(failed(nil, text("tool: order 7 not found")), nil), "tool: order 7 not found", nil},
	} {
		t.Run(tc.why, func(t *testing.T) {
			out, err := Registry(over(t, foreign(map[string]mcp.ToolHandler{"tool": tc.handler}))).CallTool(t.Context(), "tool", json.RawMessage(`{}`))
			var failure *ToolError
			require.ErrorAs(t, err, &failure)
			assert.Nil(t, out)
			assert.Equal(t, "tool", failure.Tool)
			assert.NotErrorIs(t, err, chaos.ErrUnknownTool)
			if tc.text != "" {
				assert.EqualError(t, err, tc.text)
			}
			if tc.check != nil {
				tc.check(t, failure)
			}
		})
	}
}

func TestUnknownTools(t *testing.T) {
	said := gives(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("MCP error -32602: Tool said not found")}}, nil)
	r := Registry(over(t, foreign(map[string]mcp.ToolHandler{"said": said})))
	for _, name := range []string{"nowhere", "said"} {
		_, err := r.CallTool(t.Context(), name, nil)
		assert.ErrorIs(t, err, chaos.ErrUnknownTool, "in the words of the SDK for Go, and of that for TypeScript")
	}
}

func TestListingEveryPage(t *testing.T) {
	s := foreign(nil)
	for i, a := range []*mcp.ToolAnnotations{nil, {ReadOnlyHint: true}, {IdempotentHint: true}, {DestructiveHint: new(false)}, {}} {
		s.AddTool(&mcp.Tool{Name: "t" + strconv.Itoa(i), Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: a}, gives(blocks(), nil))
	}
	tools, err := Registry(over(t, s)).Tools(t.Context())
	require.NoError(t, err)
	var effects []chaos.Effect
	for i, tool := range tools {
		assert.Equal(t, "t"+strconv.Itoa(i), tool.Name)
		assert.Equal(t, "d", tool.Description)
		assert.JSONEq(t, `{"type":"object"}`, string(tool.InputSchema))
		effects = append(effects, tool.Effect)
	}
	assert.Equal(t, []chaos.Effect{"", chaos.EffectNone, chaos.EffectDone, chaos.EffectDone, ""}, effects)
}

func TestCursorsThatNeverEnd(t *testing.T) {
	s := foreign(map[string]mcp.ToolHandler{"tool": gives(blocks(), nil)})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if list, ok := req.(*mcp.ListToolsRequest); ok {
				list.Params.Cursor = ""
				res, err := next(ctx, method, req)
				res.(*mcp.ListToolsResult).NextCursor = "again"
				return res, err
			}
			return next(ctx, method, req)
		}
	})
	_, err := Registry(over(t, s)).Tools(t.Context())
	assert.EqualError(t, err, `client: tools/list: the server gave the cursor "again" twice`)
}

func TestArgumentsThatAreNoObject(t *testing.T) {
	r := Registry(over(t, foreign(map[string]mcp.ToolHandler{"tool": gives(blocks(text("ok")), nil)})))
	for _, args := range []string{`[]`, `7`, `"x"`, `{`} {
		_, err := r.CallTool(t.Context(), "tool", json.RawMessage(args))
		var wrong *chaos.ArgumentError
		assert.ErrorAs(t, err, &wrong, args)
	}
	for _, args := range []string{``, ` null`, `{}`} {
		_, err := r.CallTool(t.Context(), "tool", json.RawMessage(args))
		assert.NoError(t, err, args)
	}
}

func TestCancellationReachesTheServer(t *testing.T) {
	ended := make(chan error, 1)
	started := make(chan struct{})
	r := Registry(over(t, foreign(map[string]mcp.ToolHandler{"wait": func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}})))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err := r.CallTool(ctx, "wait", nil)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Error(t, <-ended)
}

func TestASessionThatIsClosed(t *testing.T) {
	session := over(t, foreign(nil))
	require.NoError(t, session.Close())
	for _, r := range []chaos.ToolRegistry{Registry(session), Registry(nil)} {
		_, err := r.CallTool(t.Context(), "tool", nil)
		_, listErr := r.Tools(t.Context())
		for _, err := range []error{err, listErr} {
			var end *SessionError
			require.ErrorAs(t, err, &end)
			assert.True(t, end.Closed)
			assert.ErrorContains(t, err, "connect anew")
		}
	}
}

// A server that answers 503 fails one call; one that answers 401 ends the
// session, which a later call finds out.
func TestFailuresOfHTTP(t *testing.T) {
	var status atomic.Int32
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return foreign(map[string]mcp.ToolHandler{"tool": gives(blocks(text("ok")), nil)})
	}, &mcp.StreamableHTTPOptions{JSONResponse: true, Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := status.Swap(0); code != 0 {
			w.WriteHeader(int(code))
			return
		}
		serve.ServeHTTP(w, r)
	}))
	defer web.Close()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: web.URL, HTTPClient: web.Client(), MaxRetries: -1, DisableStandaloneSSE: true}, nil)
	require.NoError(t, err)
	call := func() error { _, err := Registry(session).CallTool(t.Context(), "tool", nil); return err }
	require.NoError(t, call())

	status.Store(http.StatusServiceUnavailable)
	var end *SessionError
	require.ErrorAs(t, call(), &end)
	assert.False(t, end.Closed)
	require.NoError(t, call())

	status.Store(http.StatusUnauthorized)
	require.ErrorAs(t, call(), &end)
	require.ErrorAs(t, call(), &end)
	assert.True(t, end.Closed)
	_ = session.Close()
}

// Claims are what the annotations say, and nothing that they leave out.
func TestClaims(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for name, hints := range map[string]*mcp.ToolAnnotations{"silent": nil, "reads": {ReadOnlyHint: true},
		"sets": {IdempotentHint: true, DestructiveHint: new(false)}, "erases": {DestructiveHint: new(true)}} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Annotations: hints},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	session := over(t, s)
	claims, err := Claims(t.Context(), session)
	require.NoError(t, err)
	assert.Equal(t, map[string]audit.Claims{"reads": {ReadOnly: new(true)}, "sets": {Idempotent: new(true), Destructive: new(false)},
		"erases": {Destructive: new(true)}}, claims)
	_, err = Claims(t.Context(), nil)
	assert.ErrorContains(t, err, "there is no session")
}

// Whatever a failure contains, reading it neither panics nor hides its text.
func FuzzToolError(f *testing.F) {
	for _, doc := range []string{`{"status":409,"code":"busy","detail":"d","hint":"h"}`, `{"type":"about:blank","title":"t","status":"x"}`, `{"problem":{"problem":{}}}`,
		`{"status":1e9,"code":7,"detail":[]}`, `null`, `[`, ``} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		err := errorResult("tool", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: doc}}})
		if doc != "" {
			assert.Equal(t, doc, err.Error())
		}
		assert.NotEmpty(t, err.Error())
		_ = err.Is(chaos.ErrUnknownTool)
	})
}
