package dialect

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/hash"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// A conversation is a list of messages or items, and what stands beside it.
type conversation struct {
	id     string
	thread string // of which it is a part; "": the record does not say
	began  time.Time
	items  []json.RawMessage
	line   int
}

// beside are the members of a conversation.
type beside struct {
	ID       string            `json:"id"`
	Thread   string            `json:"thread_id"`
	Session  string            `json:"session_id"`
	Created  json.RawMessage   `json:"created"`
	At       json.RawMessage   `json:"created_at"`
	Messages []json.RawMessage `json:"messages"`
	Input    json.RawMessage   `json:"input"`
	Output   []json.RawMessage `json:"output"`
	Choices  []struct {
		Message json.RawMessage `json:"message"`
	} `json:"choices"`
}

// conversations returns those of the input: documents with a list of messages, lists of
// messages, or lines of one message each, which together are one conversation, or one for
// each thread that they name. A document that goes on where another ended, as logs of requests do, replaces it.
func (in *input) conversations() []conversation {
	var all []conversation
	loose := make(map[string]int) // the conversations of the lines, by their threads
	for _, d := range in.documents() {
		switch {
		case d.raw[0] == '{' && isConversation(d.raw):
			all = in.conversation(all, d)
			clear(loose)
		case d.raw[0] == '{' && membersOf(d.raw)["data"] == nil:
			thread := threadOf(d.raw)
			at, there := loose[thread]
			if !there {
				at, all = len(all), append(all, conversation{id: thread, thread: thread, line: d.line})
				loose[thread] = at
			}
			all[at].items = append(all[at].items, d.raw)
		default:
			clear(loose)
			list := in.elements(d)
			if len(list) > 0 && len(list[0].raw) > 0 && list[0].raw[0] == '{' && isConversation(list[0].raw) {
				for _, e := range list {
					all = in.conversation(all, e)
				}
				continue
			}
			c := conversation{line: d.line}
			for _, e := range list {
				c.items = append(c.items, e.raw)
			}
			all = append(all, c)
		}
	}
	return longest(all)
}

// threadOf returns the thread that a message says it is a part of; "": it says none.
func threadOf(message []byte) string {
	m := membersOf(message)
	thread, _ := textOf(m["thread_id"])
	session, _ := textOf(m["session_id"])
	return cmp.Or(thread, session)
}

// isConversation reports whether an object has messages, and is not one itself.
func isConversation(object []byte) bool {
	m := membersOf(object)
	return m["messages"] != nil || m["choices"] != nil ||
		m["role"] == nil && m["type"] == nil && m["call_id"] == nil && (m["input"] != nil || m["output"] != nil)
}

func (in *input) conversation(all []conversation, d document) []conversation {
	var b beside
	if !in.decode(d, &b) {
		return all
	}
	c := conversation{line: d.line, items: b.Messages, thread: cmp.Or(b.Thread, b.Session)}
	for _, id := range []string{b.ID, b.Thread, b.Session} {
		if c.id == "" {
			c.id = id
		}
	}
	for _, at := range []json.RawMessage{b.At, b.Created} {
		if t, ok := clock(at); ok && c.began.IsZero() {
			c.began = t
		}
	}
	if s, is := textOf(b.Input); is {
		item, _ := json.Marshal(message{Role: "user", Type: "message", Content: b.Input}) // a string has JSON
		if s != "" {
			c.items = append(c.items, item)
		}
	} else if len(b.Input) > 0 {
		var items []json.RawMessage
		if b.Input[0] == '[' && in.decode(document{b.Input, d.line}, &items) {
			c.items = append(c.items, items...)
		}
	}
	c.items = append(c.items, b.Output...)
	if len(b.Choices) > 0 && len(b.Choices[0].Message) > 0 {
		c.items = append(c.items, b.Choices[0].Message)
	}
	return append(all, c)
}

// clock reads a time: of RFC 3339, or a number of seconds since 1970, or of thousandths,
// millionths or billionths of them.
func clock(raw json.RawMessage) (time.Time, bool) {
	if s, is := textOf(raw); is {
		for _, layout := range layouts {
			if t, err := time.Parse(layout, s); err == nil {
				return t.UTC(), true
			}
		}
		raw = json.RawMessage(s)
	}
	const most = 1e11 // seconds, until the year 5138
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n <= 0 || n >= most*1e9 {
		return time.Time{}, false
	}
	for n >= most {
		n /= 1000
	}
	return time.UnixMicro(int64(math.Round(n * 1e6))).UTC(), true
}

