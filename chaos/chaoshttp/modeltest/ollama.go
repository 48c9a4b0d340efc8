package modeltest

import (
	"encoding/json"
	"time"
)

// ollama is Ollama's chat. IDs of calls are optional there, and answers are
// streamed unless the request says otherwise.
type ollama struct{}

func (ollama) name() string { return "ollama" }

func (ollama) read(q *query) *problem { return q.readChat(true) }

func (ollama) refuse(p *problem) any { return object{"error", p.String()} }

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
	for _, word := range words(r.Text) {
		s.line(append(ollamaLine(r, word, nil), "done", false))
	}
	for _, call := range ollamaCalls(r) {
		s.line(append(ollamaLine(r, "", []object{call}), "done", false))
	}
	s.line(ollamaEnd(r, ollamaLine(r, "", nil)))
}
