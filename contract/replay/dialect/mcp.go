package dialect

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

type mcpLine struct {
	members
	line int
	at   time.Time // zero: the log does not have it
}

type mcpReader struct {
	*input
	*record
	timed bool
	place int64
	open  map[string]int  // calls without an answer, by the id of the request
	asked map[string]bool // requests of the server, which counts ids of its own

	answered map[string]bool // ids of calls: a log of both ends has each message twice
}

// readMCP reads the messages of one session, or of several: each begins with a request
// to initialize. Lines without times have their places: so calls that overlap are known.
func readMCP(in *input) {
	var lines []mcpLine
	timed := true
	for _, d := range in.objects() {
		l := mcpLine{members: objectOf(d.raw), line: d.line}
		if stamp := l.value("timestamp", "time", "ts"); stamp != nil {
			l.at, _ = clock(stamp)
		}
		if inner := l.object("message"); inner != nil && l.members["jsonrpc"] == nil { // in the line of a log
			l.members = inner
		}
		timed = timed && !l.at.IsZero()
		lines = append(lines, l)
	}
	m := &mcpReader{input: in, timed: timed}
	for i := range lines {
		if m.record == nil || lines[i].text("method") == "initialize" && len(m.record.nodes) > 0 {
			m.record = in.newRecord("")
			if m.record.timed = timed; timed {
				zero := lines[i].at.UnixNano()
				m.record.began, m.record.zero = lines[i].at, &zero
			}
			m.open, m.asked, m.answered = make(map[string]int), make(map[string]bool), make(map[string]bool)
		}
		if at := lines[i].at; timed && at.Before(m.record.began) { // lines may be out of order
			m.record.began, *m.record.zero = at, at.UnixNano()
		}
		m.read(&lines[i])
	}
}

func cmpOr(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

func (m *mcpReader) read(l *mcpLine) {
	m.place++
	at, id, method, result := m.place, string(l.members["id"]), l.text("method"), l.members["result"]
	if m.timed {
		at = l.at.UnixNano()
	}
	switch {
	case method == "tools/call":
		m.call(l, at, id)
	case slices.Contains(serverMethods[:], method):
		m.asked[id] = true
	case method != "" || id == "" || id == "null":
	case m.asked[id] && (!empty(l.members["error"]) || !isToolResult(result)):
		delete(m.asked, id)
	default:
		call, there := m.open[id]
		switch {
		case there:
			delete(m.open, id)
			m.answered[id] = true
			m.answer(l, at, &m.record.nodes[call])
		case !m.answered[id] && isToolResult(result):
			m.lose(1, "an answer to a call that is not in the record")
		}
	}
}

var serverMethods = [...]string{"sampling/createMessage", "elicitation/create", "roots/list", "ping"}

func (m *mcpReader) call(l *mcpLine, at int64, id string) {
	params := l.object("params")
	n := node{kind: tool, name: params.text("name"), start: at, end: at, open: true, noResult: true}
	if n.name == "" {
		m.refuse(l.line, "params.name", string(params["name"]), "the name of a tool")
		return
	}
	if params["arguments"] != nil { // without them the tool gets none
		n.setArgs(content(params["arguments"]))
	}
	if before, there := m.open[id]; there { // a log of both ends has each message twice
		if b := m.record.nodes[before]; b.name != n.name || string(b.args) != string(n.args) {
			m.refuse(l.line, "id", id, "an id that no other call has that is under way")
		}
		return
	}
	m.open[id] = len(m.record.nodes)
	m.input.add(m.record, l.line, n)
}

func (m *mcpReader) answer(l *mcpLine, at int64, n *node) {
	if at < n.start {
		m.refuse(l.line, "timestamp", l.at.Format(time.RFC3339Nano), "not before that of the request")
	}
	n.end, n.open = at, false
	if e := l.members["error"]; !empty(e) {
		code, _ := strconv.Atoi(string(l.object("error")["code"]))
		n.fail(textIn(e, []string{"message"}, 1), code)
		return
	}
	doc, failed := toolResult(l.members["result"])
	if n.setResult(doc); failed {
		n.fail(words(doc), 0)
	}
}

func isToolResult(result json.RawMessage) bool {
	m := objectOf(result)
	return len(m["content"]) > 0 && m["content"][0] == '[' || m["structuredContent"] != nil || m["isError"] != nil
}

// toolResult returns the result of a tool as its model sees it: the structure if there
// is one, else the text, else the parts.
func toolResult(result json.RawMessage) (doc json.RawMessage, failed bool) {
	if !isToolResult(result) {
		return content(result), false
	}
	m := membersOf(result)
	failed = string(m["isError"]) == "true"
	switch {
	case !empty(m["structuredContent"]) && !failed:
		return m["structuredContent"], false
	case empty(m["content"]):
		return jsonvalue.OfBytes([]byte(`""`)), failed
	}
	return spoken(m["content"]), failed
}
