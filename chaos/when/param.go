package when

import (
	"encoding/json"
	"errors"

	"github.com/shakedown-go/shakedown/chaos"
)

// check collects the problems of one trigger.
type check struct {
	kind     string
	problems []error
}

func (c *check) that(ok bool, field string, value any, allowed string) {
	if !ok {
		c.problems = append(c.problems, &chaos.ParamError{Kind: c.kind, Param: field, Value: value, Allowed: allowed})
	}
}

func (c *check) err() error { return errors.Join(c.problems...) }

// describe makes a Description of a kind and parameters; nil: none.
func describe(kind string, params any) chaos.Description {
	d := chaos.Description{Kind: kind}
	if params != nil {
		d.Params, _ = json.Marshal(params) // NaN has no JSON; Check refuses it
	}
	return d
}
