// Package param is on its way out: package catalog has its parts.
package param

import (
	"encoding/json"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// A Check is a [catalog.Check].
type Check = catalog.Check

// With adds parameters, a struct of plain values, to a description.
func With(d chaos.Description, params any) chaos.Description {
	d.Params, _ = json.Marshal(params) // NaN has no JSON; Check refuses it
	return d
}
