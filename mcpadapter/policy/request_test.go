//lint:file-ignore SA1019 log messages are deprecated, and what the runners that follow faults listen to

package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/golden"
	"github.com/shakedown-go/shakedown/mcpadapter/client"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// subscribes refuses a URI that says so, and panics on another.
func subscribes(_ context.Context, req *mcp.SubscribeRequest) error {
	switch req.Params.URI {
	case "books://lent":
		return errors.New("the book is lent")
	case "books://torn":
		panic("no pages")
	}
	return nil
}

// library is a desk that also has resources and a prompt.
func library(tools ...string) *desk {
	d := newDesk()
	d.server = mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   subscribes,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		},
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}},
	})
	for _, name := range tools {
		d.tool(name, fine)
	}
	for i := range 5 {
		uri := fmt.Sprint("books://open/", i)
		if i == 4 {
			uri = "books://locked/4"
		}
		d.server.AddResource(&mcp.Resource{URI: uri, Name: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: "once"}}}, nil
		})
	}
	d.server.AddResource(&mcp.Resource{URI: "books://torn", Name: "torn"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		panic("no pages")
	})
	d.server.AddPrompt(&mcp.Prompt{Name: "summary"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
	})
	return d
}

func read(t testing.TB, cs *mcp.ClientSession, uri string) error {
	_, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	return err
}

// refusedAs is the envelope of a request that the gate refused.
func refusedAs(t testing.TB, err error) (e policy.Error) {
	t.Helper()
	var wire *jsonrpc.Error
	require.True(t, errors.As(err, &wire), "%v", err)
	require.NoError(t, json.Unmarshal(wire.Data, &e), "%v: %s", err, wire.Data)
	return e
}

func libraryPolicy(scopes ...string) policy.Options {
	return policy.Options{Local: &policy.Caller{Subject: "ann", Scopes: scopes}, Requests: []policy.Request{
		{Method: "resources/list"},
		{Method: "resources/{read,subscribe}", Name: "books://open/*", Scopes: []string{"books:read"}},
		{Method: "resources/read", Name: "books://locked/*", Scopes: []string{"books:read", "vault"}},
	}}
}

// Which request passes for which scopes: the first rule that fits decides, and
// what has none needs the scope of readers.
func TestRequestsNeedScopes(t *testing.T) {
	requests := []struct {
		name string
		try  func(cs *mcp.ClientSession) error
	}{
		{"list", func(cs *mcp.ClientSession) error { _, err := cs.ListResources(t.Context(), nil); return err }},
		{"open", func(cs *mcp.ClientSession) error { return read(t, cs, "books://open/1") }},
		{"locked", func(cs *mcp.ClientSession) error { return read(t, cs, "books://locked/4") }},
		{"unknown", func(cs *mcp.ClientSession) error { return read(t, cs, "BOOKS://open/1") }},
		{"templates", func(cs *mcp.ClientSession) error { _, err := cs.ListResourceTemplates(t.Context(), nil); return err }},
		{"prompt", func(cs *mcp.ClientSession) error {
			_, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "summary"})
			return err
		}},
		{"completion", func(cs *mcp.ClientSession) error {
			_, err := cs.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "summary"}, Argument: mcp.CompleteParamsArgument{Name: "a", Value: "b"}})
			return err
		}},
		{"subscribe", func(cs *mcp.ClientSession) error {
			return cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "books://open/1"})
		}},
		{"subscribe locked", func(cs *mcp.ClientSession) error {
			return cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "books://locked/4"})
		}},
		{"level", func(cs *mcp.ClientSession) error {
			return cs.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"})
		}},
	}
	for _, tc := range []struct {
		scopes []string
		passes []string
		why    string
	}{
		{[]string{}, nil, "a caller without scopes reads nothing, not even what any scope is enough for"},
		{[]string{"other"}, []string{"list"}, "any scope"},
		{[]string{"books:read"}, []string{"list", "open", "subscribe"}, "all scopes of a rule are needed"},
		{[]string{"books:read", "vault"}, []string{"list", "open", "locked", "subscribe"}, "a rule for reading is none for subscribing"},
		{[]string{policy.ScopeRead}, []string{"list", "unknown", "templates", "prompt", "completion", "subscribe locked", "level"}, "what has no rule"},
		{[]string{policy.ScopeAdmin}, []string{"list", "open", "locked", "unknown", "templates", "prompt", "completion", "subscribe", "subscribe locked", "level"}, "admin"},
	} {
		d := library()
		_, j := d.behind(t, libraryPolicy(tc.scopes...))
		cs := d.connect(t, oldEra, nil)
		var passes []string
		for _, r := range requests {
			err := r.try(cs)
			var wire *jsonrpc.Error
			if err != nil && errors.As(err, &wire) && wire.Code == -32010 {
				assert.Equal(t, []any{403, policy.CodeMissingScope}, []any{refusedAs(t, err).Status, refusedAs(t, err).Code}, r.name)
				continue
			}
			passes = append(passes, r.name)
		}
		assert.Equal(t, tc.passes, passes, "%v: %s", tc.scopes, tc.why)
		lines := j.lines(t)
		require.Len(t, lines, len(requests), "one line each")
		for _, line := range lines {
			assert.Equal(t, []any{"mcp.request.completed", "ann"}, []any{line["event"], line["caller_subject"]})
		}
		assert.Equal(t, []any{"resources/read", "books://open/1"}, []any{lines[1]["method"], lines[1]["target"]})
	}
}

