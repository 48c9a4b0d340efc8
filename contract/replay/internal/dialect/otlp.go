package dialect

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/otlp"
)

// A convention says where spans keep the content of calls. Each function returns nil
// where a span does not have it.
type convention struct {
	args, result func(*otlp.Span) json.RawMessage // of a tool
	asked, told  func(*otlp.Span) []message       // by and to a model
	in, out      func(*otlp.Span) json.RawMessage // of a model or anything else
}

// conventions returns those known, in the order in which a span is asked: each member
// comes from the first that has it.
func conventions() []convention {
	return []convention{genAI(), openInference(), traceloop(), adk()}
}

// readOTLP reads spans. A trace is a run.
func readOTLP(in *input) {
	r := otlp.Reader{Fields: in.o.Fields, Wrong: in.wrong, MaxSpans: in.o.MaxNodes, Open: true}
	known := conventions()
	r.Read(in.text, func(at *otlp.Place, s *otlp.Span) {
		if at.Bad() || isMergedADK(s) {
			return
		}
		n := nodeOf(s, known)
		if n.isCall() && n.name == "" {
			at.Refuse("name", nil, "a name that is not empty")
			return
		}
		of := in.record(strings.ToLower(s.TraceID))
		of.timed = true
		in.add(of, at.Line, n)
	})
}

func nodeOf(s *otlp.Span, known []convention) node {
	n := node{
		id: hex.EncodeToString(s.ID[16:]), callID: s.Attributes.Text("gen_ai.tool.call.id"),
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
		n.kind = tool
		n.setArgs(firstArgs(s, known))
		n.setResult(firstResult(s, known))
	case is == otlp.Model:
		n.kind = model
		n.model(s, known)
	default:
		if is == otlp.Agent {
			n.kind = agent
		}
		n.said = talk{prompts: promptsIn(firstIn(s, known)), answer: answerIn(firstOut(s, known))}
	}
	if n.isCall() && s.Failed() {
		n.fail(spanError(s), spanStatus(s))
		if n.failure.RetryAfter = seconds(s.Attributes.Find("http.response.header.retry-after")); n.open {
			n.open = false // it says how it ended
		}
	}
	return n
}

// model fills in what was asked of a model and what it told: as it was recorded, or the
// messages that attributes have one by one.
func (n *node) model(s *otlp.Span, known []convention) {
	var asked, told []message
	for _, c := range known {
		if asked == nil {
			asked = c.asked(s)
		}
		if told == nil {
			told = c.told(s)
		}
	}
	n.said = talk{prompts: talkOf(asked).prompts, answer: talkOf(told).answer}
	args, result := firstIn(s, known), firstOut(s, known)
	if args == nil {
		args = documentOf(asked)
	}
	if result == nil {
		result = documentOf(told)
	}
	n.setArgs(args)
	n.setResult(result)
}

func documentOf(messages []message) json.RawMessage {
	if len(messages) == 0 {
		return nil
	}
	doc, err := json.Marshal(messages)
	if err != nil {
		return nil
	}
	return doc
}

// firstArgs and the like return the document of the first convention that has it.
func firstArgs(s *otlp.Span, known []convention) json.RawMessage {
	return first(known, func(c *convention) json.RawMessage { return c.args(s) })
}

func firstResult(s *otlp.Span, known []convention) json.RawMessage {
	return first(known, func(c *convention) json.RawMessage { return c.result(s) })
}

func firstIn(s *otlp.Span, known []convention) json.RawMessage {
	return first(known, func(c *convention) json.RawMessage { return c.in(s) })
}

func firstOut(s *otlp.Span, known []convention) json.RawMessage {
	return first(known, func(c *convention) json.RawMessage { return c.out(s) })
}

func first(known []convention, of func(*convention) json.RawMessage) json.RawMessage {
	for i := range known {
		if doc := of(&known[i]); doc != nil {
			return doc
		}
	}
	return nil
}

// attribute returns the value of an attribute as content.
func attribute(s *otlp.Span, key string) json.RawMessage {
	v := s.Attributes.Find(key)
	if v == nil {
		return nil
	}
	doc := v.JSON() // of a text that is JSON, that JSON
	for _, h := range hidden {
		if string(doc) == h {
			return nil
		}
	}
	return doc
}

// spanError returns the text of a failure: of the exception, else of the status, else
// its type.
func spanError(s *otlp.Span) string {
	text := ""
	for i := range s.Events {
		if e := &s.Events[i]; e.Name == "exception" {
			text = e.Attributes.First("exception.message", "exception.type")
		}
	}
	switch {
	case text != "":
	case s.Status.Message != "":
		text = s.Status.Message
	default:
		text = s.Attributes.First("exception.message", "error.message", "error.type")
	}
	return text
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
