package dialect

import (
	"encoding/json"

	"github.com/shakedown-go/shakedown/internal/otlp"
)

// adk is the convention of Google's Agent Development Kit, whose spans have the scope
// gcp.vertex.agent. Withheld content is an empty object, or not there.
func adk() convention {
	request := func(s *otlp.Span) json.RawMessage { return filledAttribute(s, "gcp.vertex.agent.llm_request") }
	response := func(s *otlp.Span) json.RawMessage { return filledAttribute(s, "gcp.vertex.agent.llm_response") }
	return convention{
		args:   func(s *otlp.Span) json.RawMessage { return adkContent(s, "gcp.vertex.agent.tool_call_args") },
		result: adkResult,
		asked:  func(s *otlp.Span) []message { return messagesIn(request(s), wrappers) },
		told:   func(s *otlp.Span) []message { return messagesIn(response(s), wrappers) },
		in:     request, out: response,
	}
}

// filledAttribute is attribute, where an empty object stands for what was withheld.
func filledAttribute(s *otlp.Span, key string) json.RawMessage {
	if doc := attribute(s, key); !empty(doc) {
		return doc
	}
	return nil
}

// isMergedADK reports whether a span stands for the joined answer of parallel calls,
// which have spans of their own.
func isMergedADK(s *otlp.Span) bool {
	return s.Scope == "gcp.vertex.agent" && s.Attributes.Text("gen_ai.tool.name") == "(merged tools)"
}

// adkContent returns an attribute. Empty arguments beside an empty answer are what the
// kit writes where it withholds both.
func adkContent(s *otlp.Span, key string) json.RawMessage {
	doc := attribute(s, key)
	if empty(doc) && empty(attribute(s, "gcp.vertex.agent.tool_response")) {
		return nil
	}
	return doc
}

// adkResult returns the answer of a tool. A call without one, such as a failed one, has
// a text in its place.
func adkResult(s *otlp.Span) json.RawMessage {
	doc := adkContent(s, "gcp.vertex.agent.tool_response")
	if empty(doc) || doc[0] == '{' && content(membersOf(doc)["result"]) == nil && membersOf(doc)["result"] != nil {
		return nil
	}
	return doc
}
