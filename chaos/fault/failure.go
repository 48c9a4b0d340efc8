package fault

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Fail makes a call fail with err, which is required; the callee is not
// reached. The caller's error matches err and [chaos.ErrInjected] and has
// err's text.
func Fail(err error) chaos.Fault { return failure{err: err, asked: true} }

// ResourceExhausted makes a call fail with [ErrResourceExhausted]; the callee
// is not reached. With when.After(n) it is a quota of n calls.
func ResourceExhausted() chaos.Fault {
	return failure{err: ErrResourceExhausted, label: &label{kind: "resource_exhaustion"}}
}

// Partition makes a call fail with [ErrNetworkPartition]; the callee is not
// reached. A rule whose target matches several injection points and that has a
// group cuts them off together and restores them together: see the example and
// [chaos.Rule.Group].
func Partition() chaos.Fault {
	return failure{err: ErrNetworkPartition, label: &label{kind: "network_partition"}}
}

// failure is a fault that only returns its error.
type failure struct {
	*label
	err   error
	asked bool // the error is a parameter
}

func (f failure) Fail(chaos.Call) error { return f.err }

func (f failure) Inject(_ context.Context, c chaos.Call, _ any, _ chaos.Next) (any, error) {
	return nil, f.Fail(c)
}

func (f failure) Check() error {
	c := param.Check{Kind: f.named("error")}
	c.That(f.err != nil, "err", nil, "an error, such as ErrUnavailable")
	return c.Err()
}

func (f failure) Describe() chaos.Description {
	d := f.on(chaos.Description{
		Kind: "error", Class: chaos.ClassCrash, Visibility: chaos.Explicit,
		Persistence: chaos.Transient, Effect: chaos.EffectNone,
	})
	if f.asked && f.err != nil {
		d = param.With(d, messageParams{f.err.Error()})
	}
	return d
}

type messageParams struct {
	Message string `json:"message"`
}

// Panic makes a call panic with v in the caller's goroutine; the callee is not
// reached. If v is nil, the call panics with a [runtime.Error], an index out of
// range.
func Panic(v any) chaos.Fault { return panicking{v} }

type panicking struct{ v any }

func (p panicking) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	if p.v == nil {
		return firstOf(nil), nil
	}
	panic(p.v)
}

// firstOf makes the runtime panic: a type outside of it cannot imitate its
// errors, which have a method of their own.
func firstOf(none []any) any { return none[0] }

func (p panicking) Describe() chaos.Description {
	d := chaos.Description{
		Kind: "panic", Class: chaos.ClassCrash, Visibility: chaos.Explicit,
		Persistence: chaos.Transient, Effect: chaos.EffectNone,
	}
	if p.v != nil {
		d = param.With(d, messageParams{fmt.Sprint(p.v)})
	}
	return d
}
