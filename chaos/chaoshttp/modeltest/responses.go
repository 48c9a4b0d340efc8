package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responses is OpenAI's Responses API. The model keeps the conversations that it
// answered, for requests that continue them.
type responses struct{}

func (responses) name() string { return "responses" }

// A responseItem is an element of the input.
type responseItem struct {
	Type, Role      string
	ID              string
	Content         parts
	CallID          string `json:"call_id"`
	Name, Arguments string
	Output          parts
}

func (responses) read(q *query) *problem {
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
		return &problem{kind: noModel}
	}
	if len(in.Conversation) > 0 && string(in.Conversation) != "null" {
		return &problem{kind: noStored, value: "conversation", ids: []string{string(in.Conversation)}}
	}
	q.instruct(in.Instructions)
	if in.Previous != "" {
		before, ok := q.stored(in.Previous)
		if !ok {
			return &problem{kind: noStored, value: "response", ids: []string{in.Previous}}
		}
		for _, m := range before {
			q.add(0, 0, m)
		}
	}
	if p := readInput(q, in.Input); p != nil {
		return p
	}
	for i, t := range in.Tools {
		if t.Type != "function" {
			continue
		}
		if p := q.offer(i, 0, Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters}, false); p != nil {
			return p
		}
	}
	return nil
}

// readInput adds the input: a text or a list of items.
func readInput(q *query, input json.RawMessage) *problem {
	var items []responseItem
	if len(input) > 0 && input[0] == '"' {
		item := responseItem{Role: roleUser, Content: make(parts, 1)}
		if err := json.Unmarshal(input, &item.Content[0].Text); err != nil {
			return &problem{kind: notJSON, value: err.Error()}
		}
		items = append(items, item)
	} else if len(input) > 0 && json.Unmarshal(input, &items) != nil {
		return &problem{kind: badType, name: "input", value: "neither a text nor a list of items"}
	}
	if len(items) == 0 {
		return &problem{kind: noMessages}
	}
	for i, item := range items {
		m := Message{Role: item.Role, Text: item.Content.text()}
		switch item.Type {
		case "", "message":
			switch item.Role {
			case "developer":
				m.Role = roleSystem
			case roleSystem, roleUser, roleAssistant:
			default:
				return &problem{kind: badRole, at: i, name: item.Role}
			}
		case "function_call":
			m = Message{Role: roleAssistant, Calls: []Call{{ID: item.CallID, Name: item.Name, Args: item.Arguments}}}
		case "function_call_output":
			m = Message{Role: roleTool, CallID: item.CallID, Text: item.Output.text()}
		case "item_reference":
			return &problem{kind: noStored, value: "item", ids: []string{item.ID}}
		default:
			continue // such as reasoning
		}
		q.add(i, 0, m)
	}
	if len(q.messages) == 0 {
		return &problem{kind: noMessages}
	}
	return nil
}

func (responses) refuse(p *problem) refusal {
	id := strings.Join(p.ids, ", ")
	switch p.kind {
	case badRole:
		return openAIError(fmt.Sprintf("input[%d]", p.at), "invalid_value",
			"Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", p.name)
	case noMessages:
		return openAIError("input", "missing_required_parameter", "Missing required parameter: 'input'.")
	case noCall:
		return openAIError("input", "", "No tool call found for function call output with call_id %s.", id)
	case noResult:
		return openAIError("input", "", "No tool output found for function call %s.", id)
	case sameID:
		return openAIError(fmt.Sprintf("input[%d].call_id", p.at), "invalid_value",
			"Duplicate call_id: '%s'. Each function call must have a call_id of its own.", id)
	case noID:
		return openAIError(fmt.Sprintf("input[%d].call_id", p.at), "missing_required_parameter",
			"Missing required parameter: 'input[%d].call_id'.", p.at)
	case noStored:
		return notStored(p.value, id)
	case badSchema:
		return openAISchema(p, fmt.Sprintf("tools[%d].parameters", p.at))
	}
	return openAIRefusal(p)
}

// notStored answers a reference to what this model does not have.
func notStored(what, id string) refusal {
	r := openAIError("input", "", "Item with id '%s' not found.", id)
	switch what {
	case "response":
		return openAIError("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", id)
	case "conversation":
		r = openAIError("conversation", "", "Conversation with id %s not found.", id)
	}
	r.status = http.StatusNotFound
	return r
}

func (responses) whole(r *reply) any { return responseDocument(r, "completed", output(r)) }

func responseDocument(r *reply, status string, items []object) object {
	doc := object{
		"id": r.id("resp_"), "object": "response", "created_at": r.created, "status": status, "model": r.model,
		"output": items, "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{},
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "temperature": 1, "top_p": 1,
		"previous_response_id": nil, "store": r.asked.store, "usage": nil,
	}
	if status == "completed" {
		doc["usage"] = object{
			"input_tokens": r.InputTokens, "output_tokens": r.OutputTokens, "total_tokens": r.InputTokens + r.OutputTokens,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
		}
	}
	return doc
}

// output is the list of items.
func output(r *reply) []object {
	items := []object{}
	if r.Text != "" {
		items = append(items, object{
			"type": "message", "id": r.id("msg_"), "role": roleAssistant, "status": "completed", "content": []object{outputText(r.Text)},
		})
	}
	for i, c := range r.Calls {
		items = append(items, object{
			"type": "function_call", "id": r.id("fc_", i), "call_id": c.ID, "name": c.Name, "arguments": c.Args, "status": "completed",
		})
	}
	return items
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func (responses) stream(r *reply, s *stream) {
	number := 0
	send := func(kind string, e object) {
		e["type"], e["sequence_number"] = kind, number
		number++
		s.event(kind, e)
	}
	send("response.created", object{"response": responseDocument(r, "in_progress", []object{})})
	send("response.in_progress", object{"response": responseDocument(r, "in_progress", []object{})})
	for at, item := range output(r) {
		about := func(e object) object {
			e["output_index"], e["item_id"] = at, item["id"]
			return e
		}
		begun := object{"type": item["type"], "id": item["id"], "status": "in_progress"}
		if item["type"] == "message" {
			begun["role"], begun["content"] = roleAssistant, []any{}
			in := func(e object) object { e["content_index"] = 0; return about(e) }
			send("response.output_item.added", object{"output_index": at, "item": begun})
			send("response.content_part.added", in(object{"part": outputText("")}))
			for _, word := range words(r.Text) {
				send("response.output_text.delta", in(object{"delta": word, "logprobs": []any{}}))
			}
			send("response.output_text.done", in(object{"text": r.Text, "logprobs": []any{}}))
			send("response.content_part.done", in(object{"part": outputText(r.Text)}))
		} else {
			begun["call_id"], begun["name"], begun["arguments"] = item["call_id"], item["name"], ""
			send("response.output_item.added", object{"output_index": at, "item": begun})
			args, _ := item["arguments"].(string)
			for _, bit := range bits(args) {
				send("response.function_call_arguments.delta", about(object{"delta": bit}))
			}
			send("response.function_call_arguments.done", about(object{"name": item["name"], "arguments": args}))
		}
		send("response.output_item.done", object{"output_index": at, "item": item})
	}
	send("response.completed", object{"response": responseDocument(r, "completed", output(r))})
}
