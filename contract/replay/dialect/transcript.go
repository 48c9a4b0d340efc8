package dialect

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// readTranscript reads conversations. Each item is read in its own form, whatever those
// before it have: a dialect is told by the first of them.
func readTranscript(in *input) {
	for _, c := range in.conversations() {
		r := in.newRecord(c.id)
		r.began = c.began
		t := newTranscript(in, r, c.line)
		items := make([]members, 0, len(c.items))
		for _, raw := range c.items {
			if len(raw) == 0 || raw[0] != '{' {
				in.refuse(c.line, "input", string(raw), "messages, which are objects")
				continue
			}
			items = append(items, itemOf(raw))
		}
		if newestFirst(items) {
			slices.Reverse(items)
			slices.Reverse(c.items)
		}
		for i, m := range items {
			t.item(m, c.items[i])
		}
		r.prompts, r.answer = t.said.prompts, t.said.answer
	}
}

// newestFirst reports whether an answer stands before its call, as in the lists of the
// Responses API unless they are asked for in ascending order.
func newestFirst(items []members) bool {
	called := make(map[string]bool)
	for i, m := range items {
		id := m.text("call_id")
		switch {
		case id == "":
		case m.answer() != nil:
			return !called[id] && slices.ContainsFunc(items[i:], func(later members) bool {
				return later.text("call_id") == id && later.call() != nil
			})
		case m.call() != nil:
			called[id] = true
		}
	}
	return false
}

// A transcript makes nodes of a conversation. It has no times, but places: those of its
// calls and answers. So calls overlap that were asked for before the first was answered.
type transcript struct {
	*input
	*record
	line int
	open map[string][]int // calls without an answer, by their ids
	seen map[string]bool  // ids of calls
	from int              // the first call of this turn
	at   int64            // the place of the last call or answer
	said talk
	read int  // calls of this item
	once bool // conversations that repeat each other: an id is one call
}

func newTranscript(in *input, r *record, line int) *transcript {
	return &transcript{input: in, record: r, line: line, open: make(map[string][]int), seen: make(map[string]bool)}
}

// turn begins another turn: calls from here on may have ids that were used before.
func (t *transcript) turn() { t.from = len(t.record.nodes) }

// item reads an item. Calls that it names in a form that is not read are counted.
func (t *transcript) item(m members, raw json.RawMessage) {
	t.read = 0
	switch call, answer := m.call(), m.answer(); {
	case m["role"] == nil && call != nil:
		t.asks(call)
		if m.kind() == "mcp_call" && !(empty(m["output"]) && empty(m["error"])) { // the provider called the server
			t.answers(m)
		}
	case m["role"] == nil && answer != nil:
		t.answers(answer)
	default:
		t.message(m)
	}
	if lost := namedCalls(raw) - t.read; lost > 0 && t.read == 0 {
		t.lose(lost, "a message that names a call in a form that is not read")
	}
}

func (t *transcript) message(m members) {
	parts := m.parts()
	alone := !slices.ContainsFunc(parts, func(raw json.RawMessage) bool { return objectOf(raw).answer() != nil })
	if m.role() == "tool" && alone {
		t.answers(m)
		return
	}
	t.said.add(m)
	t.turn()
	for _, raw := range parts {
		part := objectOf(raw)
		if a := part.answer(); a != nil {
			t.answers(a)
		} else if c := part.call(); c != nil && !m.listsBeside(c.callID()) {
			t.asks(c)
		}
	}
	for _, c := range m.beside() {
		t.asks(c)
	}
}

func (t *transcript) asks(m members) {
	name, args := m.function()
	t.read++
	if name == "" {
		t.refuse(t.line, "name", nil, "the name of a tool")
		return
	}
	id := m.callID()
	if t.once && id != "" && t.seen[id] {
		return
	}
	at := len(t.record.nodes)
	t.at++
	n := node{kind: tool, name: name, start: t.at, end: t.at, open: true, noResult: true}
	n.setArgs(content(args))
	if s, is := textOf(args); is && strings.TrimSpace(s) == "" { // what providers write for none
		n.args, n.noArgs = nil, false
	}
	t.add(t.record, t.line, n)
	waiting := t.open[id]
	if len(waiting) > 0 && waiting[0] < t.from {
		waiting = nil // those of an earlier turn never got an answer
	}
	t.open[id], t.seen[id] = append(waiting, at), true
}

// answers ends the first call with the id of an answer that has none. Without an id it is
// that of the tool with its name, else the first that waits.
func (t *transcript) answers(m members) {
	t.turn()
	id := m.callID()
	waiting, at := t.open[id], 0
	if name := m.text("tool_name", "name"); id == "" && name != "" {
		at = max(0, slices.IndexFunc(waiting, func(i int) bool { return t.record.nodes[i].name == name }))
	}
	if len(waiting) == 0 {
		if !t.seen[id] {
			t.lose(1, "an answer to a call that is not in the record")
		}
		return
	}
	n := &t.record.nodes[waiting[at]]
	t.open[id] = slices.Delete(waiting, at, at+1)
	t.at++
	n.open, n.end = false, t.at
	n.answered(m)
}

func (n *node) answered(m members) {
	doc := m.value("content", "output", "response", "result")
	if doc == nil && m["error"] == nil {
		doc = json.RawMessage(`""`) // a tool that returns nothing has no content
	}
	inner := objectOf(doc)
	switch { // what Gemini puts around a result
	case m["response"] == nil || len(inner) != 1:
	case inner["output"] != nil || inner["result"] != nil:
		doc = inner.value("output", "result")
	}
	n.setResult(spoken(doc))
	failed := string(m.value("is_error", "isError")) == "true" || m.text("status") == "error" ||
		m.kind() == "retry_prompt"
	code := ""
	if strings.HasSuffix(inner.text("type"), "_error") { // a tool that the provider runs itself
		failed, code = true, inner.text("error_code")
	}
	if e := m["error"]; !empty(e) {
		failed, code = true, textIn(e, []string{"message", "content"}, maxWrappers)
	} else if m["response"] != nil && len(inner) == 1 && !empty(inner["error"]) {
		failed, code = true, textIn(inner["error"], []string{"message"}, maxWrappers)
	}
	if failed {
		n.fail(cmp.Or(code, words(n.result)), 0)
	}
}

// spoken returns the content of an answer: its text as a document, or the parts where
// one is not text.
func spoken(raw json.RawMessage) json.RawMessage {
	parts, _ := listOf(raw)
	if len(parts) == 0 {
		return content(raw)
	}
	for _, p := range parts {
		if p[0] != '{' {
			return content(raw)
		}
		m := membersOf(p)
		if json := m["json"]; len(m) == 1 && json != nil && len(parts) == 1 { // Bedrock
			return content(json)
		}
		switch kind := m.text("type"); {
		case kind == "text", kind == "input_text", kind == "output_text", kind == "" && m["text"] != nil:
		default:
			return content(raw)
		}
	}
	return jsonvalue.OfBytes([]byte(saidBy(raw)))
}

func words(doc json.RawMessage) string {
	if s, is := textOf(doc); is {
		return s
	}
	return string(doc)
}