// The newer protocol subscribes by one request that stays open: each resource in
// it needs what subscribing to it needs.
func TestListeningNeedsTheScopesOfWhatItFollows(t *testing.T) {
	o := libraryPolicy("books:read")
	o.Requests = append(o.Requests, policy.Request{Method: "subscriptions/listen"})
	d := library()
	_, j := d.behind(t, o)
	cs := d.connect(t, newEra, nil)
	require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "books://open/1"}))
	_ = cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "books://locked/4"}) // the client does not wait for the answer
	for {
		for _, line := range j.lines(t) {
			if line["method"] == "subscriptions/listen" && line["result"] == "error" {
				assert.Contains(t, line["error_detail"], "mcp:read")
				assert.Contains(t, line["target"], "books://locked/4")
				return
			}
		}
		runtime.Gosched()
	}
}

func TestRequestsHaveRates(t *testing.T) {
	o := libraryPolicy(policy.ScopeAdmin)
	o.Limit, o.SessionLimit = &policy.Limit{Budget: 4}, &policy.Limit{Budget: 3}
	d := library()
	d.behind(t, o)
	cs := d.connect(t, newEra, nil)
	for range 3 {
		require.NoError(t, read(t, cs, "books://open/1"))
	}
	e := refusedAs(t, read(t, cs, "books://open/3"))
	assert.Equal(t, []any{429, "resources/read: the budget of 3 calls of this caller is used up"}, []any{e.Status, e.Detail})
	again := d.connect(t, oldEra, nil)
	for range 3 {
		_, err := again.ListPrompts(t.Context(), nil)
		require.NoError(t, err)
	}
	_, err := again.ListPrompts(t.Context(), nil)
	assert.Equal(t, "prompts/list: the budget of 3 calls of this caller is used up", refusedAs(t, err).Detail, "the limit of the options is one for each method")
}

func TestAPanicOfAResourceIsItsError(t *testing.T) {
	d := library()
	_, j := d.behind(t, policy.Options{})
	cs := d.connect(t, oldEra, nil)
	assert.ErrorContains(t, read(t, cs, "books://torn"), "failed inside the server")
	line := j.only(t)
	assert.Equal(t, []any{"resources/read", "books://torn", "error"}, []any{line["method"], line["target"], line["result"]})
	assert.Contains(t, line["error_detail"], "no pages")
	assert.NoError(t, read(t, cs, "books://open/1"), "the server goes on")
}

