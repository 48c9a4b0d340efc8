package catalog

import (
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A Check collects the problems of one fault or trigger. The zero value with
// its Kind set is ready to use.
type Check struct {
	Kind     string // of the fault or trigger, such as "prob"
	problems []error
}

// That adds a problem unless ok: the parameter, its value (nil: none was given) and
// what is allowed instead.
func (c *Check) That(ok bool, param string, value any, allowed string) {
	if !ok {
		c.problems = append(c.problems, &chaos.ParamError{Kind: c.Kind, Param: param, Value: value, Allowed: allowed})
	}
}

// Wait is the check that most faults need: a time that can pass.
func (c *Check) Wait(param string, d time.Duration) {
	c.That(d >= 0, param, d, "a duration of 0 or more")
}

// Part adds the problems of a part that is itself [chaos.Checked], each with
// the place of the part; another part has none.
func (c *Check) Part(place string, part any) {
	checked, ok := part.(chaos.Checked)
	if !ok {
		return
	}
	for _, problem := range fielderror.Apart(checked.Check()) {
		c.problems = append(c.problems, located(problem, fmt.Sprintf("%s: %s: ", c.Kind, place)))
	}
}

// Err joins the problems; nil: there are none.
func (c *Check) Err() error { return errors.Join(c.problems...) }

// located says of a part's problem which part it is of.
func located(problem error, place string) error {
	if p, ok := problem.(*chaos.ParamError); ok {
		inner := *p
		inner.Kind = place + p.Kind
		return &inner
	}
	return fmt.Errorf("%s%w", place, problem)
}
