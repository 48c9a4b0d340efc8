package modeltest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

type obj = map[string]any

// A dialect is a provider as its clients know it: how a conversation is asked, and
// what an answer says. It is written from the providers' references, apart from the
// package under test.
type dialect struct {
	api   string
	path  func(stream bool) string
	ask   func(c conversation, stream bool) obj
	whole func(doc obj) said
	// piece adds what one event, line or element of a stream says.
	piece func(s *said, doc obj)
}

// A conversation is what a client asks.
type conversation struct {
	messages []modeltest.Message
	tools    []string
}

// said is what a client makes of an answer.
type said struct {
	id, text, reason string
	calls            []modeltest.Call
	in, out          int
}

func dialects() []dialect {
	always := func(path string) func(bool) string { return func(bool) string { return path } }
	return []dialect{
		{"chat", always("/v1/chat/completions"), askChat, wholeChat, pieceChat},
		{"responses", always("/v1/responses"), askResponses, wholeResponses, pieceResponses},
		{"anthropic", always("/v1/messages"), askAnthropic, wholeAnthropic, pieceAnthropic},
		{"gemini", func(stream bool) string {
			if stream {
				return "/v1beta/models/m-1:streamGenerateContent?alt=sse"
			}
			return "/v1beta/models/m-1:generateContent"
		}, askGemini, wholeGemini, func(s *said, doc obj) { s.add(wholeGemini(doc)) }},
		{"ollama", always("/api/chat"), askOllama, wholeOllama, func(s *said, doc obj) { s.add(wholeOllama(doc)) }},
	}
}

func schema() obj { return obj{"type": "object", "properties": obj{"n": obj{"type": "integer"}}} }

func raw(doc string) json.RawMessage { return json.RawMessage(doc) }

func list(n int, element func(i int) any) []any {
	all := []any{}
	for i := range n {
		all = append(all, element(i))
	}
	return all
}

func askChat(c conversation, stream bool) obj {
	return obj{"model": "m-1", "stream": stream, "stream_options": obj{"include_usage": true},
		"messages": list(len(c.messages), func(i int) any {
			m := c.messages[i]
			doc := obj{"role": m.Role, "content": m.Text}
			if m.Role == "tool" {
				doc["tool_call_id"] = m.CallID
			}
			if len(m.Calls) > 0 {
				doc["tool_calls"] = list(len(m.Calls), func(j int) any {
					return obj{"id": m.Calls[j].ID, "type": "function", "function": obj{"name": m.Calls[j].Name, "arguments": m.Calls[j].Args}}
				})
			}
			return doc
		}),
		"tools": list(len(c.tools), func(i int) any {
			return obj{"type": "function", "function": obj{"name": c.tools[i], "description": "It works.", "parameters": schema()}}
		})}
}

func askResponses(c conversation, stream bool) obj {
	items := []any{}
	for _, m := range c.messages {
		switch {
		case m.Role == "tool":
			items = append(items, obj{"type": "function_call_output", "call_id": m.CallID, "output": m.Text})
		case m.Role == "assistant":
			if m.Text != "" {
				items = append(items, obj{"type": "message", "role": m.Role, "content": []any{obj{"type": "output_text", "text": m.Text}}})
			}
			for _, call := range m.Calls {
				items = append(items, obj{"type": "function_call", "call_id": call.ID, "name": call.Name, "arguments": call.Args})
			}
		default:
			items = append(items, obj{"role": m.Role, "content": m.Text})
		}
	}
	return obj{"model": "m-1", "stream": stream, "input": items, "tools": list(len(c.tools), func(i int) any {
		return obj{"type": "function", "name": c.tools[i], "description": "It works.", "parameters": schema()}
	})}
}

func askAnthropic(c conversation, stream bool) obj {
	doc := obj{"model": "m-1", "max_tokens": 100, "stream": stream, "tools": list(len(c.tools), func(i int) any {
		return obj{"name": c.tools[i], "description": "It works.", "input_schema": schema()}
	})}
	var messages []obj
	for _, m := range c.messages {
		switch m.Role {
		case "system":
			doc["system"] = m.Text
		case "tool":
			result := obj{"type": "tool_result", "tool_use_id": m.CallID, "content": []any{obj{"type": "text", "text": m.Text}}}
			if last := messages[len(messages)-1]; last["results"] != nil {
				last["content"] = append(last["content"].([]any), result)
			} else {
				messages = append(messages, obj{"role": "user", "content": []any{result}, "results": true})
			}
		case "assistant":
			content := []any{}
			if m.Text != "" {
				content = append(content, obj{"type": "text", "text": m.Text})
			}
			for _, call := range m.Calls {
				content = append(content, obj{"type": "tool_use", "id": call.ID, "name": call.Name, "input": raw(call.Args)})
			}
			messages = append(messages, obj{"role": m.Role, "content": content})
		default:
			messages = append(messages, obj{"role": m.Role, "content": m.Text})
		}
	}
	doc["messages"] = messages
	return doc
}

