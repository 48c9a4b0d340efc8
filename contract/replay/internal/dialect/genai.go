package dialect

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/internal/otlp"
)

// genAI is the semantic conventions of OpenTelemetry for generative AI
// (opentelemetry.io/docs/specs/semconv/gen-ai). Content is captured only if asked for.
func genAI() convention {
	return convention{
		args:   func(s *otlp.Span) json.RawMessage { return attribute(s, "gen_ai.tool.call.arguments") },
		result: func(s *otlp.Span) json.RawMessage { return attribute(s, "gen_ai.tool.call.result") },
		asked:  func(s *otlp.Span) []message { return messagesIn(attribute(s, "gen_ai.input.messages"), wrappers) },
		told:   func(s *otlp.Span) []message { return messagesIn(attribute(s, "gen_ai.output.messages"), wrappers) },
		in:     func(s *otlp.Span) json.RawMessage { return attribute(s, "gen_ai.input.messages") },
		out:    func(s *otlp.Span) json.RawMessage { return attribute(s, "gen_ai.output.messages") },
	}
}

// seconds returns a Retry-After in seconds; 0: there is none, or it is a date.
func seconds(v *otlp.Value) time.Duration {
	if v == nil {
		return 0
	}
	text := string(v.JSON())
	var list []string // headers have several values
	if json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
		text = list[0]
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}
