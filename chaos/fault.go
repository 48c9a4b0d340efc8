package chaos

import (
	"context"
	"encoding/json"
	"iter"
)

// A Next passes a call on: to the next fault that acts on it, or to the callee. If args
// do not fit the call, those that the fault was given are passed on instead.
//
// A Next must not be called concurrently, or after Inject returned. Only a later Inject
// may call it, with its own context, if the fault declared that with [Postponed]: the call
// then goes straight to the callee and leaves no trace in the event of the first call.
type Next func(ctx context.Context, args any) (any, error)

// A Fault is what happens to a call that a rule matches. Inject runs in the caller's
// goroutine and returns what the caller gets. It may call next once, several times
// or not at all, and must pass on the ctx it was given or one derived from it. It
// must return at once when ctx ends.
//
// An error that Inject returns, other than one it got from next, is wrapped in an
// [*InjectedError]. So a fault returns the error that a real dependency would. Waits
// go through [Sleep], changes are declared with [Changed].
//
// The injector decides whether a fault was delivered, by comparing what it was given with
// what it returned; see [Event.Delivered] and [Comparer]. A result that does not fit the
// call, such as a text where a struct is wanted, is not delivered: the caller gets what next
// returned or would return. So it is with a fault that finds its context ended before it waited.
//
// A Fault is used by many goroutines at once and must not keep state, unless it is
// [Stateful]. Package chaos/fault has the ready-made ones.
type Fault interface {
	Inject(ctx context.Context, c Call, args any, next Next) (any, error)
}

// A Failer is a fault that only makes an error; nil: it makes none, and the call goes
// through. An injection costs one allocation. It acts in [PhaseInstead]. Fail must be safe
// for concurrent use.
type Failer interface {
	Fault
	Fail(c Call) error
}

// An ArgsFailer is a Failer that looks at the arguments. FailArgs is called instead of
// Fail. Without an error the call goes through. Its event has the note, if there is one.
//
// args is nil where there are none. At a [Crossing] it is what Match was given.
type ArgsFailer interface {
	Failer
	FailArgs(c Call, args any) (note string, err error)
}

// A Phase is the place of a fault in a call. The faults that match one call act in
// this order:
//   - those of PhaseBefore, in the order of their rules;
//   - the first of PhaseInstead; the callee runs if there is none, or if it calls next;
//   - those of PhaseChange on its result, in order;
//   - those of PhaseAfter.
//
// In a stream ([WrapStream]) a fault of PhaseChange acts on each item in turn, or on
// the whole sequence if it is a [Streamer]. To faults of other phases the stream is
// one result, which they pass on as it is.
type Phase uint8

// The phases. The zero value is PhaseInstead.
const (
	PhaseInstead Phase = iota // failures: the fault decides in the callee's place; the default
	PhaseBefore               // delays
	PhaseChange               // changes of the result; delivered if the caller gets what they changed
	PhaseAfter                // the reply is lost after the callee did its work
)

// Phased is implemented by faults that do not act in [PhaseInstead].
type Phased interface {
	Phase() Phase
}

// A Streamer is a fault of [PhaseChange] that acts on a stream as a whole: it counts
// items, delays them, repeats them, or ends the stream. In a [WrapStream] its Stream
// is called once per call, in place of Inject. At every other point Inject is
// called.
//
// Stream returns what the consumer gets in place of items, which can be ranged over
// once. Both have items of the stream's type, and run in the consumer's goroutine. When
// the consumer stops, yield returns false and the fault returns, which stops items. An
// error that it yields, other than one it got from items, is wrapped in an
// [*InjectedError].
//
// It is delivered when the consumer gets an item that it changed, moved, doubled or made,
// whatever comes after its wait, or an end that it made. Directly before the fault yields a
// difference, it declares it with [Changed]. A fault that does not wait calls Sleep(ctx, 0)
// between items to learn whether the injector was disarmed.
type Streamer interface {
	Fault
	Stream(ctx context.Context, c Call, items iter.Seq2[any, error]) iter.Seq2[any, error]
}

// Checked is implemented by faults and triggers that can be misconfigured. [NewPlan]
// and [Injector.Register] report what Check returns; nil: nothing is wrong.
// Combinators return the problems of their parts, joined.
type Checked interface {
	Check() error
}

// Stateful is implemented by faults that remember something between calls. Fresh
// returns a fault with empty memory, so that cells which share a rule do not share
// its memory. It is called once per injector, and once when the rule is checked.
type Stateful interface {
	Fault
	Fresh() Fault
}

// Described is implemented by faults and triggers that can describe themselves, for
// reports and for plans as data.
type Described interface {
	Describe() Description
}

// A Description names a fault or trigger and places it in the catalogue of
// faults. A trigger fills Kind and Params only.
type Description struct {
	Kind        string          `json:"kind"`             // such as "lost_reply" or "prob"
	Params      json.RawMessage `json:"params,omitempty"` // its parameters, a JSON object; empty: none
	Class       Class           `json:"class,omitempty"`
	Visibility  Visibility      `json:"visibility,omitempty"`
	Persistence Persistence     `json:"persistence,omitempty"`
	Effect      Effect          `json:"effect,omitempty"` // what the callee did when the fault is delivered
	Layer       Layer           `json:"layer,omitempty"`  // empty: that of the injection point
}

// A Class names the way in which a faulty call departs from a correct one.
type Class string

// The classes, after Avizienis, Laprie, Randell and Landwehr, "Basic Concepts
// and Taxonomy of Dependable and Secure Computing" (2004), with the last two added.
const (
	ClassCrash       Class = "crash"
	ClassOmission    Class = "omission"
	ClassTiming      Class = "timing"
	ClassValue       Class = "value"
	ClassProtocol    Class = "protocol"
	ClassAdversarial Class = "adversarial"
)

// Visibility is whether the caller can tell that something went wrong.
type Visibility string

// The visibilities.
const (
	Explicit Visibility = "explicit" // the caller gets an error
	Implicit Visibility = "implicit" // the caller gets a well-formed lie
)

// Persistence is whether trying again can help.
type Persistence string

// The persistences.
const (
	Transient Persistence = "transient"
	Permanent Persistence = "permanent"
)

// A Layer is the part of an agent's world that a fault affects.
type Layer string

// The layers.
const (
	LayerTool       Layer = "tool"
	LayerLLM        Layer = "llm"
	LayerHTTP       Layer = "http"
	LayerSQL        Layer = "sql"
	LayerGRPC       Layer = "grpc"
	LayerStream     Layer = "stream"
	LayerPoint      Layer = "point" // a wrapped function or a Point, unless its rule says otherwise
	LayerContext    Layer = "context"
	LayerControl    Layer = "control"
	LayerResource   Layer = "resource"
	LayerMultiAgent Layer = "multi-agent"
)

// An Effect is what a call did to the world.
type Effect string

// The effects.
const (
	EffectUnknown Effect = "unknown" // it may have done its work; the empty Effect means the same
	EffectNone    Effect = "none"    // nothing was changed
	EffectDone    Effect = "done"    // the work was done
)

// A Change is one alteration of a result, with the value before and after.
// An empty Path is the whole result.
type Change struct {
	Path   string          `json:"path"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}
