// Package dialect reads the runs that others recorded: spans, exports of vendors,
// transcripts of conversations, lines of a protocol. Each dialect has a file of its
// own. It turns its record into nodes; what is the same for all of them, such as
// lanes, calls seen twice, effects and redaction, is done by build.
//
// What a record does not have is marked, never filled in.
//
// Stability: may change.
package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/text"
)

const maxReported = 16

// A row is a dialect.
type row struct {
	name  string
	marks string // by which it is told: see [shape.has]
	read  func(*input)
}

// rows returns the dialects in the order in which a shape is compared with them.
func rows() []row {
	return []row{
		{"otlp", "resourceSpans batches", readOTLP},
		{"langfuse", "observations parentObservationId traceId+startTime+level", langfuse().read},
		{"langsmith", "run_type", langsmith().read},
		{"openai-agents", "span_data object=trace.span object=trace+workflow_name", openAIAgents().read},
		{"mcp", "jsonrpc message.jsonrpc", readMCP},
		{"mcp-proxy", "t+kind+detail", readMCPProxy},
		{"claude-code", "sessionId+message.role", readTranscript},
		{"codex", "type+payload", readTranscript},
		{"gemini", "contents", readTranscript},
		{"bedrock", "content/toolUse content/toolResult", readTranscript},
		{"anthropic", "content/type=tool_use content/type=tool_result", readTranscript},
		{"responses", "type=function_call type=function_call_output object=response type=message+role type=reasoning+role",
			readTranscript},
		{"chat", "messages role type=human type=ai", readTranscript},
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

// read reads the runs in an input: sessions without names, in the order in which they began; those
// without times in the order of the input. Without any, notes say what was seen in their place.
func read(doc []byte, o *Options) (sessions []*replay.Session, notes []string, err error) {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if !utf8.Valid(doc) { // a session is a text: what is no letter becomes what strings of JSON make of it
		doc = bytes.ToValidUTF8(doc, []byte("\ufffd"))
	}
	of, err := find(doc, o)
	if err != nil {
		return nil, nil, err
	}
	in := &input{text: doc, o: o, dialect: of.name, wrong: fields.ListUpTo(maxReported),
		keys: redact.New(nil, redact.Patterns), byID: make(map[string]*record), effects: make(map[string]chaos.Effect)}
	for _, t := range o.Tools {
		in.effects[t.Name] = t.Effect
	}
	of.read(in)
	if err := in.wrong.Err(); err != nil {
		return nil, nil, err
	}
	for _, r := range in.records {
		in.build(r)
	}
	if err := checkAsked(doc, o, in.sessions); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(in.sessions, func(a, b *replay.Session) int {
		return a.Source.CapturedAt.Compare(b.Source.CapturedAt)
	})
	return in.sessions, in.notes, in.wrong.Err()
}

// checkAsked returns an error if the dialect that was asked for reads no call, and the one that is recognised does.
func checkAsked(doc []byte, o *Options, sessions []*replay.Session) error {
	called := func(s *replay.Session) bool { return len(s.Calls) > 0 }
	if o.Dialect == "" || slices.ContainsFunc(sessions, called) {
		return nil
	}
	known := *o
	known.Dialect = ""
	better, _, err := read(doc, &known)
	if err != nil || !slices.ContainsFunc(better, called) {
		return nil // nothing better is known
	}
	return fields.Wrong("dialect", o.Dialect, fmt.Sprintf("%s, which reads calls: %s reads none", better[0].Source.Dialect, o.Dialect))
}

// find returns the dialect that was asked for, or the first whose members are there.
func find(doc []byte, o *Options) (row, error) {
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
		if s.has(r.marks) {
			return r, nil
		}
	}
	var looked []string
	for _, r := range all {
		looked = append(looked, fmt.Sprintf("%s (%s)", strings.ReplaceAll(r.marks, " ", " or "), r.name))
	}
	return row{}, fields.Wrong("dialect", fielderror.Found("unknown: "+s.found()),
		"an input with one of the members "+strings.Join(looked, ", "))
}
