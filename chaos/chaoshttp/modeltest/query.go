package modeltest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	messages []Message
	system   int             // of the messages, those from a member of their own: they come first
	open     []Call          // without a result so far
	called   string          // where the last call is
	ids      map[string]bool // of calls
	disorder *problem        // of the first call or result that is not in order
	tools    []Tool
	schema   *problem // of the first tool whose schema is none
	loose    bool     // results may come anywhere behind their calls
	usage    bool     // a stream tells the usage
	store    bool
}

// A problem is why a request is refused.
type problem struct {
	status int
	code   string // of OpenAI; empty: none
	where  string // the member; empty: none
	text   string // what was found there, and what is allowed
}

func wrong(where, format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, where: where, text: fmt.Sprintf(format, args...)}
}

func (p *problem) String() string {
	if p.where == "" {
		return p.text
	}
	return p.where + ": " + p.text
}

func (q *query) decode(in any) *problem {
	err := json.Unmarshal(q.body, in)
	if err == nil && !isObject(q.body) {
		return wrong("body", "no object")
	}
	if e := new(json.UnmarshalTypeError); errors.As(err, &e) {
		field := strings.Split(jsonvalue.FieldOf(e), ".")
		for i, name := range field { // without a tag it is the name of a Go field
			field[i] = strings.ToLower(name[:min(1, len(name))]) + name[min(1, len(name)):]
		}
		return wrong(cmp.Or(strings.Join(field, "."), "body"), "the wrong type: %s", e.Value)
	}
	if errors.Is(err, errContent) {
		return wrong("content", "the wrong type; allowed: a text, or a list of parts")
	}
	if err != nil {
		return wrong("", "the body is no valid JSON: %v", err)
	}
	return nil
}

func (q *query) instruct(text string) {
	if text != "" {
		q.messages = append(q.messages, Message{Role: roleSystem, Text: text})
		q.system++
	}
}

// add adds a message. Every result needs its call, and every call its result, at once unless
// the query is loose.
func (q *query) add(where string, m Message) {
	q.messages = append(q.messages, m)
	if m.Role == roleTool {
		i := slices.IndexFunc(q.open, func(c Call) bool { return c.ID == m.CallID })
		if i < 0 {
			q.object(where, "a tool's result without an open call %q", m.CallID)
		} else {
			q.open = slices.Delete(q.open, i, i+1)
		}
	} else if !q.loose && q.disorder == nil {
		_ = q.answeredAll()
	}
	for _, c := range m.Calls {
		switch {
		case c.ID == "":
			q.object(where, "a tool call without an ID")
		case q.ids[c.ID]:
			q.object(where, "the ID of a tool call is there again: %q", c.ID)
		}
		q.ids[c.ID] = true
		q.open, q.called = append(q.open, c), where
	}
}

// object notes what is not in order, if it is the first.
func (q *query) object(where, format string, args ...any) {
	q.disorder = cmp.Or(q.disorder, wrong(where, format, args...))
}

// answeredAll returns the first call or result that is not in order, once every call
// needs to have its result.
func (q *query) answeredAll() *problem {
	var open []string
	for _, c := range q.open {
		open = append(open, c.ID)
	}
	if len(open) > 0 {
		q.object(q.called, "tool calls without a result: %s", strings.Join(open, ", "))
	}
	return q.disorder
}

func (q *query) request(api string) Request {
	r := Request{API: api, Model: q.model, Tools: q.tools, Stream: q.stream, Turn: 1, Body: q.body}
	for _, m := range q.messages {
		last := len(r.Messages) - 1
		switch {
		case m.Role != roleAssistant:
			r.Messages = append(r.Messages, m)
		case last >= 0 && r.Messages[last].Role == roleAssistant:
			into := &r.Messages[last]
			into.Text += m.Text
			into.Calls = slices.Concat(into.Calls, m.Calls)
		default:
			r.Messages = append(r.Messages, m)
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

// offer adds a tool, whose schema must be one of an object.
func (q *query) offer(where string, t Tool, required bool) {
	if string(t.Schema) == "null" {
		t.Schema = nil
	}
	q.tools = append(q.tools, t)
	if q.schema != nil || t.Schema == nil && !required {
		return
	}
	var schema struct{ Type any }
	if err := json.Unmarshal(t.Schema, &schema); err != nil {
		q.schema = wrong(where, "tool %q has no valid schema", t.Name)
	} else if kind := fmt.Sprint(schema.Type); !strings.EqualFold(kind, "object") {
		q.schema = wrong(where, "the schema of tool %q has the type %q; allowed: \"object\"", t.Name, kind)
	}
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

var errContent = errors.New("no content")

// UnmarshalJSON has an error of its own, which is the same under every version of Go:
// not all of them say in which member a method was called.
func (p *parts) UnmarshalJSON(doc []byte) error {
	var err error
	if doc[0] == '"' {
		*p = parts{{Type: "text"}}
		err = json.Unmarshal(doc, &(*p)[0].Text)
	} else {
		err = json.Unmarshal(doc, (*[]part)(p))
	}
	if err != nil {
		return errContent
	}
	return nil
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
