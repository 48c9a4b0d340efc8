package dialect

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A vendor is a product whose export lists the steps of a run as objects. Its row has the
// names of members: a dot leads into an object, and of several names the first that has a
// text counts.
type vendor struct {
	trace, id, parent, kind, name, model, start, end string
	input, output                                    string
	kinds                                            map[string]kind // by the member kind, in capitals
	inside                                           string          // the list of what is within an object
	withheld                                         func(json.RawMessage) json.RawMessage

	// prepare changes a step before it is read; nil: it is read as it is.
	prepare func(m members)
	// run finds the run that an object at the top is, and reports whether it is none, but a
	// step; nil: each is a step.
	run func(in *input, line int, m members) (r *record, isStep bool)
	// call completes a call: its failure, and what stands around its content.
	call func(n *node, m members, text func(names string) string)
}

func langfuse() *vendor {
	return &vendor{
		trace: "traceId", id: "id", parent: "parentObservationId", kind: "type", name: "name", model: "model name",
		start: "startTime", end: "endTime", input: "input", output: "output", inside: "observations", withheld: content,
		kinds: map[string]kind{"TOOL": tool, "GENERATION": model, "EMBEDDING": model, "AGENT": agent, "SPAN": span},
		prepare: func(m members) {
			if m.text("type") == "EVENT" && m["endTime"] == nil {
				m["endTime"] = m["startTime"]
			}
		},
		run: func(in *input, line int, m members) (r *record, isStep bool) {
			switch list := m["observations"]; {
			case empty(list) && m.text("traceId") != "":
				return nil, true
			case list == nil && m.text("timestamp", "startTime") == "":
				in.refuse(line, "observations", nil, "a trace with them, or an observation with a traceId")
				return nil, false
			}
			r = in.record(m.text("id"))
			r.prompts, r.answer = promptsIn(content(m["input"])), answerIn(content(m["output"]))
			return r, false
		},
		call: func(n *node, _ members, text func(string) string) {
			if text("level") == "ERROR" {
				n.fail(text("statusMessage"), 0)
			}
		},
	}
}

func langsmith() *vendor {
	return &vendor{
		trace: "trace_id", id: "id", parent: "parent_run_id", kind: "run_type", name: "name",
		model: "extra.metadata.ls_model_name name", start: "start_time", end: "end_time",
		input: "inputs", output: "outputs", inside: "child_runs", withheld: filled,
		kinds:   map[string]kind{"TOOL": tool, "LLM": model},
		prepare: dottedOrder,
		call: func(n *node, _ members, text func(string) string) {
			recorded, status := text("error"), text("status")
			if n.kind == tool {
				result, failed := toolMessage(only(n.result, "output"))
				n.setArgs(only(n.args, "input"))
				n.succeeded = status == "success"
				if n.setResult(result); failed {
					n.fail(words(result), 0)
				}
			}
			if recorded != "" || status == "error" && n.failure == nil {
				n.fail(errorText(recorded), 0)
			}
		},
	}
}

func openAIAgents() *vendor {
	return &vendor{
		trace: "trace_id", id: "id", parent: "parent_id", kind: "span_data.type", name: "span_data.name",
		model: "span_data.model span_data.name span_data.type", start: "started_at", end: "ended_at",
		input: "span_data.input", output: "span_data.output", withheld: content,
		kinds: map[string]kind{"FUNCTION": tool, "GENERATION": model, "RESPONSE": model, "AGENT": agent},
		run: func(in *input, line int, m members) (r *record, isStep bool) {
			switch {
			case m.text("object") == "trace":
				return in.record(m.text("id")), false
			case m.text("trace_id") == "" || m.text("id") == "":
				in.refuse(line, "trace_id", m.text("trace_id"), "a trace_id and an id, as every span has them")
				return nil, false
			}
			return nil, true
		},
		call: func(n *node, m members, _ func(string) string) {
			if e := m.object("error"); !empty(m["error"]) { // its cause says more: the message is the same for all
				n.fail(cmp.Or(e.object("data").text("error"), e.text("message"), words(m["error"])), 0)
			}
		},
	}
}

func (v *vendor) read(in *input) {
	for _, d := range in.objects() {
		v.step(in, d, nil, "")
	}
	for _, r := range in.records {
		r.leavesAreTools()
	}
}

