package modeltest

import (
	"encoding/json"
	"fmt"
)

// chat is OpenAI's chat completions, which many servers speak too.
type chat struct{}

func (chat) name() string { return "chat" }

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

func (chat) read(q *query) *problem { return q.readChat(false) }

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
		if p := q.offer(fmt.Sprintf("tools[%d].function.parameters", i), tool, false); p != nil {
			return p
		}
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

func (chat) refuse(p *problem) any { return openAIError(p) }

func openAIError(p *problem) any {
	return object{"error", object{"message", p.String(), "type", "invalid_request_error",
		"param", orNull(p.where), "code", orNull(p.code)}}
}

// orNull is text, or null if there is none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (chat) whole(r *reply) any {
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
		"choices", []object{{"index", 0, "message", message, "finish_reason", chatReason(r)}}, "usage", chatUsage(r))
}

func chatDocument(r *reply, kind string) object {
	return object{"id", r.id("chatcmpl-"), "object", kind, "created", r.created, "model", r.model}
}

func chatReason(r *reply) string {
	if len(r.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func chatUsage(r *reply) object {
	return object{
		"prompt_tokens", r.InputTokens, "completion_tokens", r.OutputTokens,
		"total_tokens", r.InputTokens + r.OutputTokens,
		"prompt_tokens_details", object{"cached_tokens", 0}, "completion_tokens_details", object{"reasoning_tokens", 0},
	}
}

func (chat) stream(r *reply, s *stream) {
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
	if r.Text == "" {
		delta(object{"role", roleAssistant, "content", nil, "refusal", nil}, nil)
	} else {
		delta(object{"role", roleAssistant, "content", "", "refusal", nil}, nil)
	}
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
	delta(object{}, chatReason(r))
	if r.asked.usage {
		send([]object{}, chatUsage(r))
	}
	s.data("", []byte("[DONE]"))
}