// Over HTTP the subscriptions of callers are counted until their session ends.
func TestSubscriptionsAreBounded(t *testing.T) {
	t.Run("streamable", func(t *testing.T) {
		boundedSubscriptions(t, func(s *mcp.Server) http.Handler { return bothEras(s) }, func(url, token string) mcp.Transport { return streamable(url, token) })
	})
	t.Run("server-sent events", func(t *testing.T) {
		boundedSubscriptions(t, func(s *mcp.Server) http.Handler {
			return mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
		},
			func(url, token string) mcp.Transport {
				return &mcp.SSEClientTransport{Endpoint: url, HTTPClient: client.WithToken(nil, url, token)}
			})
	})
}

func boundedSubscriptions(t *testing.T, handler func(*mcp.Server) http.Handler, transport func(url, token string) mcp.Transport) {
	o := twoTokens()
	o.Tokens[1].Scopes = []string{policy.ScopeRead}
	d := library()
	g, j := d.behind(t, policy.Options{Tokens: o.Tokens, MaxSubscriptions: 4, MaxCallerSubscriptions: 2})
	h, err := g.HTTPHandler(handler(d.server), nil)
	require.NoError(t, err)
	url := served(t, h)
	cs := dial(t, transport(url, adminToken), oldEra, nil)
	for range 3 { // more than there may be
		require.ErrorContains(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "books://lent"}), "lent")
		require.ErrorContains(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "books://torn"}), "failed inside the server")
	}
	_, subscriptions := g.Held()
	assert.Zero(t, subscriptions, "what the server refuses is no subscription")
	subscribe := func(cs *mcp.ClientSession, n int) error {
		return cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: fmt.Sprint("books://open/", n)})
	}
	require.NoError(t, subscribe(cs, 0))
	require.NoError(t, subscribe(cs, 0), "twice the same is one")
	require.NoError(t, subscribe(cs, 1))
	e := refusedAs(t, subscribe(cs, 2))
	assert.Equal(t, []any{429, "this caller holds 2 subscriptions, the most there may be"}, []any{e.Status, e.Detail})
	second := dial(t, transport(url, adminToken), oldEra, nil)
	assert.Error(t, subscribe(second, 0), "another session of the same caller")
	require.NoError(t, cs.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "books://open/0"}))
	require.NoError(t, subscribe(second, 0))
	reader := dial(t, transport(url, readerToken), oldEra, nil)
	require.NoError(t, subscribe(reader, 0), "another caller has its own")
	require.NoError(t, cs.Close())
	for subscribe(second, 3) != nil { // until the server has seen the session end
		continue
	}
	sessions := make(map[any]bool)
	for _, line := range j.lines(t) {
		sessions[line["session_id"]] = true
	}
	assert.NotContains(t, sessions, "", "each line names its session")
	assert.Len(t, sessions, 3, "by a label of its own")
}

