package fault

import (
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

func failureRows() []*catalog.Row {
	return []*catalog.Row{failRow, resourceExhaustedRow, partitionRow, panicRow}
}

// Fail makes a call fail with err, which is required; the callee is not
// reached. The caller's error matches err and [chaos.ErrInjected] and has
// err's text.
func Fail(err error) chaos.Fault { return failure{message: message{err}} }

var failRow = catalog.Fault(catalog.Row{
	Kind: "error", Doc: "The call fails.", Go: "fault.Fail(err)", Example: `{"message":"service unavailable"}`,
	Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(p message) chaos.Fault { return Fail(p.Err) })

// message are the parameters of a fault with an error.
type message struct {
	Err error `json:"message" doc:"text of the error; the text of a ready-made error gives that error"`
}

type failure struct {
	label
	message
}

func (f failure) as(kind string) chaos.Fault { return failure{label{kind}, f.message} }

func (f failure) Check() error {
	c := f.check(failRow, f.message)
	c.That(f.Err != nil, "err", nil, "an error, such as ErrUnavailable")
	return c.Err()
}

func (f failure) Describe() chaos.Description { return f.of(failRow).Describe(f.message) }
func (f failure) Fail(chaos.Call) error       { return f.Err }

func (f failure) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) { return nil, f.Err }

// ResourceExhausted makes a call fail with [ErrResourceExhausted]; the callee
// is not reached. With when.After(n) it is a quota of n calls.
func ResourceExhausted() chaos.Fault { return ownFailure{"resource_exhaustion", ErrResourceExhausted} }

var resourceExhaustedRow = catalog.Fault(catalog.Row{
	Kind: "resource_exhaustion", Doc: "The call fails with \"resource exhausted\".", Go: "fault.ResourceExhausted()",
	Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(catalog.None) chaos.Fault { return ResourceExhausted() })

// Partition makes a call fail with [ErrNetworkPartition]; the callee is not
// reached. A rule whose target matches several injection points and that has a
// group cuts them off together and restores them together: see the example and
// [chaos.Rule.Group].
func Partition() chaos.Fault { return ownFailure{"network_partition", ErrNetworkPartition} }

var partitionRow = catalog.Fault(catalog.Row{
	Kind: "network_partition", Doc: "The call fails with \"no route to host\".", Go: "fault.Partition()",
	Class: chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(catalog.None) chaos.Fault { return Partition() })

// ownFailure is a fault that has no parameters and only returns an error of its
// kind.
type ownFailure struct {
	kind string
	err  error
}

func (f ownFailure) Describe() chaos.Description {
	return rowOf(rows(), f.kind).Describe(catalog.None{})
}
func (f ownFailure) Fail(chaos.Call) error { return f.err }

func (f ownFailure) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	return nil, f.err
}

// Panic makes a call panic with v in the caller's goroutine; the callee is not
// reached. If v is nil, the call panics with a [runtime.Error], an index out of
// range.
func Panic(v any) chaos.Fault { return panicking{v} }

var panicRow = catalog.Fault(catalog.Row{
	Kind: "panic", Doc: "The call panics.", Go: "fault.Panic(v)", Example: `{"message":"index out of bounds"}`,
	AsText: true,
	Class:  chaos.ClassCrash, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone,
}, func(p panicParams) chaos.Fault {
	if p.Message == nil {
		return Panic(nil)
	}
	return Panic(*p.Message)
})

type panicParams struct {
	Message *string `json:"message,omitempty" doc:"the value of the panic; left out: an index out of range"`
}

type panicking struct{ v any }

func (p panicking) Describe() chaos.Description {
	if p.v == nil {
		return bare(panicRow)
	}
	return panicRow.Describe(panicParams{new(fmt.Sprint(p.v))})
}

// bare is the description of a fault whose optional parameters are all left out.
func bare(row *catalog.Row) chaos.Description {
	d := row.Describe(catalog.None{})
	d.Params = nil
	return d
}

func (p panicking) Inject(context.Context, chaos.Call, any, chaos.Next) (any, error) {
	if p.v == nil {
		return firstOf(nil), nil
	}
	panic(p.v)
}

// firstOf makes the runtime panic: a type outside of it cannot imitate its
// errors, which have a method of their own.
func firstOf(none []any) any { return none[0] }
