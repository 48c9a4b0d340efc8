package dialect

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
)

// A langsmithRun is a run of LangSmith, with the runs within it where the export has
// them as a tree.
type langsmithRun struct {
	ID       string          `json:"id"`
	TraceID  string          `json:"trace_id"`
	ParentID string          `json:"parent_run_id"`
	Type     string          `json:"run_type"`
	Name     string          `json:"name"`
	Inputs   json.RawMessage `json:"inputs"`
	Outputs  json.RawMessage `json:"outputs"`
	Error    string          `json:"error"`
	Status   string          `json:"status"`
	Start    string          `json:"start_time"`
	End      string          `json:"end_time"`
	Order    string          `json:"dotted_order"`
	Children []langsmithRun  `json:"child_runs"`
	Extra    struct {
		Metadata struct {
			Model string `json:"ls_model_name"`
		} `json:"metadata"`
	} `json:"extra"`
}

func readLangSmith(in *input) {
	for _, d := range in.objects() {
		var run langsmithRun
		if in.decode(d, &run) {
			in.langsmith(d.line, &run, "", "")
		}
	}
}

// langsmith adds a run, and those within it. The depth is that of the document, which
// encoding/json has bounded.
func (in *input) langsmith(line int, run *langsmithRun, trace, parent string) {
	run.order()
	trace = cmp.Or(run.TraceID, trace, run.ID)
	r := in.record(trace)
	n := node{id: run.ID, parent: cmp.Or(run.ParentID, parent), name: run.Name}
	in.times(r, line, &n, run.Start, run.End)
	switch run.Type {
	case "tool":
		n.kind = tool
		n.setArgs(only(filled(run.Inputs), "input"))
		result, failed := toolMessage(only(filled(run.Outputs), "output"))
		n.succeeded = run.Status == "success"
		if n.setResult(result); failed {
			n.fail(words(result), 0)
		}
	case "llm":
		n.kind, n.name = model, cmp.Or(run.Extra.Metadata.Model, run.Name)
		n.setArgs(filled(run.Inputs))
		n.setResult(filled(run.Outputs))
	}
	if n.isCall() {
		if n.name == "" {
			in.refuse(line, "name", nil, "the name of a tool")
		}
		if run.Error != "" || run.Status == "error" && n.failure == nil {
			n.fail(errorText(run.Error), 0)
		}
	}
	if n.kind == model {
		n.asked, n.told = messagesIn(n.args, maxWrappers), messagesIn(n.result, maxWrappers)
	}
	if n.kind != tool {
		n.said = talk{promptsIn(filled(run.Inputs)), answerIn(filled(run.Outputs))}
	}
	in.add(r, line, n)
	for i := range run.Children {
		in.langsmith(line, &run.Children[i], trace, run.ID)
	}
}

// order takes from the dotted order what other members lack: it is a list of time and
// id of each run from the outermost to this one.
func (run *langsmithRun) order() {
	if run.Order == "" {
		return
	}
	steps := strings.Split(run.Order, ".")
	const stamp = len("20060102T150405000000Z")
	id := func(step string) string { return step[min(stamp, len(step)):] }
	if run.TraceID == "" {
		run.TraceID = id(steps[0])
	}
	if run.ParentID == "" && len(steps) > 1 {
		run.ParentID = id(steps[len(steps)-2])
	}
}

// only returns the value of the one member that a wrapper has; any other document as it
// is.
func only(doc json.RawMessage, name string) json.RawMessage {
	if len(doc) == 0 || doc[0] != '{' {
		return doc
	}
	if m := membersOf(doc); len(m) == 1 && m[name] != nil {
		return content(m[name])
	}
	return doc
}

// toolMessage returns the content of a message of LangChain that a tool returned, and
// whether it says that the tool failed.
func toolMessage(doc json.RawMessage) (result json.RawMessage, failed bool) {
	if len(doc) == 0 || doc[0] != '{' {
		return doc, false
	}
	m := membersOf(doc)
	if kwargs := m["kwargs"]; m["lc"] != nil && len(kwargs) > 0 && kwargs[0] == '{' {
		m = membersOf(kwargs)
	}
	if string(m["type"]) == `"tool"` && m["content"] != nil {
		return content(m["content"]), string(m["status"]) == `"error"`
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
