package invariant

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError is one problem of a constructor's arguments. Its Field names the
// constructor, the invariant and the argument: `Contains("id"): patterns[1]`. It is
// in [contract.Invariant.Err], joined with the others of the same call.
type FieldError = scoring.FieldError

// draft is an invariant in the making, with what is wrong with it so far.
type draft struct {
	contract.Invariant
	name     string
	problems *fielderror.List
}

func newDraft(name, id string, severity contract.Severity) *draft {
	return &draft{name: name, problems: fielderror.Package("invariant").List(), Invariant: contract.Invariant{Name: id, Severity: severity}}
}

func (d *draft) refuse(argument string, value any, err error, allowed string) {
	d.problems.Because(fmt.Sprintf("%s(%q): %s", d.name, d.Name, argument), value, err, allowed)
}

// demand refuses an argument unless ok.
func (d *draft) demand(ok bool, argument string, value any, allowed string) {
	if !ok {
		d.refuse(argument, value, nil, allowed)
	}
}

// texts refuses empty strings, and an empty list unless there may be none.
func (d *draft) texts(argument string, list []string, atLeast int) {
	if len(list) < atLeast {
		d.refuse(argument, nil, nil, "at least one")
	}
	for i, text := range list {
		d.demand(!blank(text), fmt.Sprintf("%s[%d]", argument, i), text, "text that is not empty")
	}
}

// target compiles the glob of an injection point's name.
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
	if problem := d.problems.Err(); problem != nil {
		d.Err = problem
		d.Check = func(context.Context, *contract.Observation) error { return undecided("%w", problem) }
	}
	return d.Invariant
}

// undecided is an error that matches [contract.ErrUndecided].
func undecided(format string, args ...any) error {
	return fmt.Errorf("%w: %w", contract.ErrUndecided, fmt.Errorf(format, args...))
}
