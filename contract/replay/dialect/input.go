package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/redact"
)

// An input is a text that is being read, and what was read.
type input struct {
	text    []byte
	o       *Options
	dialect string
	wrong   *fielderror.List
	records []*record
	byID    map[string]*record

	effects  map[string]chaos.Effect // what the tools declare
	keys     *redact.Redactor        // takes out well-known forms of keys
	sessions []*replay.Session
	notes    []string // of records that are no runs
}

// A document is a value at the top of an input, or an element of a list there.
type document struct {
	raw  json.RawMessage
	line int
}

// documents returns the values at the top of the input, one after the other: a JSON
// document, or JSON lines.
func (in *input) documents() []document {
	var all []document
	line, counted := 1, 0
	for dec := json.NewDecoder(bytes.NewReader(in.text)); ; {
		from := jsonedit.Space(in.text, int(dec.InputOffset()))
		line, counted = line+bytes.Count(in.text[counted:from], []byte("\n")), from
		var d document
		err := dec.Decode(&d.raw)
		if err == io.EOF {
			break
		}
		if err != nil {
			var syntax *json.SyntaxError
			at := len(in.text)
			if errors.As(err, &syntax) {
				at = int(syntax.Offset) - 1
			}
			line += bytes.Count(in.text[from:max(at, from)], []byte("\n"))
			in.wrong.Add(fields.Because("input", nil, err, "JSON, or JSON lines").At(line, 0))
			return nil
		}
		d.line = line
		all = append(all, d)
	}
	if len(all) == 0 {
		in.wrong.Add(fields.Wrong("input", nil, "JSON, or JSON lines").At(1, 0))
	}
	return all
}

// objects is documents, with the elements of a list in place of the list, and those of
// the member data in place of the object that has it.
func (in *input) objects() []document {
	var all []document
	for _, d := range in.documents() {
		for _, e := range in.elements(d) {
			if e.raw[0] != '{' {
				in.refuse(e.line, "input", string(e.raw), "objects")
				continue
			}
			all = append(all, e)
		}
	}
	return all
}

func (in *input) elements(d document) []document {
	if m := objectOf(d.raw); m != nil {
		if data := m["data"]; len(data) > 0 && data[0] == '[' {
			return in.elements(document{data, d.line})
		}
		return []document{d}
	}
	list, is := listOf(d.raw)
	if !is {
		in.refuse(d.line, "input", string(d.raw), "objects")
		return nil
	}
	all := make([]document, len(list))
	for i, raw := range list {
		all[i] = document{raw, d.line}
	}
	return all
}

func (in *input) refuse(line int, field string, value any, allowed string) {
	if value == "" {
		value = nil
	}
	in.wrong.Add(fields.Wrong(field, value, allowed).At(line, 0))
}

// record returns the record of a run, by its id; a new one if there is none yet.
func (in *input) record(id string) *record {
	if r := in.byID[id]; r != nil {
		return r
	}
	r := in.newRecord(id)
	in.byID[id] = r
	return r
}

func (in *input) newRecord(id string) *record {
	r := &record{id: id, byID: make(map[string]int)}
	in.records = append(in.records, r)
	return r
}

// add adds a node to a record, once, however often it is in the input.
func (in *input) add(r *record, line int, n node) {
	if n.id != "" {
		if first, there := r.byID[n.id]; there {
			if !reflect.DeepEqual(r.nodes[first], n) {
				in.refuse(line, "id", n.id, "an id of its own: something else in the input has it")
			}
			return
		}
		r.byID[n.id] = len(r.nodes)
	}
	r.nodes = append(r.nodes, n)
}
