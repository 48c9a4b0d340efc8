package modeltest_test

import (
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

// errorBody is a provider's error as its reference documents it. code and param are
// OpenAI's; code is Gemini's status too, and Anthropic's type.
func errorBody(api string, status int, code, param, message string) string {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	switch api {
	case "anthropic":
		return document(obj{"type": "error", "request_id": "req_modeltest", "error": obj{"type": or(code, "invalid_request_error"), "message": message}})
	case "gemini":
		return document(obj{"error": obj{"code": status, "status": or(code, "INVALID_ARGUMENT"), "message": message}})
	case "ollama":
		return document(obj{"error": message})
	}
	return document(obj{"error": obj{"type": "invalid_request_error", "code": orNull(code), "param": orNull(param), "message": message}})
}

// A refused request, with the answer of the provider.
type refused struct {
	why, body            string
	code, param, message string
}

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
	const unanswered = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
		"The following tool_call_ids did not have response messages: c1"
	const orphan = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. No such call is open with the id 'c1'."
	const function = "Invalid schema for function 'a': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'."
	const unbalanced = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
	const misplaced = "Please ensure that function response turn comes immediately after a function call turn. " +
		"And the number of function response parts should be equal to number of function call parts of the function call turn."
	const noBlock = "messages.%s: unexpected `tool_use_id` found in `tool_result` blocks: c1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
	const noResult = "messages.0: `tool_use` ids were found without `tool_result` blocks immediately after: c1. " +
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message."
	badJSON := "We could not parse the JSON body of your request: unexpected end of JSON input. The OpenAI API expects a JSON payload, but what was sent was not valid JSON."
	return map[string][]refused{
		"chat": {
			{"no JSON", `{`, "", "", badJSON},
			{"no object", `[]`, "invalid_type", "body", "Invalid type for 'body': got array."},
			{"null", `null`, "invalid_type", "body", "Invalid type for 'body': got no object."},
			{"a wrong type", `{"model":7}`, "invalid_type", "model", "Invalid type for 'model': got number."},
			{"no model", `{"messages":[` + user + `]}`, "missing_required_parameter", "model", "you must provide a model parameter"},
			{"no messages", `{"model":"m"}`, "missing_required_parameter", "messages", "Missing required parameter: 'messages'."},
			{"an empty list of messages", chat(""), "empty_array", "messages",
				"Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."},
			{"an unknown role", chat(`{"role":"robot"}`), "invalid_value", "messages[0].role",
				"Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'."},
			{"a result without its call", chat(join(user, chatResult)), "", "messages.[1].role", orphan},
			{"a result twice", chat(join(chatCall, chatResult, chatResult)), "", "messages.[2].role", orphan},
			{"a call without its result", chat(chatCall), "", "messages.[0].role", unanswered},
			{"a result that comes late", chat(join(user, chatCall, user, chatResult)), "", "messages.[1].role", unanswered},
			{"a call ID twice", chat(join(chatCall, chatResult, chatCall)), "invalid_value", "messages[2].tool_calls[0].id",
				"Duplicate tool call id: 'c1'. Each tool call must have an id of its own."},
			{"a call without ID", chat(`{"role":"assistant","tool_calls":[{"function":{"name":"a"}}]}`), "missing_required_parameter",
				"messages[0].tool_calls[0].id", "Missing required parameter: 'messages[0].tool_calls[0].id'."},
			{"a schema that is no object", `{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"array"}}}]}`,
				"invalid_function_parameters", "tools[0].function.parameters", fmt.Sprintf(function, "array")},
			{"a schema without type", `{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{"name":"a","parameters":{}}}]}`,
				"invalid_function_parameters", "tools[0].function.parameters", fmt.Sprintf(function, "None")},
			{"a schema that is a text", `{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{"name":"a","parameters":"object"}}]}`,
				"invalid_function_parameters", "tools[0].function.parameters", fmt.Sprintf(function, "invalid")},
			{"several answers", `{"model":"m","n":2,"messages":[` + user + `]}`, "unsupported_value", "n", "Unsupported value: 'n' is 2; this model gives 1 answer."},
		},
		"responses": {
			{"no JSON", `{`, "", "", badJSON},
			{"no model", `{"input":"Hi"}`, "missing_required_parameter", "model", "you must provide a model parameter"},
			{"no messages", `{"model":"m"}`, "missing_required_parameter", "input", "Missing required parameter: 'input'."},
			{"an empty list of items", items(""), "missing_required_parameter", "input", "Missing required parameter: 'input'."},
			{"nothing but reasoning", items(`{"type":"reasoning"}`), "missing_required_parameter", "input", "Missing required parameter: 'input'."},
			{"a wrong type", `{"model":"m","input":7}`, "invalid_type", "input", "Invalid type for 'input': got neither a text nor a list of items."},
			{"an unknown role", items(`{"role":"tool","content":"x"}`), "invalid_value", "input[0]",
				"Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'."},
			{"a result without its call", items(join(user, itemResult)), "", "input", "No tool call found for function call output with call_id c1."},
			{"a result twice", items(join(itemCall, itemResult, itemResult)), "", "input", "No tool call found for function call output with call_id c1."},
			{"a call without its result", items(join(itemCall, user)), "", "input", "No tool output found for function call c1."},
			{"a call ID twice", items(join(itemCall, itemCall, itemResult)), "invalid_value", "input[1].call_id",
				"Duplicate call_id: 'c1'. Each function call must have a call_id of its own."},
			{"a call without ID", items(`{"type":"function_call","name":"a"}`), "missing_required_parameter", "input[0].call_id",
				"Missing required parameter: 'input[0].call_id'."},
			{"a schema that is no object", `{"model":"m","input":"Hi","tools":[{"type":"function","name":"a","parameters":{"type":"string"}}]}`,
				"invalid_function_parameters", "tools[0].parameters", fmt.Sprintf(function, "string")},
		},
		"anthropic": {
			{"no JSON", `{"a":`, "", "", "The request body is not valid JSON: unexpected end of JSON input"},
			{"a wrong type", `{"model":"m","max_tokens":"9"}`, "", "", "max_tokens: Input has the wrong type: string"},
			{"no model", `{"max_tokens":9,"messages":[` + user + `]}`, "", "", "model: Field required"},
			{"no max_tokens", chat(user), "", "", "max_tokens: Field required"},
			{"max_tokens of 0", `{"model":"m","max_tokens":0,"messages":[` + user + `]}`, "", "", "max_tokens: Input should be greater than or equal to 1"},
			{"no messages", `{"model":"m","max_tokens":9}`, "", "", "messages: Field required"},
			{"an empty list of messages", blocks(""), "", "", "messages: at least one message is required"},
			{"an unknown role", blocks(`{"role":"robot","content":"x"}`), "", "", "messages.0.role: Input should be 'user' or 'assistant'"},
			{"instructions as a message", blocks(join(user, `{"role":"system","content":"x"}`)), "", "",
				"messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role."},
			{"no content", blocks(join(user, `{"role":"assistant","content":[]}`, user)), "", "",
				"messages.1: all messages must have non-empty content except for the optional final assistant message"},
			{"a result without its call", blocks(join(user, blockResult)), "", "", fmt.Sprintf(noBlock, "1.content.0")},
			{"a call without its result", blocks(blockCall), "", "", noResult},
			{"a result behind a text", blocks(join(blockCall, `{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"c1"}]}`)), "", "", noResult},
			{"a call of the user", blocks(`{"role":"user","content":[{"type":"tool_use","id":"c1","name":"a","input":{}}]}`), "", "",
				"messages.0: `tool_use` blocks can only be in `assistant` messages"},
			{"a result of the assistant", blocks(`{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"c1"}]}`), "", "",
				"messages.0: `tool_result` blocks can only be in `user` messages"},
			{"a result of another type", blocks(join(blockCall, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":7}]}`)), "", "",
				"messages.1.content.0.tool_result.content: Input has the wrong type: neither a text nor blocks"},
			{"arguments that are no object", blocks(`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"a","input":"{"}]}`), "", "",
				"messages.0.content.0.tool_use.input: Input should be a valid dictionary"},
			{"a call ID twice", blocks(join(blockCall, blockResult, blockCall)), "", "", "messages.2.content: `tool_use` ids must be unique, found again: c1"},
			{"a call without ID", blocks(`{"role":"assistant","content":[{"type":"tool_use","name":"a","input":{}}]}`), "", "", "messages.0.content: tool_use.id: Field required"},
			{"a schema that is no object", `{"model":"m","max_tokens":9,"messages":[` + user + `],"tools":[{"name":"a","input_schema":{"type":"string"}}]}`,
				"", "", "tools.0.custom.input_schema.type: Input should be 'object'"},
			{"no schema", `{"model":"m","max_tokens":9,"messages":[` + user + `],"tools":[{"name":"a"}]}`, "", "", "tools.0.custom.input_schema: Field required"},
		},
		"gemini": {
			{"no JSON", `{`, "", "", "Invalid JSON payload received. unexpected end of JSON input"},
			{"a wrong type", `{"contents":{}}`, "", "", "Invalid value at 'contents': object"},
			{"no messages", `{}`, "", "", "* GenerateContentRequest.contents: contents is not specified\n"},
			{"no parts", contents(join(text, `{}`)), "", "", "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n"},
			{"an unknown role", contents(`{"role":"assistant","parts":[{"text":"x"}]}`), "", "", "Please use a valid role: user, model."},
			{"a result without its call", contents(join(text, partResult)), "", "", misplaced},
			{"a call without its result", contents(join(text, partCall)), "", "", unbalanced},
			{"a result that comes late", contents(join(partCall, text, partResult)), "", "", unbalanced},
			{"a call ID twice", contents(join(partCall, partResult, partCall)), "", "",
				`Please ensure that the ids of function calls are unique: contents[2].parts[0] has again "c1".`},
			{"arguments that are no object", contents(`{"role":"model","parts":[{"functionCall":{"name":"a","args":[1]}}]}`), "", "",
				"Invalid value at 'contents[0].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct), [1]"},
			{"a schema that is no object", `{"contents":[` + text + `],"tools":[{"function_declarations":[{"name":"b"},{"name":"a","parameters":{"type":"STRING"}}]}]}`,
				"", "", "* GenerateContentRequest.tools[0].function_declarations[1].parameters.type: must be OBJECT, but is STRING\n"},
			{"several answers", `{"contents":[` + text + `],"generationConfig":{"candidateCount":2}}`, "", "",
				"* GenerateContentRequest.generation_config.candidate_count: 2, only one candidate can be specified for this model\n"},
		},
		"ollama": {
			{"no body", ``, "", "", "missing request body"},
			{"no JSON", `{`, "", "", "unexpected end of JSON input"},
			{"a wrong type", `{"model":"m","messages":[{"role":"user","content":[]}]}`, "", "", "json: cannot unmarshal array into field messages.content"},
			{"no model", `{"messages":[` + user + `]}`, "", "", "model is required"},
			{"no messages", `{"model":"m"}`, "", "", "messages: at least one is required"},
			{"an unknown role", chat(`{"role":"robot"}`), "", "", `messages[0].role: "robot"; allowed: system, user, assistant, tool`},
			{"a result without its call", chat(join(user, ollamaResult)), "", "", `messages[1]: a tool message without an open tool call "c1"`},
			{"a call without its result", chat(ollamaCall), "", "", "messages[0]: tool calls without a tool message: c1"},
			{"a call ID twice", chat(join(ollamaCall, ollamaResult, ollamaCall)), "", "", `messages[2].tool_calls[0].id: "c1" is not unique`},
			{"arguments that are no object", chat(`{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}`), "", "",
				`messages[0].tool_calls[0].function.arguments: "{}"; allowed: an object`},
			{"a schema that is no object", `{"model":"m","messages":[` + user + `],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"integer"}}}]}`,
				"", "", `tools[0].function.parameters.type: "integer"; allowed: "object"`},
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
				assert.JSONEq(t, errorBody(d.api, status, row.code, row.param, row.message), got)
			})
		}
	})
	for _, needed := range []string{"no JSON", "no messages", "an unknown role", "a result without its call", "a call without its result", "a call ID twice", "a schema that is no object"} {
		for api, list := range rows {
			found := false
			for _, row := range list {
				found = found || row.why == needed
			}
			assert.True(t, found, "%s: %s", api, needed)
		}
	}
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
	for _, tc := range []struct {
		method, path, version string
		status                int
		want                  string
	}{
		{"GET", "/v1/chat/completions", "", 405, errorBody("chat", 405, "method_not_supported", "", "Not allowed to GET on /v1/chat/completions.")},
		{"DELETE", "/v1/responses", "", 405, errorBody("chat", 405, "method_not_supported", "", "Not allowed to DELETE on /v1/responses.")},
		{"GET", "/v1/messages", "", 405, errorBody("anthropic", 405, "", "", "Method Not Allowed")},
		{"GET", "/v1beta/models/m:generateContent", "", 404, errorBody("gemini", 404, "NOT_FOUND", "", "The requested URL was not found on this server: GET /v1beta/models/m:generateContent")},
		{"GET", "/api/chat", "", 405, "405 method not allowed"},
		{"POST", "/v1/embeddings", "", 404, errorBody("chat", 404, "", "", "Invalid URL (POST /v1/embeddings)")},
		{"POST", "/", "", 404, errorBody("chat", 404, "", "", "Invalid URL (POST /)")},
		{"POST", "/v1/complete", "2023-06-01", 404, errorBody("anthropic", 404, "not_found_error", "", "Not Found")},
		{"POST", "/v1beta/models/m:embedContent", "", 404, errorBody("gemini", 404, "NOT_FOUND", "", "The requested URL was not found on this server: POST /v1beta/models/m:embedContent")},
		{"POST", "/api/embed", "", 404, "404 page not found"},
	} {
		r := httptest.NewRequest(tc.method, tc.path, nil)
		if tc.version != "" {
			r.Header.Set("anthropic-version", tc.version)
		}
		w := httptest.NewRecorder()
		modeltest.New(t, nil).ServeHTTP(w, r)
		assert.Equal(t, tc.status, w.Code, tc.path)
		if strings.HasPrefix(tc.want, "{") {
			assert.JSONEq(t, tc.want, w.Body.String(), tc.path)
		} else {
			assert.Equal(t, tc.want, w.Body.String(), tc.path)
		}
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
