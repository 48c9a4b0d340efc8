package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// JSONOptions are the settings of [JSON]; nil and the zero value work.
type JSONOptions struct {
	_ struct{}
	// Compact leaves out indentation and line breaks.
	Compact bool
}

// JSON writes the report as [Schema] says, with a line break at its end. Lists
// that are required are [] when empty and never null; seeds and keys are
// decimal strings.
//
// It is what [json.Marshal] makes of the report, and does not fail where that
// would: arguments and results that are no JSON become strings of their text,
// and a state that has none becomes a string that says why.
//
// Errors: [*FieldError] for a nil report and one with values that have no
// meaning, before anything is written; and the writer's.
func JSON(w io.Writer, r *contract.Report, o *JSONOptions) error {
	if err := check(r); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	if o == nil || !o.Compact {
		e.SetIndent("", "  ")
	}
	return written(e.Encode(encodable(r)))
}

// encodable is a copy of r that JSON can carry.
func encodable(r *contract.Report) *contract.Report {
	out := *r
	out.Scenarios = orEmpty(r.Scenarios)
	out.Invariants = orEmpty(r.Invariants)
	out.Cells = orEmpty(slices.Clone(r.Cells))
	for i := range out.Cells {
		if o := out.Cells[i].Evidence; o != nil {
			out.Cells[i].Evidence = encodableObservation(*o)
		}
	}
	return &out
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

// encodableRaw is raw where it is JSON, and otherwise a string of its text: a
// model may send arguments that are none.
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

// encodableState encodes the state of a user's world, whose methods may fail
// and panic.
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
	return encodableRaw(raw)
}
