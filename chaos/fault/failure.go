package fault

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Fail makes a call fail with err, which is required; the callee is not
// reached. The caller's error matches err and [chaos.ErrInjected] and has
// err's text.
func Fail(err error) chaos.Fault { return fail.Of(message{err}) }

var fail = &catalog.Fail[message]{
	Row: catalog.Row{
		Kind: "error", Doc: "The call fails.", Go: "fault.Fail(err)", Example: `{"message":"service unavailable"}`,
		Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectNone,
	},
	Fail: func(_ chaos.Call, p message) error { return p.Err },
}

// message are the parameters of a fault with an error.
type message struct {
	Err error `json:"message" doc:"text of the error; the text of a ready-made error gives that error"`
}

func (p message) Check(c *catalog.Check) {
	c.That(p.Err != nil, "err", nil, "an error, such as ErrUnavailable")
}

// ResourceExhausted makes a call fail with [ErrResourceExhausted]; the callee
// is not reached. With when.After(n) it is a quota of n calls.
func ResourceExhausted() chaos.Fault { return resourceExhausted.Of(catalog.None{}) }

var resourceExhausted = &catalog.Fail[catalog.None]{
	Row: catalog.Row{
		Kind: "resource_exhaustion", Doc: "The call fails with \"resource exhausted\".",
		Go:    "fault.ResourceExhausted()",
		Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectNone,
	},
	Fail: func(chaos.Call, catalog.None) error { return ErrResourceExhausted },
}

// Partition makes a call fail with [ErrNetworkPartition]; the callee is not
// reached. A rule whose target matches several injection points and that has a
// group cuts them off together and restores them together: see the example and
// [chaos.Rule.Group].
func Partition() chaos.Fault { return partition.Of(catalog.None{}) }

var partition = &catalog.Fail[catalog.None]{
	Row: catalog.Row{
		Kind: "network_partition", Doc: "The call fails with \"no route to host\".", Go: "fault.Partition()",
		Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectNone,
	},
	Fail: func(chaos.Call, catalog.None) error { return ErrNetworkPartition },
}

// Panic makes a call panic with v in the caller's goroutine; the callee is not
// reached. If v is nil, the call panics with a [runtime.Error], an index out of
// range.
func Panic(v any) chaos.Fault {
	if v == nil {
		return panicking.Of(panicParams{})
	}
	return panicking.Of(panicParams{new(fmt.Sprint(v)), v})
}

var panicking = &catalog.Inject[panicParams]{
	Row: catalog.Row{
		Kind: "panic", Doc: "The call panics.", Go: "fault.Panic(v)", Example: `{"message":"index out of bounds"}`,
		AsText: true,
		Class:  chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectNone,
	},
	Prepare: func(p panicParams) panicParams {
		if p.v == nil && p.Message != nil {
			p.v = *p.Message
		}
		return p
	},
	Inject: func(_ context.Context, _ chaos.Call, p panicParams, _ any, _ chaos.Next) (any, error) {
		if p.v == nil {
			return firstOf(nil), nil
		}
		panic(p.v)
	},
}

type panicParams struct {
	Message *string `json:"message,omitempty" doc:"the value of the panic; left out: an index out of range"`
	v       any
}

// firstOf makes the runtime panic: a type outside of it cannot imitate its
// errors, which have a method of their own.
func firstOf(none []any) any { return none[0] }
