package invariant

import (
	"context"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// An ArgumentError is one problem of a constructor's arguments. [contract.Invariant.Err]
// joins all problems of a call.
type ArgumentError struct {
	Func     string // the constructor, such as "Contains"
	Name     string // of the invariant
	Argument string // the argument, such as "patterns[1]"
	Value    any    // its value; nil: none to show
	Allowed  string // what is allowed instead
	Err      error  // the cause, where there is one
}

// Error names the constructor, the argument, its value and what is allowed.
func (e *ArgumentError) Error() string {
	s := fmt.Sprintf("invariant: %s(%q): %s", e.Func, e.Name, e.Argument)
	if e.Value != nil {
		s += fmt.Sprintf(" is %#v", e.Value)
	}
	if e.Err != nil {
		s += fmt.Sprintf(": %v", e.Err)
	}
	if e.Allowed != "" {
		s += "; allowed: " + e.Allowed
	}
	return s
}

// Unwrap returns the cause, or nil.
func (e *ArgumentError) Unwrap() error { return e.Err }

// A draft is an incomplete invariant, with the problems found so far.
type draft struct {
	contract.Invariant
	constructor string
	problems    []error
}

func newDraft(constructor, name string, severity contract.Severity) *draft {
	return &draft{constructor: constructor, Invariant: contract.Invariant{Name: name, Severity: severity}}
}

// refuse adds a problem of an argument.
func (d *draft) refuse(argument string, value any, err error, allowed string) {
	d.problems = append(d.problems, &ArgumentError{
		Func: d.constructor, Name: d.Name, Argument: argument, Value: value, Err: err, Allowed: allowed,
	})
}

// demand adds a problem unless ok.
func (d *draft) demand(ok bool, argument string, value any, allowed string) {
	if !ok {
		d.refuse(argument, value, nil, allowed)
	}
}

// texts refuses empty strings, and a list with fewer than atLeast.
func (d *draft) texts(argument string, list []string, atLeast int) {
	if len(list) < atLeast {
		d.refuse(argument, nil, nil, "at least one")
	}
	for i, text := range list {
		d.demand(!blank(text), fmt.Sprintf("%s[%d]", argument, i), text, "text that is not empty")
	}
}

// target compiles a glob of targets, and adds it to the invariant's Targets.
func (d *draft) target(argument, pattern string) *glob.Glob {
	g, err := glob.Compile(pattern)
	if err != nil {
		d.refuse(argument, pattern, err, `a glob such as "orders.*"`)
	} else {
		d.Targets = append(d.Targets, pattern)
	}
	return g
}

// judge completes the draft. An invariant with a problem is always undecided.
func (d *draft) judge(check func(ctx context.Context, o *contract.Observation) error) contract.Invariant {
	d.Check = check
	if problem := errors.Join(d.problems...); problem != nil {
		d.Err = problem
		d.Check = func(context.Context, *contract.Observation) error { return undecided("%w", problem) }
	}
	return d.Invariant
}

// undecided is an error that matches [contract.ErrUndecided].
func undecided(format string, args ...any) error {
	return fmt.Errorf("%w: %w", contract.ErrUndecided, fmt.Errorf(format, args...))
}
