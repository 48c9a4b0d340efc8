package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// ollama is Ollama's chat. IDs of calls are optional there, and answers are
// streamed unless the request says otherwise.
type ollama struct{}

func (ollama) name() string { return "ollama" }

func (ollama) read(q *query) *problem {
	var in struct {
		Model    string
		Stream   *bool
		Messages []struct {
			Role, Content string
			Calls         []struct {
				ID       string
				Function struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
			ToolName string `json:"tool_name"`
			CallID   string `json:"tool_call_id"`
		}
		Tools []struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
	}
	if len(q.body) == 0 {
		return &problem{kind: notJSON, value: "missing request body"}
	}
	if p := q.decode(&in); p != nil {
		return p
	}
	q.model, q.stream = in.Model, in.Stream == nil || *in.Stream
	switch {
	case in.Model == "":
		return &problem{kind: noModel}
	case len(in.Messages) == 0:
		return &problem{kind: noMessages}
	}
	for i, m := range in.Messages {
		msg := Message{Role: strings.ToLower(m.Role), Text: m.Content}
		switch msg.Role {
		case roleSystem, roleUser:
		case roleTool:
			msg.CallID = q.answered(m.CallID, m.ToolName)
		case roleAssistant:
			for j, c := range m.Calls {
				if len(c.Function.Arguments) > 0 && !isObject(c.Function.Arguments) {
					return &problem{kind: badArgs, at: i, part: j, value: string(c.Function.Arguments)}
				}
				if c.ID == "" {
					c.ID = fmt.Sprintf("%s-%d-%d", c.Function.Name, i, j)
				}
				msg.Calls = append(msg.Calls,
					Call{ID: c.ID, Name: c.Function.Name, Args: compact(c.Function.Arguments)})
			}
		default:
			return &problem{kind: badRole, at: i, name: m.Role}
		}
		q.add(i, 0, msg)
	}
	for i, t := range in.Tools {
		tool := Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters}
		if p := q.offer(i, 0, tool, false); p != nil {
			return p
		}
	}
	return nil
}

func (ollama) refuse(p *problem) refusal {
	says := p.wordsOf(ollamaSays)
	if p.kind == badPath || p.kind == badMethod {
		return refusal{status: says.status, text: says.text}
	}
	return refusal{status: says.status, doc: object{"error", says.text}}
}

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

func (ollama) whole(r *reply) any { return ollamaEnd(r, ollamaLine(r, r.Text, ollamaCalls(r))) }

func (ollama) stream(r *reply, s *stream) {
	s.kind = "application/x-ndjson"
	if r.Text != "" {
		for _, word := range words(r.Text) {
			s.line(append(ollamaLine(r, word, nil), "done", false))
		}
	}
	for _, call := range ollamaCalls(r) {
		s.line(append(ollamaLine(r, "", []object{call}), "done", false))
	}
	s.line(ollamaEnd(r, ollamaLine(r, "", nil)))
}
