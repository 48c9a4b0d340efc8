package when

import (
	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// describe makes a description of a kind and its parameters; nil: none.
func describe(kind string, params any) chaos.Description {
	d := chaos.Description{Kind: kind}
	if params == nil {
		return d
	}
	return param.With(d, params)
}
