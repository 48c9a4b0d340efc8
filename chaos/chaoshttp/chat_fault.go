package chaoshttp

import (
	"context"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// completionFault is a fault in a completion, made by an editor.
type completionFault struct{ of completion }

// completion is one kind of such a fault, with its parameters.
type completion interface {
	editor(c chaos.Call) editor
	// describe fills Kind, Class and Params.
	describe() chaos.Description
	check(c *param.Check)
}

func (f completionFault) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	return edited(ctx, result, func(i int) editor { return f.of.editor(c.Sub(i)) }), nil
}

func (f completionFault) Phase() chaos.Phase { return chaos.PhaseChange }

func (f completionFault) Check() error {
	c := param.Check{Kind: f.of.describe().Kind}
	f.of.check(&c)
	return c.Err()
}

func (f completionFault) Describe() chaos.Description {
	d := f.of.describe()
	d.Layer, d.Visibility = chaos.LayerLLM, chaos.Implicit
	d.Persistence, d.Effect = chaos.Transient, chaos.EffectDone
	return d
}

// plain is a kind without parameters.
type plain struct {
	kind  string
	class chaos.Class
	make  func(c chaos.Call) editor
}

func (p plain) editor(c chaos.Call) editor  { return p.make(c) }
func (p plain) describe() chaos.Description { return chaos.Description{Kind: p.kind, Class: p.class} }
func (p plain) check(*param.Check)          {}
