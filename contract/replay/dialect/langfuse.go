package dialect

import (
	"cmp"
	"encoding/json"
	"strings"
)

// A langfuseTrace is a trace of Langfuse's public API, with its observations; the
// members of an observation stand beside them, for exports that list these alone.
type langfuseTrace struct {
	langfuseObservation
	Timestamp    string                `json:"timestamp"`
	Observations []langfuseObservation `json:"observations"`
}

type langfuseObservation struct {
	ID       string          `json:"id"`
	TraceID  string          `json:"traceId"`
	ParentID string          `json:"parentObservationId"`
	Type     string          `json:"type"`
	Name     string          `json:"name"`
	Model    string          `json:"model"`
	Start    string          `json:"startTime"`
	End      string          `json:"endTime"`
	Input    json.RawMessage `json:"input"`
	Output   json.RawMessage `json:"output"`
	Level    string          `json:"level"`
	Status   string          `json:"statusMessage"`
}

func toldLangfuse(s *shape) bool {
	return s.has("observations") || s.has("parentObservationId") ||
		s.has("traceId") && s.has("startTime") && s.has("level")
}

// readLangfuse reads traces with observations, or observations alone.
func readLangfuse(in *input) {
	for _, d := range in.objects() {
		var t langfuseTrace
		if !in.decode(d, &t) {
			continue
		}
		if t.Observations == nil && t.TraceID != "" {
			in.langfuse(in.record(t.TraceID), d.line, &t.langfuseObservation)
			continue
		}
		if t.Observations == nil && t.Timestamp == "" && t.Start == "" {
			in.refuse(d.line, "observations", nil, "a trace with them, or an observation with a traceId")
			continue
		}
		r := in.record(t.ID)
		r.prompts, r.answer = promptsIn(content(t.Input)), answerIn(content(t.Output))
		for i := range t.Observations {
			in.langfuse(r, d.line, &t.Observations[i])
		}
	}
	for _, r := range in.records {
		r.leavesAreTools()
	}
}

func (in *input) langfuse(r *record, line int, o *langfuseObservation) {
	n := node{id: o.ID, parent: o.ParentID, name: o.Name}
	if o.Type == "EVENT" && o.End == "" {
		o.End = o.Start
	}
	in.times(r, line, &n, o.Start, o.End)
	switch strings.ToUpper(o.Type) {
	case "TOOL":
		n.kind = tool
	case "GENERATION", "EMBEDDING":
		n.kind, n.name = model, cmp.Or(o.Model, o.Name)
	case "AGENT":
		n.kind = agent
	case "SPAN":
		n.kind = span
	}
	if n.isCall() || n.kind == span {
		if n.name == "" {
			in.refuse(line, "name", nil, "the name of a tool")
		}
		n.setArgs(content(o.Input))
		n.setResult(content(o.Output))
		if o.Level == "ERROR" {
			n.fail(o.Status, 0)
		}
	}
	if n.kind == model {
		n.asked, n.told = messagesIn(n.args, maxWrappers), messagesIn(n.result, maxWrappers)
	}
	if n.kind != tool {
		n.said = talk{promptsIn(content(o.Input)), answerIn(content(o.Output))}
	}
	in.add(r, line, n)
}

// leavesAreTools makes calls of the spans that have nothing within them, if the record
// names no tool: before Langfuse had a type for tools, they were such spans. One that is
// alone at the top is the run itself.
func (r *record) leavesAreTools() {
	hasTools, top, inside := false, 0, make(map[string]bool)
	for i := range r.nodes {
		hasTools = hasTools || r.nodes[i].kind == tool
		inside[r.nodes[i].parent] = true
		if r.nodes[i].parent == "" {
			top++
		}
	}
	for i := range r.nodes {
		if n := &r.nodes[i]; n.kind == span {
			if n.kind = other; !hasTools && !inside[n.id] && (n.parent != "" || top > 1) {
				n.kind, n.said = tool, talk{}
			}
		}
	}
}
