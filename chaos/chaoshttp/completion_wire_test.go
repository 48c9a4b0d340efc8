package chaoshttp_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
)

// said is a completion, whatever its form.
type said struct {
	text    string
	refusal string
	calls   []toolCall
	reason  string // in OpenAI's words
}

type toolCall struct{ id, name, args string }

// wire is one form of a completion: how it is written, in parts of these sizes
// where it is a stream, and how a client reads it.
type wire struct {
	contentType string
	write       func(s said, sizes []int) string
	read        func(t require.TestingT, body string) said
}

func wires() map[string]wire {
	const js, es = "application/json", "text/event-stream"
	return map[string]wire{
		"chat": {js, writeChat, readChat}, "chat stream": {es, streamChat, readChatStream},
		"message": {js, writeMessage, readMessage}, "message stream": {es, streamMessage, readMessageStream},
		"response": {js, writeResponse, readResponse}, "response stream": {es, streamResponse, readResponseStream},
		"gemini": {js, writeGemini, readGemini}, "gemini stream": {es, streamGemini, readGeminiStream},
		"ollama": {js, writeOllama, readOllama}, "ollama stream": {"application/x-ndjson", streamOllama, readOllamaStream},
	}
}

// split cuts a text into parts of the given sizes, over and over.
func split(s string, sizes []int) []string {
	var parts []string
	runes := []rune(s)
	for i := 0; len(runes) > 0; i++ {
		n := min(sizes[i%len(sizes)], len(runes))
		parts = append(parts, string(runes[:n]))
		runes = runes[n:]
	}
	return parts
}

func object(v any) string {
	doc, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(doc)
}

func decoded[T any](t require.TestingT, doc string) (v T) {
	require.NoError(t, json.Unmarshal([]byte(doc), &v), doc)
	return v
}

// data are the data of the events of a stream.
func data(stream string) []string {
	var out []string
	for line := range strings.Lines(stream) {
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			out = append(out, strings.TrimSpace(text))
		}
	}
	return out
}

type obj = map[string]any

// OpenAI's chat completions.

type chatCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatMessage struct {
	Content, Refusal *string
	ToolCalls        []chatCall `json:"tool_calls"`
}

