package report

import (
	"bufio"
	"bytes"
	_ "embed" // for the schema
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of the reports that [JSON] writes
// and [FromJSON] reads.
func Schema() string { return schema }

// JSONOptions are the settings of [JSON]; nil and the zero value work.
type JSONOptions struct {
	_ struct{}
	// Compact leaves out indentation and line breaks.
	Compact bool
}

// JSON writes the report as [Schema] describes, with a line break at its end. Lists
// that are required are [] when empty and never null; seeds and keys are
// decimal strings.
//
// The output is that of [json.Marshal], but it does not fail where that would.
// Arguments and results that are not JSON become strings of their text. A state
// without JSON becomes a string that says why. A report read back by [FromJSON] is
// written again byte for byte.
//
// Cells are written one at a time. The memory is bounded by the largest cell and by
// the report without its cells.
//
// Errors: [*FieldError] for a nil report and for values without a meaning, before
// anything is written; and those of the writer.
func JSON(w io.Writer, r *contract.Report, o *JSONOptions) error {
	if err := check(r); err != nil {
		return err
	}
	out := *r
	out.Scenarios, out.Invariants, out.Cells = orEmpty(r.Scenarios), orEmpty(r.Invariants), []contract.CellReport{}
	e := &jsonWriter{to: bufio.NewWriter(w), compact: o != nil && o.Compact}
	// A quote within a text is escaped, so this is the member and nothing else.
	head, tail, _ := bytes.Cut(e.encode(&out, ""), e.either(`"cells": []`, `"cells":[]`))
	tail = bytes.Clone(tail)
	e.write(head, e.either(`"cells": [`, `"cells":[`))
	for i := range r.Cells {
		c := r.Cells[i]
		if c.Evidence != nil {
			c.Evidence = encodableObservation(*c.Evidence)
		}
		if i > 0 {
			e.write([]byte(","))
		}
		e.write(e.either("\n    ", ""), bytes.TrimSuffix(e.encode(&c, "    "), []byte("\n")))
		if e.err != nil {
			return written(e.err)
		}
	}
	if len(r.Cells) > 0 {
		e.write(e.either("\n  ", ""))
	}
	e.write([]byte("]"), tail)
	if e.err == nil {
		e.err = e.to.Flush()
	}
	return written(e.err)
}

// jsonWriter writes a report in parts.
type jsonWriter struct {
	to      *bufio.Writer
	compact bool
	plain   bytes.Buffer
	pretty  bytes.Buffer
	err     error
}

// encode returns v as JSON. The bytes are valid until the next call. All lines but the first
// begin with the prefix.
func (e *jsonWriter) encode(v any, prefix string) []byte {
	e.plain.Reset()
	if err := json.NewEncoder(&e.plain).Encode(v); err != nil {
		e.fail(err)
		return nil
	}
	text := withoutReplacements(e.plain.Bytes())
	if e.compact {
		return text
	}
	e.pretty.Reset()
	e.fail(json.Indent(&e.pretty, text, prefix, "  "))
	return e.pretty.Bytes()
}

func (e *jsonWriter) either(indented, compact string) []byte {
	if e.compact {
		return []byte(compact)
	}
	return []byte(indented)
}

func (e *jsonWriter) write(parts ...[]byte) {
	for _, part := range parts {
		if e.err == nil {
			_, err := e.to.Write(part)
			e.fail(err)
		}
	}
}

// fail remembers the first error.
func (e *jsonWriter) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// withoutReplacements writes U+FFFD as itself, in place. Package json escapes only
// the one that it puts in place of an invalid byte, so a report read back would be
// written differently.
func withoutReplacements(text []byte) []byte {
	const escape = `\ufffd`
	if !bytes.Contains(text, []byte(escape)) {
		return text
	}
	out := text[:0]
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\' || i+1 == len(text):
			out = append(out, text[i])
		case bytes.HasPrefix(text[i:], []byte(escape)):
			out = append(out, "\ufffd"...)
			i += len(escape) - 1
		default: // an escape of two bytes or more, whose second may be a backslash
			out = append(out, text[i], text[i+1])
			i++
		}
	}
	return out
}

