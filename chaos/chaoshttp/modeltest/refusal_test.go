package modeltest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

func unmarshal(doc string, into any) error { return json.Unmarshal([]byte(doc), into) }

// errorBody is a provider's error. where is the member that it is about.
func errorBody(api string, status int, code, where, text string) string {
	message := text
	if where != "" {
		message = where + ": " + text
	}
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	switch api {
	case "anthropic":
		kind := map[int]string{404: "not_found_error", 413: "request_too_large"}[status]
		return document(obj{"type": "error", "request_id": "req_modeltest", "error": obj{"type": cmp.Or(kind, "invalid_request_error"), "message": message}})
	case "gemini":
		kind := map[int]string{404: "NOT_FOUND"}[status]
		return document(obj{"error": obj{"code": status, "status": cmp.Or(kind, "INVALID_ARGUMENT"), "message": message}})
	case "ollama":
		return document(obj{"error": message})
	}
	return document(obj{"error": obj{"type": "invalid_request_error", "code": orNull(code), "param": orNull(where), "message": message}})
}

// A refused request, the member at fault, and what is said of it.
type refused struct{ why, body, where, text string }

const (
	chatCall     = `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}}]}`
	chatResult   = `{"role":"tool","tool_call_id":"c1","content":"ok"}`
	itemCall     = `{"type":"function_call","call_id":"c1","name":"a","arguments":"{}"}`
	itemResult   = `{"type":"function_call_output","call_id":"c1","output":"ok"}`
	blockCall    = `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"a","input":{}}]}`
	blockResult  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}`
	partCall     = `{"role":"model","parts":[{"functionCall":{"id":"c1","name":"a"}}]}`
	partResult   = `{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"a","response":{}}}]}`
	ollamaCall   = `{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"a","arguments":{}}}]}`
	ollamaResult = `{"role":"tool","tool_call_id":"c1","content":"ok"}`
)

func refusals() map[string][]refused {
	chat := func(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }
	items := func(items string) string { return `{"model":"m","input":[` + items + `]}` }
	blocks := func(messages string) string { return `{"model":"m","max_tokens":9,"messages":[` + messages + `]}` }
	contents := func(contents string) string { return `{"contents":[` + contents + `]}` }
	join := func(parts ...string) string { return strings.Join(parts, ",") }
	const user, text = `{"role":"user","content":"Hi"}`, `{"parts":[{"text":"Hi"}]}`
	tools := func(key, tool string) string {
		ask := map[string]string{"contents": `"contents":[` + text + `]`, "input": `"model":"m","input":"Hi"`,
			"messages": `"model":"m","max_tokens":9,"messages":[` + user + `]`}[key]
		return `{` + ask + `,"tools":[` + tool + `]}`
	}
	fn := func(schema string) string {
		return tools("messages", `{"type":"function","function":{"name":"a","parameters":`+schema+`}}`)
	}
	const (
		badJSON = "the body is no valid JSON: unexpected end of JSON input"
		orphan  = `a tool's result without an open call "c1"`
		alone   = "tool calls without a result: c1"
		twice   = `the ID of a tool call is there again: "c1"`
		noID    = "a tool call without an ID"
		none    = "missing or empty"
		typed   = `the schema of tool "a" has the type %q; allowed: "object"`
	)
	roles := `"robot"; allowed: system, developer, user, assistant`
	return map[string][]refused{
		"chat": {
			{"no JSON", `{`, "", badJSON},
			{"no object", `[]`, "body", "the wrong type: array"},
			{"null", `null`, "body", "no object"},
			{"a wrong type", `{"model":7}`, "model", "the wrong type: number"},
			{"no model", `{"messages":[` + user + `]}`, "model", "missing"},
			{"no messages", `{"model":"m"}`, "messages", none},
			{"an empty list of messages", chat(""), "messages", none},
			{"an unknown role", chat(`{"role":"robot"}`), "messages[0].role", `"robot"; allowed: system, developer, user, assistant, tool`},
			{"a result without its call", chat(join(user, chatResult)), "messages[1]", orphan},
			{"a result twice", chat(join(chatCall, chatResult, chatResult)), "messages[2]", orphan},
			{"a call without its result", chat(chatCall), "messages[0]", alone},
			{"a result that comes late", chat(join(user, chatCall, user, chatResult)), "messages[1]", alone},
			{"a call ID twice", chat(join(chatCall, chatResult, chatCall)), "messages[2]", twice},
			{"a call without ID", chat(`{"role":"assistant","tool_calls":[{"function":{"name":"a"}}]}`), "messages[0]", noID},
			{"arguments that are no text", chat(`{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":{}}}]}`),
				"messages[0].tool_calls[0].function.arguments", "no text"},
			{"a schema that is no object", fn(`{"type":"array"}`), "tools[0].function.parameters", fmt.Sprintf(typed, "array")},
			{"a schema without type", fn(`{}`), "tools[0].function.parameters", fmt.Sprintf(typed, "<nil>")},
			{"a schema that is a text", fn(`"object"`), "tools[0].function.parameters", `tool "a" has no valid schema`},
			{"several answers", `{"model":"m","n":2,"messages":[` + user + `]}`, "n", "2; allowed: 1"},
		},
		"responses": {
			{"no model", `{"input":"Hi"}`, "model", "missing"},
			{"no messages", `{"model":"m"}`, "input", none},
			{"an empty list of items", items(""), "input", none},
			{"nothing but reasoning", items(`{"type":"reasoning"}`), "input", none},
			{"a wrong type", `{"model":"m","input":7}`, "input", "neither a text nor a list of items"},
			{"an unknown role", items(`{"role":"robot","content":"x"}`), "input[0].role", roles},
			{"a result without its call", items(join(user, itemResult)), "input[1]", orphan},
			{"a call without its result", items(join(itemCall, user)), "input[0]", alone},
			{"a schema that is no object", tools("input", `{"type":"function","name":"a","parameters":{"type":"string"}}`),
				"tools[0].parameters", fmt.Sprintf(typed, "string")},
		},
		"anthropic": {
			{"no JSON", `{"a":`, "", badJSON},
			{"a wrong type", `{"model":"m","max_tokens":"9"}`, "max_tokens", "the wrong type: string"},
			{"no model", `{"max_tokens":9,"messages":[` + user + `]}`, "model", "missing"},
			{"no max_tokens", chat(user), "max_tokens", "missing or below 1"},
			{"no messages", blocks(""), "messages", none},
			{"an unknown role", blocks(join(user, `{"role":"system","content":"x"}`)), "messages.1.role",
				`"system"; allowed: user, assistant, with the system's text in system`},
			{"no content", blocks(join(user, `{"role":"assistant","content":[]}`, user)), "messages.1.content", "empty"},
			{"a result without its call", blocks(join(user, blockResult)), "messages.1.content.0", orphan},
			{"a call without its result", blocks(blockCall), "messages.0", alone},
			{"a result behind a text", blocks(join(blockCall, `{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"c1"}]}`)),
				"messages.0", alone},
			{"a call of the user", blocks(`{"role":"user","content":[{"type":"tool_use","id":"c1","name":"a","input":{}}]}`),
				"messages.0.content.0", "a tool_use in a message of the role user"},
			{"a result of the assistant", blocks(`{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"c1"}]}`),
				"messages.0.content.0", "a tool_result in a message of the role assistant"},
			{"a result of another type", blocks(join(blockCall, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":7}]}`)),
				"messages.1.content.0.content", "neither a text nor blocks"},
			{"arguments that are no object", blocks(`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"a","input":"{"}]}`),
				"messages.0.content.0.input", "no object"},
			{"a schema that is no object", tools("messages", `{"name":"a","input_schema":{"type":"string"}}`), "tools.0.input_schema", fmt.Sprintf(typed, "string")},
			{"no schema", tools("messages", `{"name":"a"}`), "tools.0.input_schema", `tool "a" has no valid schema`},
		},
		"gemini": {
			{"a wrong type", `{"contents":{}}`, "contents", "the wrong type: object"},
			{"no messages", `{}`, "contents", none},
			{"no parts", contents(join(text, `{}`)), "contents[1].parts", none},
			{"an unknown role", contents(`{"role":"assistant","parts":[{"text":"x"}]}`), "contents[0].role", `"assistant"; allowed: user, model`},
			{"a result without its call", contents(join(text, partResult)), "contents[1]", orphan},
			{"a call without its result", contents(join(text, partCall)), "contents[1]", alone},
			{"a result that comes late", contents(join(partCall, text, partResult)), "contents[0]", alone},
			{"arguments that are no object", contents(`{"role":"model","parts":[{"functionCall":{"name":"a","args":[1]}}]}`),
				"contents[0].parts[0].functionCall.args", "no object"},
			{"a schema that is no object", tools("contents", `{"function_declarations":[{"name":"b"},{"name":"a","parameters":{"type":"STRING"}}]}`),
				"tools[0].functionDeclarations[1].parameters", fmt.Sprintf(typed, "STRING")},
			{"several answers", `{"contents":[` + text + `],"generationConfig":{"candidateCount":2}}`, "generationConfig.candidateCount", "2; allowed: 1"},
		},
		"ollama": {
			{"no JSON", ``, "", badJSON},
			{"a wrong type", `{"model":"m","messages":[{"role":"user","content":7}]}`, "content", "the wrong type; allowed: a text, or a list of parts"},
			{"an unknown role", chat(`{"role":"robot"}`), "messages[0].role", `"robot"; allowed: system, developer, user, assistant, tool`},
			{"a result without its call", chat(join(user, ollamaResult)), "messages[1]", orphan},
			{"a call without its result", chat(ollamaCall), "messages[0]", alone},
			{"arguments that are no object", chat(`{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}`),
				"messages[0].tool_calls[0].function.arguments", "no object"},
		},
	}
}

// A request that a provider would refuse gets its status and its error, streamed or
// not, and is no error of the test's own model.
func TestRefusals(t *testing.T) {
	m := modeltest.New(t, func(_ context.Context, r modeltest.Request) (answer, error) {
		t.Errorf("the model was asked: %s", r.Body)
		return answer{Text: "x"}, nil
	})
	rows := refusals()
	each(t, func(t *testing.T, d dialect, stream bool) {
		for _, row := range rows[d.api] {
			t.Run(row.why, func(t *testing.T) {
				body := row.body
				if stream && strings.HasPrefix(body, `{"`) && body != `{"a":` {
					body = `{"stream":true,` + body[1:]
				}
				status, kind, got := post(t, m, d.path(stream), body)
				assert.Equal(t, http.StatusBadRequest, status)
				assert.Equal(t, "application/json", kind)
				assert.JSONEq(t, errorBody(d.api, status, "", row.where, row.text), got)
			})
		}
	})
}

// Calls and results that are in order are not refused.
func TestAllowed(t *testing.T) {
	m := modeltest.New(t, func(_ context.Context, r modeltest.Request) (answer, error) {
		if r.Messages[0].Text == "list" {
			return answer{Calls: []call{{Name: "bash", Args: `{"command":"ls"}`}}}, nil
		}
		return answer{Text: "x"}, nil
	})
	for _, tc := range []struct{ why, path, body string }{
		{"no schema at all", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":null}],"tools":[{"type":"function","function":{"name":"a","parameters":null}}]}`},
		{"tools of the provider", "/v1/responses", `{"model":"m","input":"Hi","tools":[{"type":"web_search"}]}`},
		{"tools of the provider", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"bash_20250124","name":"bash"}]}`},
		{"a call of a tool of the provider", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"list"}],"tools":[{"type":"bash_20250124","name":"bash"}]}`},
		{"items between call and result", "/v1/responses", `{"model":"m","input":[` + itemCall + `,{"type":"reasoning"},{"role":"user","content":"x"},` + itemResult + `]}`},
		{"results in several messages", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"a","input":{}},` +
			`{"type":"tool_use","id":"b","name":"a","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"image"}]}]}`},
		{"the beginning of the answer", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":""}]}`},
		{"behind a gateway", "/openai/deployments/x/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`},
	} {
		status, _, body := post(t, m, tc.path, tc.body)
		assert.Equal(t, http.StatusOK, status, "%s: %s", tc.why, body)
	}
}

// Another method or path gets the error of the provider that is likely meant.
func TestPathsAndMethods(t *testing.T) {
	for _, tc := range []struct{ request, version, api string }{
		{"GET /v1/chat/completions", "", "chat"},
		{"DELETE /v1/responses", "", "chat"},
		{"GET /v1/messages", "", "anthropic"},
		{"GET /v1beta/models/m:generateContent", "", "gemini"},
		{"GET /api/chat", "", "ollama"},
		{"POST /v1/embeddings", "", "chat"},
		{"POST /v1/complete", "2023-06-01", "anthropic"},
		{"POST /v1beta/models/m:embedContent", "", "gemini"},
		{"POST /api/embed", "", "ollama"},
	} {
		method, path, _ := strings.Cut(tc.request, " ")
		status, text := http.StatusNotFound, "no such path: "+tc.request
		if method != http.MethodPost {
			status, text = http.StatusMethodNotAllowed, method+" is not allowed; allowed: POST"
		}
		r := httptest.NewRequest(method, path, nil)
		if tc.version != "" {
			r.Header.Set("anthropic-version", tc.version)
		}
		w := httptest.NewRecorder()
		modeltest.New(t, nil).ServeHTTP(w, r)
		assert.Equal(t, status, w.Code, tc.request)
		assert.JSONEq(t, errorBody(tc.api, status, "", "", text), w.Body.String(), tc.request)
	}
}

// A body of more than 32 MiB is refused.
func TestTooLarge(t *testing.T) {
	long := strings.Repeat(" ", 32<<20+1)
	for _, d := range dialects() {
		status, _, body := post(t, modeltest.New(t, nil), d.path(false), long)
		assert.Equal(t, http.StatusRequestEntityTooLarge, status)
		var doc obj
		require.NoError(t, unmarshal(body, &doc))
		assert.NotNil(t, doc["error"])
	}
}

// Whatever a client sends, it gets an answer or the provider's error, the same one
// each time, and the function sees a conversation in order.
func FuzzRequest(f *testing.F) {
	all := dialects()
	for i, d := range all {
		c := conversation{tools: []string{"a"}, messages: []message{{Role: "user", Text: "Hi"}, {Role: "assistant", Calls: []call{{"c1", "a", "{}"}}}, {Role: "tool", CallID: "c1", Text: "{}"}}}
		f.Add(uint(i), true, document(d.ask(c, true)))
		f.Add(uint(i), false, document(d.ask(c, false)))
		for _, row := range refusals()[d.api] {
			f.Add(uint(i), false, row.body)
		}
	}
	f.Fuzz(func(t *testing.T, which uint, stream bool, body string) {
		d := all[which%uint(len(all))]
		var asked *modeltest.Request
		m := modeltest.New(t, func(_ context.Context, r modeltest.Request) (answer, error) {
			asked = &r
			a := answer{Text: "Hello there."}
			for _, tool := range r.Tools {
				a.Calls = append(a.Calls, call{Name: tool.Name})
			}
			return a, nil
		})
		status, _, got := post(t, m, d.path(stream), body)
		again, _, same := post(t, m, d.path(stream), body)
		require.Equal(t, status, again)
		require.Equal(t, got, same)
		if status != http.StatusOK {
			require.Nil(t, asked)
			require.Equal(t, http.StatusBadRequest, status)
			var doc obj
			require.NoError(t, unmarshal(got, &doc))
			require.NotNil(t, doc["error"])
			return
		}
		require.True(t, json.Valid([]byte(body)), "only JSON is answered")
		if !asked.Stream {
			require.True(t, json.Valid([]byte(got)))
		}
		require.True(t, strings.Contains(got, "Hello "))
		requireOrder(t, asked)
	})
}

// requireOrder holds that every call has one result, behind it, and the turn is
// counted from the assistant's messages.
func requireOrder(t *testing.T, r *modeltest.Request) {
	results, turn := map[string]int{}, 1
	for _, m := range r.Messages {
		switch m.Role {
		case "assistant":
			turn++
			for _, c := range m.Calls {
				_, known := results[c.ID]
				require.False(t, known, "ID %q is there twice", c.ID)
				results[c.ID] = 0
			}
		case "tool":
			_, known := results[m.CallID]
			require.True(t, known, "the result %q comes before its call", m.CallID)
			results[m.CallID]++
		default:
			require.Contains(t, []string{"system", "user"}, m.Role)
			require.Empty(t, m.Calls)
		}
	}
	for id, n := range results {
		require.Equal(t, 1, n, id)
	}
	require.Equal(t, turn, r.Turn)
	require.NotEmpty(t, r.Messages)
}
