package dialect

import (
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/otlp"
)

// traceloop is the convention of OpenLLMetry (github.com/traceloop/openllmetry).
// Arguments are those of a function of Python, or of a callback of LangChain.
func traceloop() convention {
	return convention{
		args:   traceloopInput,
		result: traceloopOutput,
		asked: func(s *otlp.Span) []message {
			return flat(s, "gen_ai.prompt.", "role", "content", "")
		},
		told: func(s *otlp.Span) []message {
			return flat(s, "gen_ai.completion.", "role", "content", "finish_reason")
		},
		in: traceloopInput, out: traceloopOutput,
	}
}

// traceloopInput returns the arguments by their names. Arguments without names stay in
// the list in which they were recorded.
func traceloopInput(s *otlp.Span) json.RawMessage {
	doc := attribute(s, "traceloop.entity.input")
	if len(doc) == 0 || doc[0] != '{' {
		return doc
	}
	m := membersOf(doc)
	switch {
	case m["inputs"] != nil && m["kwargs"] != nil && !empty(m["inputs"]):
		return content(m["inputs"])
	case m["input_str"] != nil && m["kwargs"] != nil:
		return content(m["input_str"])
	case len(m) == 2 && m["args"] != nil && m["kwargs"] != nil && empty(m["args"]):
		return m["kwargs"]
	}
	return doc
}

func traceloopOutput(s *otlp.Span) json.RawMessage {
	doc := attribute(s, "traceloop.entity.output")
	if len(doc) == 0 || doc[0] != '{' {
		return doc
	}
	switch m := membersOf(doc); {
	case m["output"] != nil && m["kwargs"] != nil:
		return content(m["output"])
	case m["outputs"] != nil && m["kwargs"] != nil:
		return content(m["outputs"])
	}
	return doc
}