// step adds a step, and those within it. The depth is that of the document, which
// encoding/json has bounded.
func (v *vendor) step(in *input, d document, r *record, parent string) {
	m := objectOf(d.raw)
	if m == nil {
		in.refuse(d.line, "input", string(d.raw), "objects")
		return
	}
	id, isStep := "", true
	if v.run != nil && r == nil {
		r, isStep = v.run(in, d.line, m)
	}
	if isStep {
		r, id = v.add(in, d.line, m, r, parent)
	}
	if list := m[v.inside]; !empty(list) {
		for _, inner := range in.elements(document{list, d.line}) {
			v.step(in, inner, r, id)
		}
	}
}

// add adds the node of a step to its run, r if that is known, and returns the run and the id
// of the step.
func (v *vendor) add(in *input, line int, m members, r *record, parent string) (run *record, id string) {
	if v.prepare != nil {
		v.prepare(m)
	}
	text := func(names string) string { return in.textAt(line, m, names) }
	id = text(v.id)
	if r == nil {
		r = in.record(cmp.Or(text(v.trace), id))
	}
	n := node{id: id, parent: cmp.Or(text(v.parent), parent), name: text(v.name)}
	in.times(r, line, &n, text(v.start), text(v.end))
	n.kind = v.kinds[strings.ToUpper(text(v.kind))]
	asked, told := v.withheld(m.path(v.input)), v.withheld(m.path(v.output))
	if n.kind == model {
		n.name = text(v.model)
		n.asked, n.told = messagesIn(asked, maxWrappers), messagesIn(told, maxWrappers)
	}
	if n.kind != tool {
		n.said = talk{promptsIn(asked), answerIn(told)}
	}
	if n.isCall() || n.kind == span {
		if n.name == "" {
			in.refuse(line, v.name, nil, "the name of a tool")
		}
		n.setArgs(asked)
		n.setResult(told)
		v.call(&n, m, text)
	}
	in.add(r, line, n)
	return r, id
}

// textAt returns the first of the members that has a text. One that is of another type is
// refused.
func (in *input) textAt(line int, m members, names string) string {
	for name := range strings.FieldsSeq(names) {
		raw := m.path(name)
		if s, is := textOf(raw); s != "" {
			return s
		} else if !is && !empty(raw) {
			in.refuse(line, name, fielderror.Found(string(raw)), "a text")
		}
	}
	return ""
}

// path returns a member, or one of an object that is one.
func (m members) path(name string) json.RawMessage {
	outer, inner, within := strings.Cut(name, ".")
	if !within {
		return m[name]
	}
	return m.object(outer).path(inner)
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

// dottedOrder takes from the dotted order of LangSmith what other members lack: it is a list
// of time and id of each run from the outermost to this one.
func dottedOrder(m members) {
	order := m.text("dotted_order")
	if order == "" {
		return
	}
	steps := strings.Split(order, ".")
	const stamp = len("20060102T150405000000Z")
	set := func(name, step string) {
		if m.text(name) == "" {
			m[name] = marshalled(step[min(stamp, len(step)):])
		}
	}
	set("trace_id", steps[0])
	if len(steps) > 1 {
		set("parent_run_id", steps[len(steps)-2])
	}
}

// only returns the value of the one member that a wrapper has; any other document as it
// is.
func only(doc json.RawMessage, name string) json.RawMessage {
	if m := objectOf(doc); len(m) == 1 && m[name] != nil {
		return content(m[name])
	}
	return doc
}

// toolMessage returns the content of a message of LangChain that a tool returned, and
// whether it says that the tool failed.
func toolMessage(doc json.RawMessage) (result json.RawMessage, failed bool) {
	m := objectOf(doc)
	if kwargs := m.object("kwargs"); m["lc"] != nil && kwargs != nil {
		m = kwargs
	}
	if m.text("type") == "tool" && m["content"] != nil {
		return content(m["content"]), m.text("status") == "error"
	}
	return doc, false
}

// repr is how Python writes an exception: its type, and its message in quotes.
var repr = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*\((?:'(.*)'|"(.*)"),?\)$`)

// errorText returns the message of an error that was recorded with the stack: what
// stands before a traceback of Python, or the last line of one.
func errorText(recorded string) string {
	before, _, stack := strings.Cut(recorded, "Traceback (most recent call last)")
	text := strings.TrimSpace(before)
	if text == "" && stack {
		recorded = strings.TrimSpace(recorded)
		text = recorded[strings.LastIndexByte(recorded, '\n')+1:]
	}
	if m := repr.FindStringSubmatch(text); m != nil {
		text = m[1] + m[2] // one of the two is empty
	}
	return text
}