func askGemini(c conversation, _ bool) obj {
	doc := obj{"tools": []any{obj{"functionDeclarations": list(len(c.tools), func(i int) any {
		return obj{"name": c.tools[i], "description": "It works.", "parametersJsonSchema": schema()}
	})}}}
	var contents []obj
	for _, m := range c.messages {
		parts := []any{}
		if m.Text != "" && m.Role != "tool" {
			parts = append(parts, obj{"text": m.Text})
		}
		for _, call := range m.Calls {
			parts = append(parts, obj{"functionCall": obj{"id": call.ID, "name": call.Name, "args": raw(call.Args)}})
		}
		switch m.Role {
		case "system":
			doc["systemInstruction"] = obj{"parts": parts}
		case "tool":
			contents = append(contents, obj{"role": "user", "parts": []any{obj{"functionResponse": obj{"id": m.CallID, "response": raw(m.Text)}}}})
		case "assistant":
			contents = append(contents, obj{"role": "model", "parts": parts})
		default:
			contents = append(contents, obj{"role": m.Role, "parts": parts})
		}
	}
	doc["contents"] = contents
	return doc
}

func askOllama(c conversation, stream bool) obj {
	doc := askChat(c, stream)
	for i, m := range c.messages {
		if len(m.Calls) > 0 {
			doc["messages"].([]any)[i].(obj)["tool_calls"] = list(len(m.Calls), func(j int) any {
				return obj{"id": m.Calls[j].ID, "function": obj{"name": m.Calls[j].Name, "arguments": raw(m.Calls[j].Args)}}
			})
		}
	}
	return doc
}

