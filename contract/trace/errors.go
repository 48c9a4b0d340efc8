package trace

import (
	"errors"
	"fmt"
	"strings"
)

// ErrBusy is returned by a run of a workload while another run of it is under way:
// two at once would disturb each other.
var ErrBusy = errors.New("trace: the workload is already running")

// ErrNoWorkload is returned if no workload is registered, so nothing can be run.
var ErrNoWorkload = errors.New("trace: no workload is registered")

// ErrUnread is matched by the error of a scenario whose workload read none of the
// given parameters: the result is the baseline, not the scenario.
var ErrUnread = errors.New("trace: the workload read none of the parameters")

// ErrUnknownRun is matched by the error for an id that is unknown, or whose run was
// dropped.
var ErrUnknownRun = errors.New("trace: no such run is kept")

func unknownRun(field, id string) error {
	return &InputError{Field: field, Value: id, Err: ErrUnknownRun, Allowed: "an id of get_runs"}
}

// An InputError is one problem of an input: of an option, a request, or a place in
// a file. Several are joined.
type InputError struct {
	Line    int    // of the input, from 1; 0 where the input has no lines
	Field   string // in the spelling of the input: "startNs", "resourceSpans[0].scopeSpans[2].spans[7].traceId", "maxRuns"
	Value   any    // the value; nil: nothing was given
	Allowed string // what is allowed instead
	Err     error  // the cause, where there is one
}

// A finding describes in words what was found instead of a value; it is not quoted.
type finding string

// maxShown bounds the values shown in the text of an error.
const maxShown = 80

// Error names the line, the field, the value and what is allowed.
func (e *InputError) Error() string {
	var b strings.Builder
	b.WriteString("trace: ")
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	b.WriteString(e.Field)
	switch v := e.Value.(type) {
	case nil:
		if e.Err == nil {
			b.WriteString(" is missing")
		}
	case string:
		fmt.Fprintf(&b, " is %q", shortened(v))
	default:
		fmt.Fprintf(&b, " is %v", v)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", strings.TrimPrefix(e.Err.Error(), "trace: "))
	}
	if e.Allowed != "" {
		b.WriteString("; allowed: " + e.Allowed)
	}
	return b.String()
}

// Unwrap returns the cause, or nil.
func (e *InputError) Unwrap() error { return e.Err }

func shortened(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return s[:maxShown] + "…"
}

// maxReported bounds the problems of one input that are reported separately.
const maxReported = 16

// problems collects the problems of one input.
type problems struct {
	errs []error
	more int
}

func (p *problems) add(err error) {
	if len(p.errs) < maxReported {
		p.errs = append(p.errs, err)
		return
	}
	p.more++
}

func (p *problems) join() error {
	if p.more > 0 {
		return errors.Join(append(p.errs[:len(p.errs):len(p.errs)], fmt.Errorf("trace: and %d more problems", p.more))...)
	}
	return errors.Join(p.errs...)
}
