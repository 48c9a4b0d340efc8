package lies

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Arguments applies a lie to the arguments of a call instead of its result, as
// when a model makes up an argument or a hand-off garbles one. f is a fault of
// this package that acts on results, or another of [chaos.PhaseChange]. The
// event's changes are those of the arguments; where a note says result, it
// means the arguments. Around a function that calls a model it damages the
// request: its messages, its list of tools.
//
// It acts in the callee's place, so at most one such fault acts on a call. Its
// effect is unknown: the callee did something else than it was asked.
func Arguments(f chaos.Fault) chaos.Fault {
	if _, ok := f.(chaos.Stateful); ok {
		return statefulArguments{arguments{f}}
	}
	return arguments{f}
}

type arguments struct{ lie chaos.Fault }

// statefulArguments is arguments around a lie that remembers earlier calls.
type statefulArguments struct{ arguments }

func (a statefulArguments) Fresh() chaos.Fault {
	return arguments{a.lie.(chaos.Stateful).Fresh()}
}

func (a arguments) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	changed, err := a.lie.Inject(ctx, c, args, func(context.Context, any) (any, error) { return args, nil })
	if err != nil {
		return nil, err
	}
	return next(ctx, changed)
}

func (a arguments) Check() error {
	c := &param.Check{Kind: "changed_call"}
	phased, ok := a.lie.(chaos.Phased)
	c.That(ok && phased.Phase() == chaos.PhaseChange, "fault", fmt.Sprintf("%T", a.lie), "a fault that changes results")
	c.Part("fault", a.lie)
	return c.Err()
}

func (a arguments) Describe() chaos.Description {
	d := chaos.Description{Kind: "changed_call", Class: chaos.ClassValue, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectUnknown}
	described, ok := a.lie.(chaos.Described)
	if !ok {
		return d
	}
	inner := described.Describe()
	d.Class = inner.Class
	return param.With(d, map[string]any{"fault": chaos.Description{Kind: inner.Kind, Params: inner.Params}})
}