func TestUnlimitedTools(t *testing.T) {
	o := policy.Options{Mode: policy.ReadWrite, EnableWrite: true, Limit: &policy.Limit{Budget: 1}, SessionLimit: &policy.Limit{Budget: 1},
		Tools:   []policy.Tool{{Name: "stop", Scopes: []string{"faults:write"}, Unlimited: true}, {Name: "start", Scopes: []string{"faults:write"}}},
		Confirm: []policy.Confirm{{Tool: "*"}}, Local: &policy.Caller{Subject: "ann", Scopes: []string{"faults:write"}}}
	d := newDesk("stop", "start")
	_, j := d.behind(t, o)
	cs := d.connect(t, newEra, nil)
	assert.Equal(t, policy.CodeConfirmationRequired, envelope(t, call(t, cs, "start", `{}`)).Code)
	for range 5 {
		assert.False(t, call(t, cs, "stop", `{}`).IsError, "neither confirmation nor limits")
	}
	assert.Len(t, j.lines(t), 6)
	list, err := cs.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range list.Tools {
		text, err := json.Marshal(tool.InputSchema)
		require.NoError(t, err)
		assert.Equal(t, tool.Name == "start", json.Valid(text) && containsConfirm(text), tool.Name)
	}
	for _, wrong := range []struct {
		change func(*policy.Options)
		code   string
	}{
		{func(o *policy.Options) { o.Mode, o.EnableWrite = policy.ReadOnly, false }, policy.CodeReadOnly},
		{func(o *policy.Options) { o.Local = &policy.Caller{Subject: "bob", Scopes: []string{"faults:read"}} }, policy.CodeMissingScope},
	} {
		o := o
		wrong.change(&o)
		d := newDesk("stop", "start")
		d.behind(t, o)
		assert.Equal(t, wrong.code, envelope(t, call(t, d.connect(t, oldEra, nil), "stop", `{}`)).Code, "mode and scopes hold")
	}
	// A tool that makes things safe works even while the audit log fails.
	failing := o
	failing.Audit = writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe })
	g, err := policy.New(&failing)
	require.NoError(t, err)
	d = newDesk("stop", "start")
	d.server.AddReceivingMiddleware(g.Middleware())
	cs = d.connect(t, oldEra, nil)
	assert.False(t, call(t, cs, "stop", `{}`).IsError)
	assert.Equal(t, policy.CodeAuditUnavailable, envelope(t, call(t, cs, "start", `{"confirm":true}`)).Code)
	assert.Equal(t, []string{"stop {}"}, d.reached())
	lost, err := g.AuditHealth()
	assert.ErrorIs(t, err, io.ErrClosedPipe)
	assert.EqualValues(t, 4, lost)
	_, err = policy.New(&policy.Options{Tools: []policy.Tool{{Name: "stop", Unlimited: true, Limit: &policy.Limit{Budget: 1}}}})
	assert.ErrorContains(t, err, "Unlimited")
}

func containsConfirm(schema []byte) bool {
	var s struct {
		Properties map[string]any `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s)
	return s.Properties["confirm"] != nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Arguments that the tool refuses use up no rate, and no budget.
func TestRefusedArgumentsUseUpNothing(t *testing.T) {
	o := policy.Options{Tools: []policy.Tool{{Name: "look", Capability: policy.Read, Limit: &policy.Limit{Budget: 1, PerSecond: 0.001}}, {Name: "typed", Capability: policy.Read, SessionLimit: &policy.Limit{Budget: 1}}}}
	d := newDesk()
	d.tool("look", func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
		if string(args) != `{}` {
			return nil, &policy.Error{Status: 400, Code: policy.CodeInvalidArguments, Detail: "x"}
		}
		return fine(t.Context(), args)
	})
	mcp.AddTool(d.server, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, struct{ N int }) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	d.behind(t, o)
	cs := d.connect(t, newEra, nil)
	for tool, wrong := range map[string]string{"look": `{"wrong":1}`, "typed": `{"N":"x"}`} {
		for range 5 {
			assert.Equal(t, policy.CodeInvalidArguments, envelope(t, call(t, cs, tool, wrong)).Code, tool)
		}
		good := map[string]string{"look": `{}`, "typed": `{"N":1}`}[tool]
		assert.False(t, call(t, cs, tool, good).IsError, tool)
		assert.Equal(t, 429, envelope(t, call(t, cs, tool, wrong)).Status, "%s: now it is used up", tool)
	}
}

// A refusal has structured output where the table says which.
func TestRefusalsInTheFormOfTheTool(t *testing.T) {
	o := policy.Options{Tools: []policy.Tool{{Name: "plain"}, {Name: "own", Failure: func(args json.RawMessage, e *policy.Error) any {
		return map[string]any{"status": "error", "problem": e, "args": string(args)}
	}}}}
	each(t, func(t *testing.T, era string) {
		d := newDesk("plain", "own")
		d.behind(t, o)
		cs := d.connect(t, era, nil)
		assert.Nil(t, call(t, cs, "plain", `{}`).StructuredContent, "a client would hold it against the output schema")
		res := call(t, cs, "own", `{"a":1}`)
		assert.Equal(t, http.StatusForbidden, envelope(t, res).Status)
		out, ok := res.StructuredContent.(map[string]any)
		require.True(t, ok)
		assert.Equal(t, []any{"error", `{"a":1}`}, []any{out["status"], out["args"]})
		assert.Equal(t, "read_only", out["problem"].(map[string]any)["code"])
	})
}

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
