package modeltest

import (
	"encoding/json"
	"fmt"
	"time"
)

// A chatRequest is a request of OpenAI's chat completions, and of Ollama, which
// differs in a few members.
type chatRequest struct {
	Model   string
	Stream  *bool
	N       *int
	Options struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []chatMessage
	Tools    []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
}

type chatMessage struct {
	Role     string
	Content  parts
	CallID   string     `json:"tool_call_id"`
	ToolName string     `json:"tool_name"` // Ollama
	Calls    []chatCall `json:"tool_calls"`
}

type chatCall struct {
	ID       string
	Function struct {
		Name      string
		Arguments json.RawMessage // OpenAI: a string with them
	}
}

// readChat reads a chatRequest. In Ollama's IDs of calls are optional, their
// arguments an object, and the answer is streamed unless the request says otherwise.
func (q *query) readChat(ollama bool) *problem {
	var in chatRequest
	if p := q.decode(&in); p != nil {
		return p
	}
	q.model, q.stream, q.usage = in.Model, ollama, in.Options.IncludeUsage
	if in.Stream != nil {
		q.stream = *in.Stream
	}
	switch {
	case in.Model == "":
		return wrong("model", "missing")
	case len(in.Messages) == 0:
		return wrong("messages", "missing or empty")
	case in.N != nil && *in.N != 1:
		return wrong("n", "%d; allowed: 1", *in.N)
	}
	for i, m := range in.Messages {
		where := fmt.Sprintf("messages[%d]", i)
		msg := Message{Role: m.Role, Text: m.Content.text()}
		switch m.Role {
		case "developer":
			msg.Role = roleSystem
		case roleSystem, roleUser:
		case roleTool:
			if msg.CallID = m.CallID; ollama {
				msg.CallID = q.answered(m.CallID, m.ToolName)
			}
		case roleAssistant:
			for j, c := range m.Calls {
				if c.ID == "" && ollama {
					c.ID = fmt.Sprintf("%s-%d-%d", c.Function.Name, i, j)
				}
				args, p := c.arguments(fmt.Sprintf("%s.tool_calls[%d].function.arguments", where, j), ollama)
				if p != nil {
					return p
				}
				msg.Calls = append(msg.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: args})
			}
		default:
			return wrong(where+".role", "%q; allowed: system, developer, user, assistant, tool", m.Role)
		}
		q.add(where, msg)
	}
	for i, t := range in.Tools {
		if t.Type != "" && t.Type != "function" {
			continue
		}
		tool := Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters}
		q.offer(fmt.Sprintf("tools[%d].function.parameters", i), tool, false)
	}
	return nil
}

func (c chatCall) arguments(where string, ollama bool) (args string, p *problem) {
	doc := c.Function.Arguments
	switch {
	case len(doc) == 0:
	case ollama && !isObject(doc):
		return "", wrong(where, "no object")
	case !ollama && json.Unmarshal(doc, &args) != nil:
		return "", wrong(where, "no text")
	}
	if ollama {
		args = compact(doc)
	}
	return args, nil
}

func openAIError(p *problem) any {
	return object{"error", object{"message", p.String(), "type", "invalid_request_error",
		"param", orNull(p.where), "code", orNull(p.code)}}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func wholeChat(r *reply) any {
	message := object{"role", roleAssistant, "content", orNull(r.Text), "refusal", nil}
	if len(r.Calls) > 0 {
		var calls []object
		for _, c := range r.Calls {
			calls = append(calls,
				object{"id", c.ID, "type", "function", "function", object{"name", c.Name, "arguments", c.Args}})
		}
		message = append(message, "tool_calls", calls)
	}
	return append(chatDocument(r, "chat.completion"),
		"choices", []object{{"index", 0, "message", message, "finish_reason", r.reason("tool_calls", "stop")}},
		"usage", chatUsage(r))
}

func chatDocument(r *reply, kind string) object {
	return object{"id", r.id("chatcmpl-"), "object", kind, "created", r.created, "model", r.model}
}

func chatUsage(r *reply) object {
	return object{
		"prompt_tokens", r.InputTokens, "completion_tokens", r.OutputTokens,
		"total_tokens", r.InputTokens + r.OutputTokens,
		"prompt_tokens_details", object{"cached_tokens", 0}, "completion_tokens_details", object{"reasoning_tokens", 0},
	}
}

func streamChat(r *reply, s *stream) {
	send := func(choices []object, usage any) {
		doc := append(chatDocument(r, "chat.completion.chunk"), "choices", choices)
		if r.asked.usage {
			doc = append(doc, "usage", usage)
		}
		s.event("", doc)
	}
	delta := func(d object, reason any) {
		send([]object{{"index", 0, "delta", d, "finish_reason", reason}}, nil)
	}
	begin := orNull(r.Text)
	if begin != nil {
		begin = ""
	}
	delta(object{"role", roleAssistant, "content", begin, "refusal", nil}, nil)
	for _, word := range words(r.Text) {
		delta(object{"content", word}, nil)
	}
	for i, c := range r.Calls {
		delta(object{"tool_calls", []object{{
			"index", i, "id", c.ID, "type", "function", "function", object{"name", c.Name, "arguments", ""},
		}}}, nil)
		for _, bit := range bits(c.Args) {
			delta(object{"tool_calls", []object{{"index", i, "function", object{"arguments", bit}}}}, nil)
		}
	}
	delta(object{}, r.reason("tool_calls", "stop"))
	if r.asked.usage {
		send([]object{}, chatUsage(r))
	}
	s.data("", []byte("[DONE]"))
}

func refuseOllama(p *problem) any { return object{"error", p.String()} }

func ollamaLine(r *reply, content string, calls []object) object {
	message := object{"role", roleAssistant, "content", content}
	if len(calls) > 0 {
		message = append(message, "tool_calls", calls)
	}
	return object{"model", r.model, "created_at", time.Unix(r.created, 0).UTC().Format(time.RFC3339Nano),
		"message", message}
}

func ollamaCalls(r *reply) (calls []object) {
	for i, c := range r.Calls {
		calls = append(calls,
			object{"id", c.ID, "function", object{"index", i, "name", c.Name, "arguments", json.RawMessage(c.Args)}})
	}
	return calls
}

// ollamaEnd adds what the last line has: a millisecond for each token.
func ollamaEnd(r *reply, line object) object {
	in, out := time.Duration(r.InputTokens)*time.Millisecond, time.Duration(r.OutputTokens)*time.Millisecond
	return append(line, "done", true, "done_reason", "stop", "total_duration", in+out, "load_duration", 0,
		"prompt_eval_count", r.InputTokens, "prompt_eval_duration", in, "eval_count", r.OutputTokens,
		"eval_duration", out)
}

func wholeOllama(r *reply) any { return ollamaEnd(r, ollamaLine(r, r.Text, ollamaCalls(r))) }

func streamOllama(r *reply, s *stream) {
	s.kind = "application/x-ndjson"
	for _, word := range words(r.Text) {
		s.line(append(ollamaLine(r, word, nil), "done", false))
	}
	for _, call := range ollamaCalls(r) {
		s.line(append(ollamaLine(r, "", []object{call}), "done", false))
	}
	s.line(ollamaEnd(r, ollamaLine(r, "", nil)))
}
