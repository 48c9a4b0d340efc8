package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/retryable"
)

// A record is what an input says of one run.
type record struct {
	id      string
	timed   bool // start and end of nodes are times; else places in the record
	nodes   []node
	byID    map[string]int
	prompts []string // where the record has them apart from its nodes
	answer  string
	began   time.Time // where the record has it apart from its nodes
	zero    *int64    // from which times are counted; nil: from the first of a node
	lost    int       // calls that it names and that were not read
	notes   []string  // what they are
}

func (r *record) lose(calls int, what string) {
	r.lost += calls
	r.mention(what)
}

func (r *record) mention(what string) {
	if !slices.Contains(r.notes, what) && len(r.notes) < maxReported {
		r.notes = append(r.notes, what)
	}
}

type kind byte

const (
	other kind = iota
	tool
	model
	agent
	span // of Langfuse: a tool or any other step
)

// A node is one step of a run: a call, or something that encloses calls.
type node struct {
	id, parent string
	kind       kind
	name       string
	callID     string // of the model's request for it
	start, end int64  // nanoseconds since 1970, or places in the record
	open       bool   // its end was not recorded

	args      json.RawMessage // nil: there are none, or they were not recorded
	noArgs    bool            // they were not recorded
	argsHash  string
	result    json.RawMessage
	noResult  bool
	truncated bool
	failure   *findings.CallError
	effect    findings.Effect // where the record itself knows

	said        talk
	asked, told []json.RawMessage // of a model: messages
	succeeded   bool              // the record says so
	note        note
}

// A note is what a step of no known kind may be.
type note byte

const (
	nothing    note = iota
	namesTool       // it names a tool
	hasContent      // it has an input and an output
)

// talk is what a node knows of the conversation.
type talk struct {
	prompts []string
	answer  string
}

// setArgs sets the arguments; nil: they were not recorded.
func (n *node) setArgs(doc json.RawMessage) {
	n.args, n.noArgs = doc, doc == nil
	n.truncated = n.truncated || cut(doc)
}

// setResult sets the result; nil: it was not recorded.
func (n *node) setResult(doc json.RawMessage) {
	n.result, n.noResult = doc, doc == nil
	n.truncated = n.truncated || cut(doc)
}

// fail makes the call a failed one. What it returned beside its error is dropped: the
// caller got the error.
func (n *node) fail(text string, status int) {
	n.failure = &findings.CallError{Text: text, Status: cmp.Or(status, retryable.StatusIn(text))}
	n.result, n.noResult, n.truncated = nil, false, cut(n.args)
}

// hidden are the texts that instrumentations write in place of content.
var hidden = [...]string{`"__REDACTED__"`, `"<not serializable>"`, `"<not specified>"`, `"N/A"`, `null`}

// content returns a recorded value as a document: a text that is JSON as what it says.
// It is nil where the record has none, or one of the texts that stand for it.
func content(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	for _, h := range hidden {
		if string(raw) == h {
			return nil
		}
	}
	if len(raw) == 0 || raw[0] != '"' {
		return raw[:len(raw):len(raw)]
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || s == "" {
		return raw
	}
	return jsonvalue.OfBytes([]byte(s))
}

// filled is content, where an empty object or list stands for what was withheld.
func filled(raw json.RawMessage) json.RawMessage {
	doc := content(raw)
	if empty(doc) {
		return nil
	}
	return doc
}

func empty(doc json.RawMessage) bool {
	switch string(bytes.TrimSpace(doc)) {
	case "", "null", `""`, "{}", "[]":
		return true
	}
	return false
}

func textOf(doc json.RawMessage) (string, bool) {
	var s string
	if len(doc) == 0 || doc[0] != '"' || json.Unmarshal(doc, &s) != nil {
		return "", false
	}
	return s, true
}

// cut reports whether a document is only the beginning of one: a text that ends within
// a JSON document, or with a word that says so.
func cut(doc json.RawMessage) bool {
	s, is := textOf(doc)
	if !is {
		return false
	}
	s = strings.TrimSpace(s)
	small := strings.ToLower(s[max(0, len(s)-len("...(truncated)")):])
	if strings.HasSuffix(small, "[truncated]") || strings.HasSuffix(small, "(truncated)") ||
		strings.HasSuffix(small, "<truncated>") || strings.HasSuffix(small, "...truncated") {
		return true
	}
	if s == "" || s[0] != '{' && s[0] != '[' {
		return false
	}
	s = strings.TrimSuffix(strings.TrimSuffix(s, "..."), "…")
	var whole json.RawMessage
	return errors.Is(json.NewDecoder(strings.NewReader(s)).Decode(&whole), io.ErrUnexpectedEOF)
}

// times sets when a node began and ended, by texts of ISO 8601; without a zone they are
// in UTC.
func (in *input) times(r *record, line int, n *node, start, end string) {
	r.timed = true
	n.start = in.time(line, "start", start)
	if n.open = end == ""; n.open {
		n.end = n.start
		return
	}
	if n.end = in.time(line, "end", end); n.end < n.start {
		in.refuse(line, "end", end, "not before the start, which is "+start)
	}
}

// layouts are the forms of a time. Fractions are read after any of them.
var layouts = [...]string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05"}

func (in *input) time(line int, field, text string) int64 {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1970 && t.Year() < 2262 {
			return t.UnixNano()
		}
	}
	in.refuse(line, field, text, "a time in RFC 3339, from 1970 to 2261; without a zone it is UTC")
	return 0
}