// at reads a place of a document: names and numbers, separated by dots. nil: there
// is none.
func at(doc any, place string) any {
	for step := range strings.SplitSeq(place, ".") {
		switch d := doc.(type) {
		case obj:
			doc = d[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(d) {
				return nil
			}
			doc = d[i]
		default:
			return nil
		}
	}
	return doc
}

func text(doc any, place string) string {
	s, _ := at(doc, place).(string)
	return s
}

func number(doc any, place string) int {
	n, _ := at(doc, place).(float64)
	return int(n)
}

func elements(doc any, place string) []any {
	all, _ := at(doc, place).([]any)
	return all
}

func document(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// add adds a piece that has the form of the whole.
func (s *said) add(piece said) {
	s.id, s.reason = piece.id, piece.reason
	s.text += piece.text
	s.calls = append(s.calls, piece.calls...)
	s.in, s.out = s.in+piece.in, s.out+piece.out
}

func wholeChat(doc obj) said {
	s := said{id: text(doc, "id"), text: text(doc, "choices.0.message.content"), reason: text(doc, "choices.0.finish_reason"),
		in: number(doc, "usage.prompt_tokens"), out: number(doc, "usage.completion_tokens")}
	for _, c := range elements(doc, "choices.0.message.tool_calls") {
		s.calls = append(s.calls, modeltest.Call{ID: text(c, "id"), Name: text(c, "function.name"), Args: text(c, "function.arguments")})
	}
	return s
}

func pieceChat(s *said, doc obj) {
	s.id = text(doc, "id")
	s.text += text(doc, "choices.0.delta.content")
	s.reason += text(doc, "choices.0.finish_reason")
	s.in, s.out = s.in+number(doc, "usage.prompt_tokens"), s.out+number(doc, "usage.completion_tokens")
	for _, c := range elements(doc, "choices.0.delta.tool_calls") {
		if i := number(c, "index"); i == len(s.calls) {
			s.calls = append(s.calls, modeltest.Call{ID: text(c, "id"), Name: text(c, "function.name")})
		}
		s.calls[number(c, "index")].Args += text(c, "function.arguments")
	}
}

func wholeResponses(doc obj) said {
	s := said{id: text(doc, "id"), reason: text(doc, "status"), in: number(doc, "usage.input_tokens"), out: number(doc, "usage.output_tokens")}
	for _, item := range elements(doc, "output") {
		switch text(item, "type") {
		case "message":
			s.text += text(item, "content.0.text")
		case "function_call":
			s.calls = append(s.calls, modeltest.Call{ID: text(item, "call_id"), Name: text(item, "name"), Args: text(item, "arguments")})
		}
	}
	return s
}

func pieceResponses(s *said, doc obj) {
	switch text(doc, "type") {
	case "response.output_item.added":
		if text(doc, "item.type") == "function_call" {
			s.calls = append(s.calls, modeltest.Call{ID: text(doc, "item.call_id"), Name: text(doc, "item.name")})
		}
	case "response.output_text.delta":
		s.text += text(doc, "delta")
	case "response.function_call_arguments.delta":
		s.calls[len(s.calls)-1].Args += text(doc, "delta")
	case "response.completed":
		end := wholeResponses(at(doc, "response").(obj))
		if end.text != s.text || document(end.calls) != document(s.calls) {
			s.text = "the deltas differ from the response at the end"
		}
		s.id, s.reason, s.in, s.out = end.id, end.reason, end.in, end.out
	}
}

func wholeAnthropic(doc obj) said {
	s := said{id: text(doc, "id"), reason: text(doc, "stop_reason"), in: number(doc, "usage.input_tokens"), out: number(doc, "usage.output_tokens")}
	for _, b := range elements(doc, "content") {
		s.text += text(b, "text")
		if text(b, "type") == "tool_use" {
			s.calls = append(s.calls, modeltest.Call{ID: text(b, "id"), Name: text(b, "name"), Args: document(at(b, "input"))})
		}
	}
	return s
}

func pieceAnthropic(s *said, doc obj) {
	switch text(doc, "type") {
	case "message_start":
		s.id, s.in = text(doc, "message.id"), number(doc, "message.usage.input_tokens")
	case "content_block_start":
		if text(doc, "content_block.type") == "tool_use" {
			s.calls = append(s.calls, modeltest.Call{ID: text(doc, "content_block.id"), Name: text(doc, "content_block.name")})
		}
	case "content_block_delta":
		s.text += text(doc, "delta.text")
		if part := text(doc, "delta.partial_json"); part != "" {
			s.calls[len(s.calls)-1].Args += part
		}
	case "message_delta":
		s.reason, s.out = text(doc, "delta.stop_reason"), number(doc, "usage.output_tokens")
	}
}

func wholeGemini(doc obj) said {
	s := said{id: text(doc, "responseId"), reason: text(doc, "candidates.0.finishReason"),
		in: number(doc, "usageMetadata.promptTokenCount"), out: number(doc, "usageMetadata.candidatesTokenCount")}
	for _, p := range elements(doc, "candidates.0.content.parts") {
		s.text += text(p, "text")
		if c := at(p, "functionCall"); c != nil {
			s.calls = append(s.calls, modeltest.Call{ID: text(c, "id"), Name: text(c, "name"), Args: document(at(c, "args"))})
		}
	}
	return s
}

func wholeOllama(doc obj) said {
	s := said{id: text(doc, "created_at"), text: text(doc, "message.content"), reason: text(doc, "done_reason"),
		in: number(doc, "prompt_eval_count"), out: number(doc, "eval_count")}
	for _, c := range elements(doc, "message.tool_calls") {
		s.calls = append(s.calls, modeltest.Call{ID: text(c, "id"), Name: text(c, "function.name"), Args: document(at(c, "function.arguments"))})
	}
	return s
}

// post sends a body and returns the answer's status, type and body.
func post(t require.TestingT, m http.RoundTripper, path, body string) (status int, kind, answer string) {
	r, err := http.NewRequest(http.MethodPost, "https://api.example"+path, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := m.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(all)
}

// converse asks a model and reads its answer.
func (d dialect) converse(t require.TestingT, m http.RoundTripper, c conversation, stream bool) (s said) {
	status, kind, body := post(t, m, d.path(stream), document(d.ask(c, stream)))
	require.Equal(t, http.StatusOK, status, body)
	parse := func(doc string) (o obj) {
		require.NoError(t, json.Unmarshal([]byte(doc), &o), doc)
		return o
	}
	if !stream {
		require.Equal(t, "application/json", kind)
		return d.whole(parse(body))
	}
	sep, prefix := "\n\n", "data: "
	if d.api == "ollama" {
		sep, prefix = "\n", ""
	}
	for piece := range strings.SplitSeq(strings.TrimSuffix(body, sep), sep) {
		line := piece[strings.LastIndex(piece, "\n")+1:] // behind the event's type
		data, ok := strings.CutPrefix(line, prefix)
		require.True(t, ok, line)
		if data != "[DONE]" {
			d.piece(&s, parse(data))
		}
	}
	return s
}

// each runs a test for every provider, streamed and not.
func each(t *testing.T, test func(t *testing.T, d dialect, stream bool)) {
	for _, d := range dialects() {
		t.Run(d.api, func(t *testing.T) { test(t, d, false) })
		t.Run(d.api+" streamed", func(t *testing.T) { test(t, d, true) })
	}
}
