// Package dialect reads the runs that others recorded: spans, exports of vendors,
// transcripts of conversations, lines of a protocol. Each dialect has a file of its
// own. It turns its record into nodes; what is the same for all of them, such as
// lanes, calls seen twice, effects and redaction, is done by build.
//
// What a record does not have is marked, never filled in.
package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Trace is one run.
type Trace struct {
	Dialect    string
	ID         string    // in its record; "": it has none
	CapturedAt time.Time // zero: unknown
	Prompts    []string
	Answer     string
	Calls      []findings.Call
}

// Options are what the caller knows, and the bounds.
type Options struct {
	Fields   fielderror.Package // makes the errors
	Dialect  string             // "": told by shape
	MaxNodes int                // spans, messages or lines
	Tools    []chaos.Tool
	// Mask takes secrets out of a document.
	Mask func(json.RawMessage, *redact.Redactor) json.RawMessage
	// Redact takes personal data out of a document of a target; nil: nothing.
	Redact func(target string, doc []byte) []byte
}

// maxReported bounds the problems of one input that are reported separately.
const maxReported = 16

// A row is a dialect.
type row struct {
	name  string
	tells string // the members by which it is told, for errors
	told  func(*shape) bool
	read  func(*input)
}

// rows returns the dialects in the order in which a shape is compared with them.
func rows() []row {
	return []row{
		{"otlp", "resourceSpans", func(s *shape) bool { return s.has("resourceSpans") }, readOTLP},
		{"langfuse", "observations", toldLangfuse, readLangfuse},
		{"langsmith", "run_type", func(s *shape) bool { return s.has("run_type") }, readLangSmith},
		{"openai-agents", "span_data", toldOpenAIAgents, readOpenAIAgents},
		{"mcp", "jsonrpc", toldMCP, readMCP},
		{"mcp-proxy", "t, kind and detail", toldMCPProxy, readMCPProxy},
		{"anthropic", "messages with content of type tool_use", (*shape).anthropic, readTranscript},
		{"responses", "items of type function_call", (*shape).responses, readTranscript},
		{"chat", "messages", (*shape).chat, readTranscript},
	}
}

// Names returns the names of the dialects, sorted.
func Names() []string {
	var names []string
	for _, r := range rows() {
		names = append(names, r.name)
	}
	slices.Sort(names)
	return names
}

// Read reads the runs in an input, in the order in which they began; those without
// times in the order of the input.
func Read(doc []byte, o Options) ([]Trace, error) {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if !utf8.Valid(doc) { // a session is a text: what is no letter becomes what strings of JSON make of it
		doc = bytes.ToValidUTF8(doc, []byte("\ufffd"))
	}
	of, err := find(doc, &o)
	if err != nil {
		return nil, err
	}
	in := &input{text: doc, o: &o, dialect: of.name, wrong: o.Fields.ListUpTo(maxReported)}
	of.read(in)
	if err := in.wrong.Err(); err != nil {
		return nil, err
	}
	b := newBuilder(in)
	for _, r := range in.records {
		b.add(r)
	}
	if err := in.wrong.Err(); err != nil {
		return nil, err
	}
	return b.traces(), nil
}

// find returns the dialect that was asked for, or the first whose members are there.
func find(doc []byte, o *Options) (row, error) {
	all := rows()
	if o.Dialect != "" {
		if i := slices.IndexFunc(all, func(r row) bool { return r.name == o.Dialect }); i >= 0 {
			return all[i], nil
		}
		return row{}, o.Fields.Wrong("dialect", o.Dialect,
			strings.Join(Names(), ", ")+text.Meant(o.Dialect, Names()))
	}
	var s *shape
	for _, part := range [][]byte{doc[:min(len(doc), shapeBytes)], doc} { // most need only the beginning
		s = shapeOf(part)
		for _, r := range all {
			if r.told(s) {
				return r, nil
			}
		}
	}
	var looked []string
	for _, r := range all {
		looked = append(looked, fmt.Sprintf("%s (%s)", r.tells, r.name))
	}
	return row{}, o.Fields.Wrong("dialect", fielderror.Found("unknown: "+s.found()),
		"an input with one of the members "+strings.Join(looked, ", "))
}
