package modeltest

import (
	"encoding/json"
	"fmt"
)

// chat is OpenAI's chat completions, which many servers speak too.
type chat struct{}

func (chat) name() string { return "chat" }

func (chat) read(q *query) *problem {
	var in struct {
		Model   string
		Stream  bool
		N       *int
		Options struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Role    string
			Content parts
			CallID  string `json:"tool_call_id"`
			Calls   []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct {
			Type     string
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
	}
	if p := q.decode(&in); p != nil {
		return p
	}
	q.model, q.stream, q.usage = in.Model, in.Stream, in.Options.IncludeUsage
	switch {
	case in.Model == "":
		return &problem{kind: noModel}
	case in.Messages == nil:
		return &problem{kind: noMessages, value: "missing"}
	case len(in.Messages) == 0:
		return &problem{kind: noMessages, value: "empty"}
	case in.N != nil && *in.N != 1:
		return &problem{kind: manyAnswers, name: "n", value: fmt.Sprint(*in.N)}
	}
	for i, m := range in.Messages {
		msg := Message{Role: m.Role, Text: m.Content.text()}
		switch m.Role {
		case "developer":
			msg.Role = roleSystem
		case roleSystem, roleUser:
		case roleTool:
			msg.CallID = m.CallID
		case roleAssistant:
			for _, c := range m.Calls {
				msg.Calls = append(msg.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
			}
		default:
			return &problem{kind: badRole, at: i, name: m.Role}
		}
		q.add(i, 0, msg)
	}
	for i, t := range in.Tools {
		if t.Type != "" && t.Type != "function" {
			continue
		}
		tool := Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters}
		if p := q.offer(i, 0, tool, false); p != nil {
			return p
		}
	}
	return nil
}

func (chat) refuse(p *problem) refusal { return openAIError(p.wordsOf(chatSays, openAISays)) }

func openAIError(says saying) refusal {
	return refusal{status: says.status, doc: object{"error", object{
		"message", says.text, "type", "invalid_request_error", "param", orNull(says.param), "code", orNull(says.code),
	}}}
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
		for _, word := range words(r.Text) {
			delta(object{"content", word}, nil)
		}
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
