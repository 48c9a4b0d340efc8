package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
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

// refuse has the wording of the API where it is known.
func (chat) refuse(p *problem) refusal {
	id := strings.Join(p.ids, ", ")
	switch p.kind {
	case badRole:
		return openAIError(fmt.Sprintf("messages[%d].role", p.at), "invalid_value", "Invalid value: '%s'. "+
			"Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", p.name)
	case noMessages:
		if p.value == "empty" {
			return openAIError("messages", "empty_array", "Invalid 'messages': empty array. "+
				"Expected an array with minimum length 1, but got an empty array instead.")
		}
		return openAIError("messages", "missing_required_parameter", "Missing required parameter: 'messages'.")
	case noCall:
		return openAIError(fmt.Sprintf("messages.[%d].role", p.at), "",
			"Invalid parameter: messages with role 'tool' must be "+
				"a response to a preceeding message with 'tool_calls'. No such call is open with the id '%s'.", id)
	case noResult:
		return openAIError(fmt.Sprintf("messages.[%d].role", p.at), "",
			"An assistant message with 'tool_calls' must be followed by "+
				"tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", id)
	case sameID:
		return openAIError(fmt.Sprintf("messages[%d].tool_calls[%d].id", p.at, p.part), "invalid_value",
			"Duplicate tool call id: '%s'. Each tool call must have an id of its own.", id)
	case noID:
		param := fmt.Sprintf("messages[%d].tool_calls[%d].id", p.at, p.part)
		return openAIError(param, "missing_required_parameter", "Missing required parameter: '%s'.", param)
	case badSchema:
		return openAISchema(p, fmt.Sprintf("tools[%d].function.parameters", p.at))
	}
	return openAIRefusal(p)
}

// openAIRefusal answers what both forms of the API have.
func openAIRefusal(p *problem) refusal {
	r := openAIError("", "", "%s", p.value)
	switch p.kind {
	case badPath:
		r = openAIError("", "", "Invalid URL (%s)", p.value)
		r.status = http.StatusNotFound
	case badMethod:
		r = openAIError("", "method_not_supported", "Not allowed to %s on %s.", p.name, p.value)
		r.status = http.StatusMethodNotAllowed
	case tooLarge:
		r = openAIError("", "", "The request body is too large.")
		r.status = http.StatusRequestEntityTooLarge
	case notJSON:
		r = openAIError("", "",
			"We could not parse the JSON body of your request: %s. The OpenAI API expects a JSON payload, "+
				"but what was sent was not valid JSON.", p.value)
	case badType:
		r = openAIError(p.name, "invalid_type", "Invalid type for '%s': got %s.", p.name, p.value)
	case noModel:
		r = openAIError("model", "missing_required_parameter", "you must provide a model parameter")
	case manyAnswers:
		r = openAIError(p.name, "unsupported_value", "Unsupported value: '%s' is %s; this model gives 1 answer.",
			p.name, p.value)
	}
	return r
}

func openAISchema(p *problem, param string) refusal {
	return openAIError(param, "invalid_function_parameters",
		"Invalid schema for function '%s': schema must be a JSON Schema of "+
			"'type: \"object\"', got 'type: \"%s\"'.", p.name, p.value)
}

func openAIError(param, code, format string, args ...any) refusal {
	return refusal{status: http.StatusBadRequest, doc: object{"error", object{
		"message", fmt.Sprintf(format, args...), "type", "invalid_request_error", "param", orNull(param),
		"code", orNull(code),
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
