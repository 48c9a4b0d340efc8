package invariant

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError is one problem of a constructor's arguments. Its Field names the
// constructor, the invariant and the argument: `Contains("name"): patterns[1]`. It is
// in [contract.Invariant.Err], joined with the others of the same call.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("invariant")

// A draft is an incomplete invariant, with the problems found so far.
type draft struct {
	contract.Invariant
	constructor string
	problems    *fielderror.List
}

func newDraft(constructor, name string, severity contract.Severity) *draft {
	return &draft{constructor: constructor, problems: fields.List(),
		Invariant: contract.Invariant{Name: name, Severity: severity}}
}

// refuse adds a problem of an argument.
func (d *draft) refuse(argument string, value any, err error, allowed string) {
	d.problems.Because(fmt.Sprintf("%s(%q): %s", d.constructor, d.Name, argument), value, err, allowed)
}

// demand adds a problem unless ok.
func (d *draft) demand(ok bool, argument string, value any, allowed string) {
	if !ok {
		d.refuse(argument, value, nil, allowed)
	}
}

// texts refuses empty strings, and a list with fewer than atLeast.
func (d *draft) texts(argument string, list []string, atLeast int) {
	d.demand(len(list) >= atLeast, argument, nil, "at least one")
	for i, one := range list {
		d.demand(!text.Blank(one), fmt.Sprintf("%s[%d]", argument, i), one, "text that is not empty")
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

// targets compiles globs of targets, at least so many.
func (d *draft) targets(argument string, patterns []string, atLeast int) []*glob.Glob {
	d.demand(len(patterns) >= atLeast, argument, nil, "at least one")
	globs := make([]*glob.Glob, len(patterns))
	for i, pattern := range patterns {
		globs[i] = d.target(fmt.Sprintf("%s[%d]", argument, i), pattern)
	}
	return globs
}

// anyMatches reports whether one of the globs matches a target.
func anyMatches(globs []*glob.Glob, target string) bool {
	return slices.ContainsFunc(globs, func(g *glob.Glob) bool { return g.Match(target) })
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

// ofState completes an invariant over the state.
func (d *draft) ofState(check func(*contract.Observation) error) contract.Invariant {
	d.JudgesErrors, d.Needs = true, contract.NeedState
	return d.judge(func(_ context.Context, o *contract.Observation) error { return check(o) })
}

// undecided is an error that matches [contract.ErrUndecided].
func undecided(format string, args ...any) error {
	return fmt.Errorf("%w: %w", contract.ErrUndecided, fmt.Errorf(format, args...))
}
