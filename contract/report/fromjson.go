package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/shakedown-go/shakedown/contract"
)

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
