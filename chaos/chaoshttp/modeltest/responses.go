package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// A responseItem is an element of the input.
type responseItem struct {
	Type, Role      string
	ID              string
	Content         parts
	CallID          string `json:"call_id"`
	Name, Arguments string
	Output          parts
}

func readResponses(q *query) *problem {
	var in struct {
		Model, Instructions string
		Stream              bool
		Store               *bool
		Previous            string `json:"previous_response_id"`
		Conversation        json.RawMessage
		Input               json.RawMessage
		Tools               []struct {
			Type, Name, Description string
			Parameters              json.RawMessage
		}
	}
	if p := q.decode(&in); p != nil {
		return p
	}
	q.model, q.stream, q.loose = in.Model, in.Stream, true
	q.store = in.Store == nil || *in.Store
	if in.Model == "" {
		return wrong("model", "missing")
	}
	if len(in.Conversation) > 0 && string(in.Conversation) != "null" {
		return &problem{status: http.StatusNotFound, where: "conversation",
			text: "not found: " + string(in.Conversation)}
	}
	q.instruct(in.Instructions)
	if in.Previous != "" {
		before, ok := q.stored(in.Previous)
		if !ok {
			p := wrong("previous_response_id", "not found: %q", in.Previous)
			p.code = "previous_response_not_found"
			return p
		}
		for _, m := range before {
			q.add("previous_response_id", m)
		}
	}
	if p := q.readInput(in.Input); p != nil {
		return p
	}
	for i, t := range in.Tools {
		if t.Type != "function" {
			continue
		}
		tool := Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters}
		q.offer(fmt.Sprintf("tools[%d].parameters", i), tool, false)
	}
	return nil
}

func (q *query) readInput(input json.RawMessage) *problem {
	var items []responseItem
	if len(input) > 0 && input[0] == '"' {
		input = slices.Concat([]byte(`[{"role":"user","content":`), input, []byte(`}]`))
	}
	if len(input) > 0 && json.Unmarshal(input, &items) != nil {
		return wrong("input", "neither a text nor a list of items")
	}
	for i, item := range items {
		where := fmt.Sprintf("input[%d]", i)
		m := Message{Role: item.Role, Text: item.Content.text()}
		switch item.Type {
		case "", "message":
			switch item.Role {
			case "developer":
				m.Role = roleSystem
			case roleSystem, roleUser, roleAssistant:
			default:
				return wrong(where+".role", "%q; allowed: system, developer, user, assistant", item.Role)
			}
		case "function_call":
			m = Message{Role: roleAssistant, Calls: []Call{{ID: item.CallID, Name: item.Name, Args: item.Arguments}}}
		case "function_call_output":
			m = Message{Role: roleTool, CallID: item.CallID, Text: item.Output.text()}
		case "item_reference":
			return &problem{status: http.StatusNotFound, where: where, text: "items are not stored: " + item.ID}
		default:
			continue // such as reasoning
		}
		q.add(where, m)
	}
	if len(items) == 0 || len(q.messages) == 0 {
		return wrong("input", "missing or empty")
	}
	return nil
}

func wholeResponses(r *reply) any { return responseDocument(r, "completed", output(r)) }

func responseDocument(r *reply, status string, items []object) object {
	var usage any
	if status == "completed" {
		usage = object{
			"input_tokens", r.InputTokens, "input_tokens_details", object{"cached_tokens", 0},
			"output_tokens", r.OutputTokens, "output_tokens_details", object{"reasoning_tokens", 0},
			"total_tokens", r.InputTokens + r.OutputTokens,
		}
	}
	return object{
		"id", r.id("resp_"), "object", "response", "created_at", r.created, "status", status, "error", nil,
		"incomplete_details", nil, "instructions", nil, "model", r.model, "output", items,
		"parallel_tool_calls", true, "previous_response_id", nil, "store", r.asked.store, "temperature", 1,
		"tool_choice", "auto", "tools", []any{}, "top_p", 1, "usage", usage, "metadata", object{},
	}
}

func output(r *reply) []object {
	items := []object{}
	if r.Text != "" {
		items = append(items, outputMessage(r, "completed", []object{outputText(r.Text)}))
	}
	for i, c := range r.Calls {
		items = append(items, outputCall(r, i, "completed", c.Args))
	}
	return items
}

func outputMessage(r *reply, status string, content []object) object {
	return object{"id", r.id("msg_"), "type", "message", "status", status, "role", roleAssistant, "content", content}
}

func outputCall(r *reply, i int, status, args string) object {
	c := r.Calls[i]
	return object{"id", r.id("fc_", i), "type", "function_call", "status", status, "arguments", args, "call_id", c.ID,
		"name", c.Name}
}

func outputText(text string) object {
	return object{"type", "output_text", "text", text, "annotations", []any{}, "logprobs", []any{}}
}

func streamResponses(r *reply, s *stream) {
	number := 0
	send := func(kind string, members ...any) {
		s.event(kind, append(object{"type", kind, "sequence_number", number}, members...))
		number++
	}
	send("response.created", "response", responseDocument(r, "in_progress", []object{}))
	send("response.in_progress", "response", responseDocument(r, "in_progress", []object{}))
	items := output(r)
	if r.Text != "" {
		part := func(kind string, members ...any) {
			send(kind, append(object{"item_id", r.id("msg_"), "output_index", 0, "content_index", 0}, members...)...)
		}
		send("response.output_item.added", "output_index", 0, "item", outputMessage(r, "in_progress", []object{}))
		part("response.content_part.added", "part", outputText(""))
		for _, word := range words(r.Text) {
			part("response.output_text.delta", "delta", word, "logprobs", []any{})
		}
		part("response.output_text.done", "text", r.Text, "logprobs", []any{})
		part("response.content_part.done", "part", outputText(r.Text))
		send("response.output_item.done", "output_index", 0, "item", items[0])
	}
	for i, c := range r.Calls {
		at := len(items) - len(r.Calls) + i
		send("response.output_item.added", "output_index", at, "item", outputCall(r, i, "in_progress", ""))
		for _, bit := range bits(c.Args) {
			send("response.function_call_arguments.delta", "item_id", r.id("fc_", i), "output_index", at, "delta", bit)
		}
		send("response.function_call_arguments.done", "item_id", r.id("fc_", i), "output_index", at, "name", c.Name,
			"arguments", c.Args)
		send("response.output_item.done", "output_index", at, "item", items[at])
	}
	send("response.completed", "response", responseDocument(r, "completed", items))
}
