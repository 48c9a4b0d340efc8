package dialect

import (
	"cmp"
	"encoding/json"
)

// An agentsSpan is an item of what the OpenAI Agents SDK exports: a span, or a trace.
type agentsSpan struct {
	Object   string `json:"object"`
	ID       string `json:"id"`
	TraceID  string `json:"trace_id"`
	ParentID string `json:"parent_id"`
	Start    string `json:"started_at"`
	End      string `json:"ended_at"`
	Data     struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Model  string          `json:"model"`
		Input  json.RawMessage `json:"input"`
		Output json.RawMessage `json:"output"`
	} `json:"span_data"`
	Error *struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func toldOpenAIAgents(s *shape) bool {
	return s.has("span_data") || s.is("object", "trace.span") || s.is("object", "trace") && s.has("workflow_name")
}

func readOpenAIAgents(in *input) {
	for _, d := range in.objects() {
		var s agentsSpan
		if !in.decode(d, &s) {
			continue
		}
		if s.Object == "trace" {
			in.record(s.ID)
			continue
		}
		if s.TraceID == "" || s.ID == "" {
			in.refuse(d.line, "trace_id", s.TraceID, "a trace_id and an id, as every span has them")
			continue
		}
		in.agentsSpan(d.line, &s)
	}
}

// agentsSpan adds a span. Input and output of a function are texts; null stands for
// what was withheld and for an output that is empty.
func (in *input) agentsSpan(line int, s *agentsSpan) {
	r := in.record(s.TraceID)
	n := node{id: s.ID, parent: s.ParentID, name: s.Data.Name}
	in.times(r, line, &n, s.Start, s.End)
	switch s.Data.Type {
	case "function":
		n.kind = tool
		if n.name == "" {
			in.refuse(line, "span_data.name", nil, "the name of a function")
		}
		n.setArgs(content(s.Data.Input))
		n.setResult(content(s.Data.Output))
	case "generation", "response":
		n.kind, n.name = model, cmp.Or(s.Data.Model, s.Data.Name, s.Data.Type)
		n.setArgs(content(s.Data.Input))
		n.setResult(content(s.Data.Output))
		n.said = talk{promptsIn(n.args), answerIn(n.result)}
		n.asked, n.told = messagesIn(n.args, maxWrappers), messagesIn(n.result, maxWrappers)
	case "agent":
		n.kind = agent
	}
	if n.isCall() && s.Error != nil {
		n.fail(agentsError(s), 0)
	}
	in.add(r, line, n)
}

// agentsError returns the text of an error: that of its cause where it is there, since
// the message is the same for every tool.
func agentsError(s *agentsSpan) string {
	if len(s.Error.Data) > 0 && s.Error.Data[0] == '{' {
		if cause, is := textOf(membersOf(s.Error.Data)["error"]); is && cause != "" {
			return cause
		}
	}
	return s.Error.Message
}
