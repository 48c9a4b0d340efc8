package fault

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// check collects the problems of one fault.
type check struct {
	kind     string
	problems []error
}

func (c *check) that(ok bool, field string, value any, allowed string) {
	if !ok {
		c.problems = append(c.problems, &chaos.ParamError{Kind: c.kind, Param: field, Value: value, Allowed: allowed})
	}
}

// wait is the check that most faults need: a time that can pass.
func (c *check) wait(field string, d time.Duration) {
	c.that(d >= 0, field, d, "a duration of 0 or more")
}

func (c *check) err() error { return errors.Join(c.problems...) }

// with adds parameters, a struct of plain values, to a description.
func with(d chaos.Description, params any) chaos.Description {
	d.Params, _ = json.Marshal(params)
	return d
}

// waitParams are the parameters of a fault that takes its time.
type waitParams struct {
	Duration string `json:"duration"`
	Message  string `json:"message,omitempty"`
}