// longest drops the conversations that others go on with. It compares sums of all items
// up to each one, beginning with the thread: what is said in another one is another run.
func longest(all []conversation) []conversation {
	ended := make(map[uint64]int) // the conversation whose items have that sum
	gone := make([]bool, len(all))
	for i := range all {
		var text []byte
		sum := uint64(0)
		if all[i].thread != "" {
			sum = hash.String(all[i].thread)
		}
		for _, item := range all[i].items {
			text = strconv.AppendUint(append(text[:0], '['), sum, 10)
			text = strconv.AppendUint(append(text, ','), jsonhash.Sum(item), 10)
			sum = jsonhash.Sum(append(text, ']'))
			if before, there := ended[sum]; there {
				gone[before] = true
				delete(ended, sum)
			}
		}
		ended[sum] = i
	}
	var kept []conversation
	for i := range all {
		if !gone[i] {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// An item is one of a conversation: a message of the chat completions API or of the
// Messages API, or an item of the Responses API. A log may have all of them.
type item struct {
	message

	// Of a message of chat completions.
	ToolCallID string          `json:"tool_call_id"`
	Status     json.RawMessage `json:"status"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	Function   *chatFunction   `json:"function_call"` // the form that tool_calls replaced

	// Of an item.
	ID        json.RawMessage `json:"id"`
	CallID    string          `json:"call_id"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`     // of a custom tool
	Action    json.RawMessage `json:"action"`    // of a shell or a computer
	Operation json.RawMessage `json:"operation"` // of a patch
	Output    json.RawMessage `json:"output"`
	Error     json.RawMessage `json:"error"` // of a call of an MCP server

	Name string `json:"name"`
}

// readTranscript reads conversations. Each item is read in its own form, whatever those
// before it have: a dialect is told by the first of them, and a call in another form is a
// call too.
func readTranscript(in *input) {
	for _, c := range in.conversations() {
		t := in.transcript(c)
		items := make([]item, 0, len(c.items))
		for _, raw := range c.items {
			var i item
			if in.decode(document{raw, c.line}, &i) {
				items = append(items, i)
			}
		}
		if newestFirst(items) {
			slices.Reverse(items)
		}
		for i := range items {
			if items[i].isCall() {
				t.call(&items[i])
			} else {
				t.chat(&items[i])
			}
		}
		t.end()
	}
}

// A transcript makes nodes of a conversation. It has no times, but places: those of its
// calls and answers. So calls overlap that were asked for before the first was answered.
type transcript struct {
	*input
	*record
	line int
	open map[string][]int // calls without an answer, by the id of the request
	from int              // the first call of this turn
	at   int64            // the place of the last call or answer
	said []message
}

// turn begins another turn: calls from here on may have ids that were used before.
func (t *transcript) turn() { t.from = len(t.record.nodes) }

// transcript begins the record of a conversation.
func (in *input) transcript(c conversation) *transcript {
	r := in.newRecord(c.id)
	r.began = c.began
	return &transcript{input: in, record: r, line: c.line, open: make(map[string][]int)}
}

// asks adds a call. args are a document, or the text of one.
func (t *transcript) asks(id, name string, args json.RawMessage) {
	if name == "" {
		t.refuse(t.line, "name", nil, "the name of a tool")
		return
	}
	at := len(t.record.nodes)
	t.at++
	n := node{kind: tool, name: name, start: t.at, end: t.at, open: true, noResult: true}
	n.setArgs(content(args))
	if s, is := textOf(args); is && strings.TrimSpace(s) == "" { // what providers write for none
		n.args, n.noArgs = nil, false
	}
	t.input.add(t.record, t.line, n)
	waiting := t.open[id]
	if len(waiting) > 0 && waiting[0] < t.from {
		waiting = nil // those of an earlier turn never got an answer
	}
	t.open[id] = append(waiting, at)
}

// answers ends the first call with that id that has no answer; nil: there is none, and
// nothing can be said of an answer to no call.
func (t *transcript) answers(id string, content json.RawMessage) *node {
	t.turn()
	waiting := t.open[id]
	if len(waiting) == 0 || waiting[0] >= len(t.record.nodes) {
		return nil
	}
	t.open[id] = waiting[1:]
	n := &t.record.nodes[waiting[0]]
	t.at++
	n.open, n.end = false, t.at
	n.setResult(spoken(content))
	return n
}

// spoken returns the content of an answer: its text as a document, or the parts where
// one is not text.
func spoken(raw json.RawMessage) json.RawMessage {
	var parts []part
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return content(raw)
	}
	for _, p := range parts {
		if p.Type != "text" && p.Type != "input_text" && p.Type != "output_text" {
			return content(raw)
		}
	}
	return jsonvalue.OfBytes([]byte(saidBy(raw)))
}

// words returns a result as the text that it is.
func words(doc json.RawMessage) string {
	if s, is := textOf(doc); is {
		return s
	}
	return string(doc)
}

// end closes the record.
func (t *transcript) end() {
	said := talkOf(t.said)
	t.prompts, t.answer = said.prompts, said.answer
}
