package modeltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

func readAnthropic(q *query) *problem {
	var in struct {
		Model     string
		Stream    bool
		MaxTokens int `json:"max_tokens"`
		System    parts
		Messages  []struct {
			Role    string
			Content parts
		}
		Tools []struct {
			Type, Name, Description string
			Schema                  json.RawMessage `json:"input_schema"`
		}
	}
	if p := q.decode(&in); p != nil {
		return p
	}
	q.model, q.stream = in.Model, in.Stream
	switch {
	case in.Model == "":
		return wrong("model", "missing")
	case in.MaxTokens < 1:
		return wrong("max_tokens", "missing or below 1")
	case len(in.Messages) == 0:
		return wrong("messages", "missing or empty")
	}
	q.instruct(in.System.text())
	for i, m := range in.Messages {
		where := fmt.Sprintf("messages.%d", i)
		if m.Role != roleUser && m.Role != roleAssistant {
			return wrong(where+".role", "%q; allowed: user, assistant, with the system's text in system", m.Role)
		}
		if m.Content.empty() && (m.Role == roleUser || i < len(in.Messages)-1) {
			return wrong(where+".content", "empty")
		}
		if p := q.readBlocks(where, m.Role, m.Content); p != nil {
			return p
		}
	}
	for i, t := range in.Tools {
		if t.Type != "" && t.Type != "custom" { // of the provider, such as "bash", which the client runs
			q.tools = append(q.tools, Tool{Name: t.Name})
			continue
		}
		tool := Tool{Name: t.Name, Description: t.Description, Schema: t.Schema}
		q.offer(fmt.Sprintf("tools.%d.input_schema", i), tool, true)
	}
	return nil
}

// empty reports whether content has no part, or a text without characters.
func (p parts) empty() bool {
	return len(p) == 0 || slices.ContainsFunc(p, func(part part) bool { return part.Type == "text" && part.Text == "" })
}

func (q *query) readBlocks(where, role string, content parts) *problem {
	said := Message{Role: role}
	pending := role == roleAssistant
	for j, b := range content {
		at := fmt.Sprintf("%s.content.%d", where, j)
		switch {
		case b.Type == "tool_use" && role == roleAssistant:
			if !isObject(b.Input) {
				return wrong(at+".input", "no object")
			}
			said.Calls = append(said.Calls, Call{ID: b.ID, Name: b.Name, Args: compact(b.Input)})
		case b.Type == "tool_result" && role == roleUser:
			if pending {
				q.add(where, said)
				said, pending = Message{Role: role}, false
			}
			var result parts
			if len(b.Content) > 0 && json.Unmarshal(b.Content, &result) != nil {
				return wrong(at+".content", "neither a text nor blocks")
			}
			q.add(at, Message{Role: roleTool, CallID: b.ToolUseID, Text: result.text()})
		case b.Type == "tool_use", b.Type == "tool_result":
			return wrong(at, "a %s in a message of the role %s", b.Type, role)
		default: // images and thinking have no text
			said.Text, pending = joined(said.Text, b.Text), true
		}
	}
	if pending {
		q.add(where, said)
	}
	return nil
}

func refuseAnthropic(p *problem) any {
	kind := cmp.Or(map[int]string{http.StatusNotFound: "not_found_error",
		http.StatusRequestEntityTooLarge: "request_too_large"}[p.status], "invalid_request_error")
	return object{"type", "error", "error", object{"type", kind, "message", p.String()}, "request_id", "req_modeltest"}
}

func wholeAnthropic(r *reply) any {
	blocks := []object{}
	if r.Text != "" {
		blocks = append(blocks, object{"type", "text", "text", r.Text, "citations", nil})
	}
	for _, c := range r.Calls {
		blocks = append(blocks,
			object{"type", "tool_use", "id", c.ID, "name", c.Name, "input", json.RawMessage(c.Args)})
	}
	return anthropicMessage(r, blocks, r.reason("tool_use", "end_turn"), r.OutputTokens)
}

func anthropicMessage(r *reply, blocks []object, reason any, out int) object {
	return object{
		"id", r.id("msg_"), "type", "message", "role", roleAssistant, "model", r.model, "content", blocks,
		"stop_reason", reason, "stop_sequence", nil,
		"usage", object{
			"input_tokens", r.InputTokens, "output_tokens", out,
			"cache_creation_input_tokens", 0, "cache_read_input_tokens", 0, "service_tier", "standard",
		},
	}
}

func streamAnthropic(r *reply, s *stream) {
	send := func(kind string, members ...any) { s.event(kind, append(object{"type", kind}, members...)) }
	index := 0
	block := func(begin object, delta, member string, pieces []string) {
		send("content_block_start", "index", index, "content_block", begin)
		for _, piece := range pieces {
			send("content_block_delta", "index", index, "delta", object{"type", delta, member, piece})
		}
		send("content_block_stop", "index", index)
		index++
	}
	send("message_start", "message", anthropicMessage(r, []object{}, nil, 1))
	if r.Text != "" {
		block(object{"type", "text", "text", ""}, "text_delta", "text", words(r.Text))
	}
	for _, c := range r.Calls {
		block(object{"type", "tool_use", "id", c.ID, "name", c.Name, "input", object{}},
			"input_json_delta", "partial_json", bits(c.Args))
	}
	send("message_delta",
		"delta", object{"stop_reason", r.reason("tool_use", "end_turn"), "stop_sequence", nil},
		"usage", object{"output_tokens", r.OutputTokens})
	send("message_stop")
}
