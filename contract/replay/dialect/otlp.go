package dialect

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/otlp"
)

// readOTLP reads spans. A trace is a run.
func readOTLP(in *input) {
	r := otlp.Reader{Fields: fields, Wrong: in.wrong, Open: true}
	r.Read(in.text, func(at *otlp.Place, s *otlp.Span) {
		if at.Bad() || isMergedADK(s) {
			return
		}
		n := nodeOf(s)
		if n.isCall() && n.name == "" {
			at.Refuse("name", nil, "a name that is not empty")
			return
		}
		of := in.record(strings.ToLower(s.TraceID))
		of.timed = true
		in.add(of, at.Line, n)
	})
}

// isMergedADK reports whether a span stands for the joined answer of parallel calls,
// which have spans of their own.
func isMergedADK(s *otlp.Span) bool {
	return s.Scope == "gcp.vertex.agent" && s.Attributes.Text("gen_ai.tool.name") == "(merged tools)"
}

func nodeOf(s *otlp.Span) node {
	n := node{
		id: hex.EncodeToString(s.ID[16:]), callID: s.Attributes.First("gen_ai.tool.call.id", "ai.toolCall.id"),
		start: s.Start, end: s.End, open: s.End == 0,
	}
	if n.open {
		n.end = n.start
	}
	if !s.Root {
		n.parent = hex.EncodeToString(s.Parent[16:])
	}
	var is otlp.Kind
	n.name, is = s.Node()
	switch {
	case is == otlp.Tool && !s.ListsTools():
		n.kind, n.succeeded = tool, s.Succeeded()
		n.setArgs(first(s, argsOf))
		n.setResult(first(s, resultOf))
	case is == otlp.Model:
		n.kind = model
		n.asked, n.told = messagesOf(s, askedOf, false), messagesOf(s, toldOf, true)
		n.said = talk{talkOf(n.asked).prompts, talkOf(n.told).answer}
		n.setArgs(cmpOr(first(s, inputOf), documentOf(n.asked)))
		n.setResult(cmpOr(first(s, outputOf), documentOf(n.told)))
	default:
		if is == otlp.Agent {
			n.kind = agent
		}
		n.said = talk{promptsIn(alone(first(s, inputOf))), answerIn(first(s, outputOf))}
		if asked := messagesOf(s, askedOf, false); len(n.said.prompts) == 0 {
			n.said.prompts = talkOf(asked).prompts
		}
		if told := messagesOf(s, toldOf, true); n.said.answer == "" {
			n.said.answer = talkOf(told).answer
		}
		if is == "" {
			n.note = unread(s)
		}
	}
	if n.isCall() && s.Failed() {
		said := ""
		if !empty(n.result) {
			said = words(n.result)
		}
		n.fail(cmp.Or(failureOf(s, "message", s.Status.Message), said, failureOf(s, "type", "")), spanStatus(s))
		n.open = false // it says how it ended
	}
	return n
}

// alone returns the one argument of a function of Python that has no name.
func alone(doc json.RawMessage) json.RawMessage {
	m := objectOf(doc)
	if list := m.list("args"); len(m) == 2 && len(list) == 1 && m["kwargs"] != nil && empty(m["kwargs"]) {
		return list[0]
	}
	return doc
}

func documentOf(items []json.RawMessage) json.RawMessage {
	if len(items) == 0 {
		return nil
	}
	return marshalled(items)
}

// unread says what a span of no known convention may be: a call of a tool, or another step
// with an input and an output.
func unread(s *otlp.Span) note {
	input, output := false, false
	for i := range s.Attributes {
		key := strings.NewReplacer("_", "", ".", "", "-", "").Replace(strings.ToLower(s.Attributes[i].Key))
		value := strings.ToLower(strings.Trim(s.Attributes[i].Value.Text(), `"`))
		if strings.HasSuffix(key, "toolname") && value != "" || strings.Contains(key, "toolcall") ||
			value == "tool" && (strings.HasSuffix(key, "type") || strings.HasSuffix(key, "kind")) {
			return namesTool
		}
		input = input || strings.HasSuffix(key, "input") || strings.HasSuffix(key, "inputs")
		output = output || strings.HasSuffix(key, "output") || strings.HasSuffix(key, "outputs")
	}
	if input && output {
		return hasContent
	}
	return nothing
}

// failureOf returns a member of the exception, such as its message, else what stands for it.
func failureOf(s *otlp.Span, member, status string) (text string) {
	for i := range s.Events {
		if e := &s.Events[i]; e.Name == "exception" {
			text = e.Attributes.Text("exception." + member)
		}
	}
	return cmp.Or(text, status, s.Attributes.First("exception."+member, "error."+member))
}

// spanStatus returns the HTTP status of a failure; 0: none is known.
func spanStatus(s *otlp.Span) int {
	for _, key := range []string{
		"http.response.status_code", "http.status_code", "rpc.jsonrpc.error_code", "error.type",
	} {
		if n, err := strconv.Atoi(s.Attributes.Text(key)); err == nil && (n >= 400 && n <= 599 || n < -32000) {
			return n
		}
	}
	return 0
}
