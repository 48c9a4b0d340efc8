package modeltest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// A query is a request while it is read.
type query struct {
	url    *url.URL
	body   []byte
	stored func(id string) ([]Message, bool)

	model    string
	stream   bool
	messages []placed
	open     []Call // without a result so far
	tools    []Tool
	loose    bool // results may come anywhere behind their calls
	usage    bool // a stream tells the usage
	array    bool // a stream is a JSON array
	store    bool
}

// A placed message knows where the request has it.
type placed struct {
	Message
	at, part    int
	instruction bool // from a member of its own, not from the list of messages
}

// A problem is why a provider refuses a request. Which fields are set depends on
// the kind.
type problem struct {
	kind     kind
	at, part int      // the message or tool, and the part of it
	name     string   // of a tool, role, field or method
	ids      []string // of calls
	value    string   // what was found
}

type kind int

const (
	badPath     kind = iota // value: method and path
	badMethod               // name: the method, value: the path
	tooLarge                // the body
	notJSON                 // value: the decoder's error
	badType                 // name: the field, value: what was found
	noModel                 //
	noMessages              // value: "missing" or "empty"
	noMaxTokens             // value: empty or the number
	badRole                 // at, name
	badSchema               // at, part: the tool; name; value: the type found
	noCall                  // at, part, ids: of the result
	noResult                // at: the assistant's message, ids
	sameID                  // at, part, ids
	noID                    // at, part: the call
	badArgs                 // at, part: the call; value: the arguments
	badBlock                // at, part; name: its type
	noText                  // at: the message
	noStored                // ids: of a response or item, value: which
	manyAnswers             // name: the field, value: the number
	noAnswer                // value: an error of the test's model
)

// decode reads the body into in.
func (q *query) decode(in any) *problem {
	err := json.Unmarshal(q.body, in)
	if err == nil && !isObject(q.body) {
		return &problem{kind: badType, name: "body", value: "no object"}
	}
	if e := new(json.UnmarshalTypeError); errors.As(err, &e) {
		field := strings.Split(jsonvalue.FieldOf(e), ".")
		for i, name := range field { // without a tag it is the name of a Go field
			field[i] = strings.ToLower(name[:min(1, len(name))]) + name[min(1, len(name)):]
		}
		return &problem{kind: badType, name: cmp.Or(strings.Join(field, "."), "body"), value: e.Value}
	}
	if err != nil {
		return &problem{kind: notJSON, value: err.Error()}
	}
	return nil
}

// instruct adds the system's instructions.
func (q *query) instruct(text string) {
	if text != "" {
		q.messages = append(q.messages, placed{Message: Message{Role: roleSystem, Text: text}, instruction: true})
	}
}

func (q *query) add(at, part int, m Message) {
	q.messages = append(q.messages, placed{Message: m, at: at, part: part})
	q.open = append(q.open, m.Calls...)
	if i := slices.IndexFunc(q.open, func(c Call) bool { return c.ID == m.CallID }); m.Role == roleTool && i >= 0 {
		q.open = slices.Delete(q.open, i, i+1)
	}
}

// check returns the first call or result that is not in order. Every result needs
// its call, and every call its result, at once unless the query is loose.
func (q *query) check() *problem {
	seen := map[string]bool{}
	var open []string
	calledAt := 0
	for _, m := range q.messages {
		if len(open) > 0 && m.Role != roleTool && !q.loose {
			return &problem{kind: noResult, at: calledAt, ids: open}
		}
		if m.Role == roleTool {
			i := slices.Index(open, m.CallID)
			if i < 0 {
				return &problem{kind: noCall, at: m.at, part: m.part, ids: []string{m.CallID}}
			}
			open = slices.Delete(open, i, i+1)
		}
		for i, c := range m.Calls {
			if c.ID == "" {
				return &problem{kind: noID, at: m.at, part: m.part + i}
			}
			if seen[c.ID] {
				return &problem{kind: sameID, at: m.at, part: m.part + i, ids: []string{c.ID}}
			}
			seen[c.ID] = true
			open, calledAt = append(open, c.ID), m.at
		}
	}
	if len(open) > 0 {
		return &problem{kind: noResult, at: calledAt, ids: open}
	}
	return nil
}

// request is the query in the neutral form.
func (q *query) request(api string) Request {
	r := Request{API: api, Model: q.model, Tools: q.tools, Stream: q.stream, Turn: 1, Body: q.body}
	for _, m := range q.messages {
		last := len(r.Messages) - 1
		switch {
		case m.Role != roleAssistant:
			r.Messages = append(r.Messages, m.Message)
		case last >= 0 && r.Messages[last].Role == roleAssistant:
			into := &r.Messages[last]
			into.Text += m.Text
			into.Calls = slices.Concat(into.Calls, m.Calls)
		default:
			r.Messages = append(r.Messages, m.Message)
			r.Turn++
		}
	}
	return r
}

// answered returns the ID of the call that a result answers in a form where IDs
// are optional: the open one with the ID, else the first of the name, else the
// first. Without one it is the result's own ID, which no call has.
func (q *query) answered(id, name string) string {
	for _, c := range q.open {
		if id == c.ID || id == "" && (name == "" || name == c.Name) {
			return c.ID
		}
	}
	return id
}

// offer adds a tool. It returns a problem if its schema is not one of an object.
func (q *query) offer(at, part int, t Tool, required bool) *problem {
	if string(t.Schema) == "null" {
		t.Schema = nil
	}
	q.tools = append(q.tools, t)
	if t.Schema == nil && !required {
		return nil
	}
	var schema struct{ Type any }
	found := "None"
	if err := json.Unmarshal(t.Schema, &schema); err != nil {
		found = "invalid"
	} else if schema.Type != nil {
		found = fmt.Sprint(schema.Type)
	}
	if strings.EqualFold(found, "object") {
		return nil
	}
	return &problem{kind: badSchema, at: at, part: part, name: t.Name, value: found}
}

// A part is an element of a message's content, in the forms of OpenAI and
// Anthropic.
type part struct {
	Type, Text, Refusal string
	ID, Name            string
	Input               json.RawMessage
	ToolUseID           string          `json:"tool_use_id"`
	Content             json.RawMessage // of a tool's result
}

// parts is content: a text, or a list of parts.
type parts []part

func (p *parts) UnmarshalJSON(doc []byte) error {
	if doc[0] == '"' {
		text := part{Type: "text"}
		*p = parts{text}
		return json.Unmarshal(doc, &(*p)[0].Text)
	}
	return json.Unmarshal(doc, (*[]part)(p))
}

// textOf is the text of content that was not decoded.
func textOf(content json.RawMessage) (string, error) {
	var p parts
	if len(content) == 0 {
		return "", nil
	}
	err := json.Unmarshal(content, &p)
	return p.text(), err
}

func (p parts) text() (all string) {
	for _, part := range p {
		all = joined(all, part.Text+part.Refusal)
	}
	return all
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// compact is doc without white space; an empty one is an empty object.
func compact(doc json.RawMessage) string {
	var out bytes.Buffer
	if len(doc) == 0 || json.Compact(&out, doc) != nil {
		return "{}"
	}
	return out.String()
}
