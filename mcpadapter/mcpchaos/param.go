package mcpchaos

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// check collects what is wrong with the parameters of a fault.
type check struct {
	kind     string
	problems []error
}

func (c *check) that(ok bool, param string, value any, allowed string) {
	if !ok {
		c.problems = append(c.problems, &chaos.ParamError{Kind: c.kind, Param: param, Value: value, Allowed: allowed})
	}
}

func (c *check) err() error { return errors.Join(c.problems...) }

// described returns the description of a protocol fault; params is a struct of
// plain values, or nil.
func described(kind string, v chaos.Visibility, p chaos.Persistence, e chaos.Effect, params any) chaos.Description {
	d := chaos.Description{Kind: kind, Layer: chaos.LayerTool, Class: chaos.ClassProtocol, Visibility: v, Persistence: p, Effect: e}
	if params != nil {
		d.Params, _ = json.Marshal(params)
	}
	return d
}

// The bounds of parameters: beyond them a fault breaks the test, not its subject.
const (
	maxCopies = 1000
	maxFlood  = 10_000
	maxBytes  = 64 << 20
	maxWait   = time.Hour
)
