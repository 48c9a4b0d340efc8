package dialect

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/otlp"
)

// openInference is the convention of Arize Phoenix and others
// (arize-ai.github.io/openinference/spec). Lists are flattened into names with
// numbers. Withheld content is the text __REDACTED__.
func openInference() convention {
	return convention{
		args: func(s *otlp.Span) json.RawMessage {
			if args := attribute(s, "tool.parameters"); args != nil && !isSchema(args) {
				return args
			}
			if args := attribute(s, "tool_call.function.arguments"); args != nil {
				return args
			}
			return openInput(s)
		},
		result: openOutput,
		asked: func(s *otlp.Span) []message {
			return flat(s, "llm.input_messages.", "message.role", "message.content", "")
		},
		told: func(s *otlp.Span) []message {
			return flat(s, "llm.output_messages.", "message.role", "message.content", "")
		},
		in: openInput, out: openOutput,
	}
}

func openInput(s *otlp.Span) json.RawMessage  { return attribute(s, "input.value") }
func openOutput(s *otlp.Span) json.RawMessage { return attribute(s, "output.value") }

// isSchema reports whether the parameters of a tool are the definition of them and not
// the arguments of a call: both are written under one name.
func isSchema(doc json.RawMessage) bool {
	if doc[0] != '{' {
		return false
	}
	m := membersOf(doc)
	return m["$schema"] != nil || string(m["type"]) == `"object"` && m["properties"] != nil
}

// flat returns messages that are flattened into attributes: prefix, number, then the
// name of role, content or reason of the end. Nil: none has content.
func flat(s *otlp.Span, prefix, role, content, end string) []message {
	var messages []message
	said := false
	for i := range s.Attributes {
		a := &s.Attributes[i]
		rest, ok := strings.CutPrefix(a.Key, prefix)
		if !ok {
			continue
		}
		number, name, _ := strings.Cut(rest, ".")
		at, err := strconv.Atoi(number)
		if err != nil || at < 0 || at >= len(s.Attributes) {
			continue
		}
		for len(messages) <= at {
			messages = append(messages, message{})
		}
		m, text := &messages[at], a.Value.Text()
		switch {
		case name == role:
			m.Role = text
		case name == end:
			m.FinishReason = text
		case name == content:
			if doc, _ := json.Marshal(text); string(doc) != hidden[0] { // a string has JSON
				m.Content, said = doc, true
			}
		}
	}
	if !said {
		return nil
	}
	return messages
}
