package chaoshttp_test

import (
	"encoding/json"
	"strings"

	"github.com/stretchr/testify/require"
)

// Ollama's chats.

type ollamaLine struct {
	Model   string
	Message struct {
		Role, Content, Thinking string
		ToolCalls               []struct {
			ID       string
			Function struct {
				Name      string
				Arguments jsonObject
			}
		} `json:"tool_calls"`
	}
	Done       bool
	DoneReason string `json:"done_reason"`
	EvalCount  int    `json:"eval_count"`
}

func quote(text string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)
	return strings.TrimSpace(out.String())
}

func ollamaOf(text string, calls []toolCall, reason string) string {
	message := obj{"role": "assistant", "content": text, "thinking": "Let me think."}
	var list []any
	for i, c := range calls {
		list = append(list, obj{"id": c.id, "function": obj{"index": i, "name": c.name, "arguments": json.RawMessage(c.args)}})
	}
	if list != nil {
		message["tool_calls"] = list
	}
	line := obj{"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": reason != ""}
	if reason != "" {
		line["done_reason"], line["eval_count"] = "stop", 7
		if reason == "length" || reason == "content_filter" {
			line["done_reason"] = reason
		}
	}
	return object(line) + "\n"
}

func writeOllama(s said, _ []int) string { return ollamaOf(s.text, s.calls, s.reason) }

func streamOllama(s said, sizes []int) string {
	var out strings.Builder
	for _, text := range split(s.text, sizes) {
		out.WriteString(ollamaOf(text, nil, ""))
	}
	for _, c := range s.calls {
		out.WriteString(ollamaOf("", []toolCall{c}, ""))
	}
	return out.String() + ollamaOf("", nil, s.reason)
}

// readOllamaStream reads the lines as a client does, which asks no more of a document.
func readOllamaStream(t require.TestingT, body string) (s said) {
	counted := 0
	for line := range strings.Lines(body) {
		l := decoded[ollamaLine](t, line)
		require.Empty(t, s.reason, "nothing comes behind the finish")
		require.Equal(t, "m", l.Model)
		s.text += l.Message.Content
		for _, c := range l.Message.ToolCalls {
			s.calls = append(s.calls, toolCall{c.ID, c.Function.Name, string(c.Function.Arguments)})
		}
		if l.Done {
			s.reason = l.DoneReason
			if s.reason == "stop" && len(s.calls) > 0 {
				s.reason = "tool_calls"
			}
		}
		counted += l.EvalCount
	}
	require.Equal(t, 7, counted, "the usage comes once")
	return s
}

func readOllama(t require.TestingT, body string) said {
	require.Equal(t, 1, strings.Count(strings.TrimSpace(body), "\n")+1)
	return readOllamaStream(t, body)
}
