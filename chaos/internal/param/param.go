// Package param collects what is wrong with the parameters of a fault or trigger,
// and writes those parameters as JSON. Every catalogue package below chaos uses it,
// so that all report the same problem in the same words.
package param

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// A Check collects the problems of one fault or trigger. The zero value with
// its Kind set is ready to use.
type Check struct {
	Kind     string // of the fault or trigger, such as "prob"
	problems []error
}

// That adds a problem unless ok: the parameter, its value (nil: it is missing) and
// what is allowed instead.
func (c *Check) That(ok bool, param string, value any, allowed string) {
	if !ok {
		c.problems = append(c.problems, &chaos.ParamError{Kind: c.Kind, Param: param, Value: value, Allowed: allowed})
	}
}

// Wait adds a problem if d is negative.
func (c *Check) Wait(param string, d time.Duration) {
	c.That(d >= 0, param, d, "a duration of 0 or more")
}

// Part adds the problems of a part that is [chaos.Checked], each with the place of
// the part. Another part has no problems.
func (c *Check) Part(place string, part any) {
	checked, ok := part.(chaos.Checked)
	if !ok {
		return
	}
	for _, problem := range split(checked.Check()) {
		c.problems = append(c.problems, located(problem, fmt.Sprintf("%s: %s: ", c.Kind, place)))
	}
}

// Err joins the problems; nil: there are none.
func (c *Check) Err() error { return errors.Join(c.problems...) }

// With returns d with parameters, a struct that is encoded as JSON.
func With(d chaos.Description, params any) chaos.Description {
	d.Params, _ = json.Marshal(params) // NaN has no JSON; Check refuses it
	return d
}

// located adds the place of a part to its problem.
func located(problem error, place string) error {
	if p, ok := problem.(*chaos.ParamError); ok {
		inner := *p
		inner.Kind = place + p.Kind
		return &inner
	}
	return fmt.Errorf("%s%w", place, problem)
}

// split returns the errors that errors.Join joined. An error with several causes and
// a text of its own stays whole.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts := joined.Unwrap()
		if again := errors.Join(parts...); again != nil && again.Error() == err.Error() {
			return parts
		}
	}
	return []error{err}
}