func writeChat(s said, _ []int) string {
	var calls []any
	for _, c := range s.calls {
		calls = append(calls, obj{"id": c.id, "type": "function", "function": obj{"name": c.name, "arguments": c.args}})
	}
	msg := obj{"role": "assistant", "content": s.text, "refusal": nil}
	if s.text == "" {
		msg["content"] = nil
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	return object(obj{"object": "chat.completion", "choices": []any{obj{"index": 0, "message": msg, "finish_reason": s.reason}}})
}

func readChat(t require.TestingT, body string) said {
	choice := decoded[struct {
		Choices []struct {
			Message      chatMessage
			FinishReason string `json:"finish_reason"`
		}
	}](t, body).Choices[0]
	s := said{reason: choice.FinishReason}
	s.addChat(choice.Message)
	return s
}

func (s *said) addChat(m chatMessage) {
	if m.Content != nil {
		s.text += *m.Content
	}
	if m.Refusal != nil {
		s.refusal += *m.Refusal
	}
	for _, c := range m.ToolCalls {
		if c.Function.Name != "" || len(s.calls) <= c.Index {
			s.calls = append(s.calls, toolCall{id: c.ID, name: c.Function.Name})
		}
		s.calls[len(s.calls)-1].args += c.Function.Arguments
	}
}

func streamChat(s said, sizes []int) string {
	var out strings.Builder
	chunk := func(delta obj, reason any) {
		fmt.Fprintf(&out, "data: %s\n\n", object(obj{"object": "chat.completion.chunk", "id": "c",
			"choices": []any{obj{"index": 0, "delta": delta, "finish_reason": reason}}}))
	}
	chunk(obj{"role": "assistant", "content": ""}, nil)
	for _, part := range split(s.text, sizes) {
		chunk(obj{"content": part}, nil)
	}
	for i, c := range s.calls {
		chunk(obj{"tool_calls": []any{obj{"index": i, "id": c.id, "type": "function", "function": obj{"name": c.name, "arguments": ""}}}}, nil)
		for _, part := range split(c.args, sizes) {
			chunk(obj{"tool_calls": []any{obj{"index": i, "function": obj{"arguments": part}}}}, nil)
		}
	}
	chunk(obj{}, s.reason)
	return out.String() + "data: [DONE]\n\n"
}

func readChatStream(t require.TestingT, body string) (s said) {
	events := data(body)
	require.Equal(t, "[DONE]", events[len(events)-1])
	for _, e := range events[:len(events)-1] {
		choice := decoded[struct {
			Choices []struct {
				Delta        chatMessage
				FinishReason string `json:"finish_reason"`
			}
		}](t, e).Choices[0]
		require.Empty(t, s.reason, "nothing comes behind the finish")
		s.addChat(choice.Delta)
		s.reason = choice.FinishReason
	}
	return s
}

// Anthropic's messages.

type block struct {
	Type, Text, ID, Name string
	Input                json.RawMessage
}

func stopReason(reason string) string {
	return map[string]string{"stop": "end_turn", "tool_calls": "tool_use"}[reason]
}

func fromStop(reason string) string {
	return map[string]string{"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "refusal"}[reason]
}

func writeMessage(s said, _ []int) string {
	content := []any{}
	if s.text != "" {
		content = append(content, obj{"type": "text", "text": s.text})
	}
	for _, c := range s.calls {
		content = append(content, obj{"type": "tool_use", "id": c.id, "name": c.name, "input": json.RawMessage(c.args)})
	}
	return object(obj{"type": "message", "role": "assistant", "content": content, "stop_reason": stopReason(s.reason)})
}

func (s *said) addBlock(b block) {
	switch b.Type {
	case "text":
		s.text += b.Text
	case "tool_use":
		args := string(b.Input)
		var text string
		if json.Unmarshal(b.Input, &text) == nil {
			args = text // what is no JSON comes as a string
		}
		s.calls = append(s.calls, toolCall{b.ID, b.Name, args})
	}
}

func readMessage(t require.TestingT, body string) said {
	m := decoded[struct {
		Content    []block
		StopReason string `json:"stop_reason"`
	}](t, body)
	s := said{reason: fromStop(m.StopReason)}
	for _, b := range m.Content {
		s.addBlock(b)
	}
	return s
}

func streamMessage(s said, sizes []int) string {
	var out strings.Builder
	send := func(kind string, v obj) {
		v["type"] = kind
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", kind, object(v))
	}
	send("message_start", obj{"message": obj{"type": "message", "content": []any{}, "stop_reason": nil}})
	n := 0
	grow := func(start, delta obj, name, text string) {
		send("content_block_start", obj{"index": n, "content_block": start})
		for _, part := range split(text, sizes) {
			send("content_block_delta", obj{"index": n, "delta": obj{"type": delta["type"], name: part}})
		}
		send("content_block_stop", obj{"index": n})
		n++
	}
	if s.text != "" {
		grow(obj{"type": "text", "text": ""}, obj{"type": "text_delta"}, "text", s.text)
	}
	for _, c := range s.calls {
		grow(obj{"type": "tool_use", "id": c.id, "name": c.name, "input": obj{}}, obj{"type": "input_json_delta"}, "partial_json", c.args)
	}
	send("message_delta", obj{"delta": obj{"stop_reason": stopReason(s.reason)}})
	send("message_stop", obj{})
	return out.String()
}

func readMessageStream(t require.TestingT, body string) (s said) {
	open, args := -1, ""
	var blocks []block
	last := ""
	for _, d := range data(body) {
		e := decoded[struct {
			Type         string
			Index        int
			ContentBlock block `json:"content_block"`
			Delta        struct {
				Text        string
				PartialJSON string `json:"partial_json"`
				StopReason  string `json:"stop_reason"`
			}
		}](t, d)
		require.Contains(t, body, "event: "+e.Type+"\n", "the type is said twice")
		switch last = e.Type; e.Type {
		case "content_block_start":
			require.Equal(t, len(blocks), e.Index, "no gap")
			blocks, open, args = append(blocks, e.ContentBlock), e.Index, ""
		case "content_block_delta":
			require.Equal(t, open, e.Index)
			blocks[open].Text += e.Delta.Text
			args += e.Delta.PartialJSON
		case "content_block_stop":
			require.Equal(t, open, e.Index)
			b := blocks[open]
			b.Input = json.RawMessage(object(args))
			s.addBlock(b)
			open = -1
		case "message_delta":
			require.Equal(t, -1, open)
			s.reason = fromStop(e.Delta.StopReason)
		}
	}
	require.Equal(t, "message_stop", last)
	return s
}

// OpenAI's responses.

type outputItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []part `json:"content"`
}

type part struct{ Type, Text, Refusal string }

func outputOf(s said) []any {
	output := []any{}
	if s.text != "" {
		output = append(output, obj{"type": "message", "id": "m", "role": "assistant", "content": []any{obj{"type": "output_text", "text": s.text, "annotations": []any{}}}})
	}
	for _, c := range s.calls {
		output = append(output, obj{"type": "function_call", "id": "f", "call_id": c.id, "name": c.name, "arguments": c.args})
	}
	return output
}

func responseOf(s said) obj {
	return obj{"object": "response", "status": "completed", "incomplete_details": nil, "output": outputOf(s)}
}

func writeResponse(s said, _ []int) string { return object(responseOf(s)) }

type response struct {
	Status            string
	IncompleteDetails struct{ Reason string } `json:"incomplete_details"`
	Output            []outputItem
}

func (r response) said() (s said) {
	for _, item := range r.Output {
		s.addItem(item)
	}
	switch {
	case r.Status == "incomplete":
		s.reason = map[string]string{"max_output_tokens": "length", "content_filter": "content_filter"}[r.IncompleteDetails.Reason]
	case len(s.calls) > 0:
		s.reason = "tool_calls"
	default:
		s.reason = "stop"
	}
	return s
}

func (s *said) addItem(item outputItem) {
	for _, p := range item.Content {
		s.text += p.Text
		s.refusal += p.Refusal
	}
	if item.Type == "function_call" {
		s.calls = append(s.calls, toolCall{item.CallID, item.Name, item.Arguments})
	}
}

func readResponse(t require.TestingT, body string) said { return decoded[response](t, body).said() }

func streamResponse(s said, sizes []int) string {
	var out strings.Builder
	send := func(kind string, v obj) {
		v["type"] = kind
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", kind, object(v))
	}
	send("response.created", obj{"response": obj{"object": "response", "status": "in_progress", "output": []any{}}})
	n := 0
	if s.text != "" {
		at := func(v obj) obj { v["output_index"], v["content_index"] = n, 0; return v }
		send("response.output_item.added", obj{"output_index": n, "item": obj{"type": "message", "content": []any{}}})
		send("response.content_part.added", at(obj{"part": obj{"type": "output_text", "text": ""}}))
		for _, p := range split(s.text, sizes) {
			send("response.output_text.delta", at(obj{"delta": p}))
		}
		send("response.output_text.done", at(obj{"text": s.text}))
		send("response.content_part.done", at(obj{"part": obj{"type": "output_text", "text": s.text}}))
		send("response.output_item.done", obj{"output_index": n, "item": outputOf(s)[0]})
		n++
	}
	for _, c := range s.calls {
		send("response.output_item.added", obj{"output_index": n, "item": obj{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": ""}})
		for _, p := range split(c.args, sizes) {
			send("response.function_call_arguments.delta", obj{"output_index": n, "delta": p})
		}
		send("response.function_call_arguments.done", obj{"output_index": n, "arguments": c.args})
		send("response.output_item.done", obj{"output_index": n, "item": outputOf(s)[n]})
		n++
	}
	send("response.completed", obj{"response": responseOf(s)})
	return out.String()
}

// readResponseStream reads the stream in each of the ways in which it says
// everything, and holds them to each other.
func readResponseStream(t require.TestingT, body string) (s said) {
	var deltas, dones, items said
	for _, d := range data(body) {
		e := decoded[struct {
			Type, Delta, Text, Refusal, Arguments string
			OutputIndex                           int `json:"output_index"`
			Item                                  outputItem
			Response                              response
		}](t, d)
		require.Contains(t, body, "event: "+e.Type+"\n", "the type is said twice")
		switch e.Type {
		case "response.output_item.added":
			deltas.addItem(e.Item)
			dones.addItem(e.Item)
		case "response.output_text.delta":
			deltas.text += e.Delta
		case "response.refusal.delta":
			deltas.refusal += e.Delta
		case "response.function_call_arguments.delta":
			deltas.calls[len(deltas.calls)-1].args += e.Delta
		case "response.output_text.done":
			dones.text += e.Text
		case "response.refusal.done":
			dones.refusal += e.Refusal
		case "response.function_call_arguments.done":
			dones.calls[len(dones.calls)-1].args = e.Arguments
		case "response.output_item.done":
			items.addItem(e.Item)
		case "response.completed":
			require.Equal(t, "completed", e.Response.Status)
			s = e.Response.said()
		case "response.incomplete":
			require.Equal(t, "incomplete", e.Response.Status)
			s = e.Response.said()
		}
	}
	whole := s
	if whole.reason = ""; len(deltas.calls) > 0 || deltas.text+deltas.refusal != "" || whole.refusal == "" { // one that was added comes at the end alone
		require.Equal(t, whole, deltas)
		require.Equal(t, whole, dones)
		require.Equal(t, whole, items)
	}
	return s
}