func encodableObservation(o contract.Observation) *contract.Observation {
	o.Before, o.After = encodableState(o.Before), encodableState(o.After)
	o.Events = orEmpty(slices.Clone(o.Events))
	for i := range o.Events {
		e := &o.Events[i]
		e.Args, e.Result = encodableRaw(e.Args), encodableRaw(e.Result)
		e.Changes = slices.Clone(e.Changes)
		for j := range e.Changes {
			c := &e.Changes[j]
			*c = chaos.Change{Path: c.Path, Before: encodableRaw(c.Before), After: encodableRaw(c.After)}
		}
	}
	return &o
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// encodableRaw returns raw if it is JSON, else a string of its text: a model may
// send arguments that are not JSON.
func encodableRaw(raw json.RawMessage) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil
	case json.Valid(raw):
		return json.RawMessage(strings.ToValidUTF8(string(raw), "\ufffd"))
	}
	text, err := json.Marshal(string(raw))
	if err != nil {
		return nil
	}
	return text
}

// encodableState encodes the state of a user's world. The methods of that state may
// fail and panic.
func encodableState(v any) (state any) {
	if v == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			state = fmt.Sprintf("report: no JSON: panic: %v", p)
		}
	}()
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("report: no JSON: %v", err)
	}
	// Read back, a struct is a map, whose members are sorted.
	var read any
	d := json.NewDecoder(bytes.NewReader(encodableRaw(raw)))
	d.UseNumber()
	if d.Decode(&read) != nil {
		return encodableRaw(raw)
	}
	return read
}

// FromJSON reads a report that [JSON] wrote, to the end of the input. It is strict,
// because an incomplete report must not be shown as if it were complete. Members
// that are unknown, missing, null or repeated are errors, and so is any text after
// the report.
//
// Numbers in the states of the world come back as [json.Number]. The agent's error
// value and its tools are not in the JSON and stay zero.
//
// Errors: [*FieldError] for every problem found, up to about twenty, joined; and
// those of the reader. Each FieldError names its place: the path of a value, or
// line and column where the text is not JSON.
func FromJSON(rd io.Reader) (*contract.Report, error) {
	text, err := io.ReadAll(rd)
	if err != nil {
		return nil, fmt.Errorf("report: read: %w", err)
	}
	if err := checkSyntax(text); err != nil {
		return nil, err
	}
	if err := checkShape(text); err != nil {
		return nil, err
	}
	r := new(contract.Report)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(r); err != nil {
		return nil, fields.Because("report", nil, err, "")
	}
	if err := check(r); err != nil {
		return nil, err
	}
	if err := checkConsistent(r); err != nil {
		return nil, err
	}
	compact(r)
	return r, nil
}

// compact removes the indentation of the values that stay JSON.
func compact(r *contract.Report) {
	squeeze := func(raw *json.RawMessage) {
		var b bytes.Buffer
		if len(*raw) > 0 && json.Compact(&b, *raw) == nil {
			*raw = b.Bytes()
		}
	}
	for i := range r.Cells {
		o := r.Cells[i].Evidence
		if o == nil {
			continue
		}
		for j := range o.Events {
			e := &o.Events[j]
			squeeze(&e.Args)
			squeeze(&e.Result)
			for k := range e.Changes {
				squeeze(&e.Changes[k].Before)
				squeeze(&e.Changes[k].After)
			}
		}
	}
}

func checkSyntax(text []byte) error {
	if json.Valid(text) {
		return nil
	}
	var whole json.RawMessage
	err := json.Unmarshal(text, &whole) // for the text of the error
	at := len(text)
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = min(at, max(0, int(s.Offset)-1))
	}
	line := 1 + bytes.Count(text[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(text[:at], '\n')
	return fields.Because("", nil, err, "").At(line, column)
}
