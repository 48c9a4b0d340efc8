// Package dialect reads the runs that others recorded: spans, exports of vendors,
// transcripts of conversations, lines of a protocol. Each dialect has a file of its
// own. It turns its record into nodes; what is the same for all of them, such as
// lanes, calls seen twice, effects and redaction, is done by build.
//
// What a record does not have is marked, never filled in.
package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/contract/findings"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A trace is one run.
type trace struct {
	dialect     string
	id          string    // in its record; "": it has none
	capturedAt  time.Time // zero: unknown
	prompts     []string
	answer      string
	calls       []findings.Call
	notImported int // calls that the record names and that are not among calls
	notes       []string
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
		{"otlp", "resourceSpans", func(s *shape) bool { return s.has("resourceSpans") || s.has("batches") }, readOTLP},
		{"langfuse", "observations", (*shape).langfuse, langfuse().read},
		{"langsmith", "run_type", func(s *shape) bool { return s.has("run_type") }, langsmith().read},
		{"openai-agents", "span_data", (*shape).openAIAgents, openAIAgents().read},
		{"mcp", "jsonrpc", toldMCP, readMCP},
		{"mcp-proxy", "t, kind and detail", toldMCPProxy, readMCPProxy},
		{"claude-code", "sessionId and message", (*shape).claudeCode, readTranscript},
		{"codex", "type and payload", func(s *shape) bool { return s.has("payload") && s.has("type") }, readTranscript},
		{"gemini", "contents", func(s *shape) bool { return s.has("contents") }, readTranscript},
		{"bedrock", "messages with content that has toolUse", (*shape).bedrock, readTranscript},
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

// read reads the runs in an input, in the order in which they began; those without times in
// the order of the input. Without any, notes say what was seen in their place.
func read(doc []byte, o *settings) (traces []trace, notes []string, err error) {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if !utf8.Valid(doc) { // a session is a text: what is no letter becomes what strings of JSON make of it
		doc = bytes.ToValidUTF8(doc, []byte("\ufffd"))
	}
	of, err := find(doc, o)
	if err != nil {
		return nil, nil, err
	}
	in := &input{text: doc, o: o, dialect: of.name, wrong: fields.ListUpTo(maxReported)}
	of.read(in)
	if err := in.wrong.Err(); err != nil {
		return nil, nil, err
	}
	b := newBuilder(in)
	for _, r := range in.records {
		b.add(r)
	}
	return b.traces(), b.notes, in.wrong.Err()
}

// find returns the dialect that was asked for, or the first whose members are there.
func find(doc []byte, o *settings) (row, error) {
	all := rows()
	if o.Dialect != "" {
		if i := slices.IndexFunc(all, func(r row) bool { return r.name == o.Dialect }); i >= 0 {
			return all[i], nil
		}
		return row{}, fields.Wrong("dialect", o.Dialect,
			strings.Join(Names(), ", ")+text.Meant(o.Dialect, Names()))
	}
	s := shapeOf(doc)
	for _, r := range all {
		if r.told(s) {
			return r, nil
		}
	}
	var looked []string
	for _, r := range all {
		looked = append(looked, fmt.Sprintf("%s (%s)", r.tells, r.name))
	}
	return row{}, fields.Wrong("dialect", fielderror.Found("unknown: "+s.found()),
		"an input with one of the members "+strings.Join(looked, ", "))
}
