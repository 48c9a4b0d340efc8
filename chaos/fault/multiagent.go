package fault

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// MisrouteWith is [Misroute] by a function: it calls to, the callable of
// another agent, instead of the callee and with the same arguments. The caller
// gets its reply; an error of to is an injected error. Name appears in reports.
// Name and to are required.
//
// Arguments that neither have the type In nor decode into it reach the callee,
// and the event has a note. MisrouteWith does not apply to streams.
func MisrouteWith[In, Out any](name string, to func(context.Context, In) (Out, error)) chaos.Fault {
	m := misrouteWith{params: namedParams{name, fmt.Sprint(reflect.TypeFor[In]())}, missing: to == nil}
	m.call = func(ctx context.Context, args any) (result any, fits bool, err error) {
		in, ok := fit[In](args)
		if !ok {
			return nil, false, nil
		}
		result, err = to(ctx, in)
		return result, true, err
	}
	return m
}

type misrouteWith struct {
	params  namedParams
	missing bool
	call    func(ctx context.Context, args any) (result any, fits bool, err error)
}

func (m misrouteWith) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, fits, err := m.call(ctx, args)
	if !fits {
		chaos.Note(ctx, fmt.Sprintf("the arguments, %T, do not fit %s", args, m.params.Type))
		return next(ctx, args)
	}
	return result, err
}

func (m misrouteWith) Check() error {
	c := param.Check{Kind: "misroute"}
	c.That(m.params.Name != "", "name", `""`, "the name of the other agent")
	c.That(!m.missing, "to", nil, "a function")
	return c.Err()
}

func (m misrouteWith) Describe() chaos.Description {
	return describeHandoff("misroute", chaos.ClassProtocol, chaos.Implicit, chaos.EffectNone, m.params)
}

// DropHandoff is [SilentNoOpWith] for a hand-off: the caller gets reply, and the
// other agent is not reached.
func DropHandoff(reply any) chaos.Fault {
	return &silentNoOp{v: kept(reply), label: &label{kind: "handoff_dropped", layer: chaos.LayerMultiAgent}}
}

// CycleHandoff makes the other agent hand the task straight back: it is not
// reached, and the caller gets reply, which should look like a hand-off to the
// caller. Without a [chaos.Rule.Limit] this never ends. An invariant over the
// number of calls finds it.
func CycleHandoff(reply any) chaos.Fault {
	return &silentNoOp{v: kept(reply),
		label: &label{kind: "handoff_cycle", layer: chaos.LayerMultiAgent, class: chaos.ClassProtocol}}
}

// DelayHandoff is [Delay] for a hand-off.
func DelayHandoff(d time.Duration) chaos.Fault {
	return latency{of: onlyFixed{fixed{d}}, label: &label{kind: "handoff_delayed", layer: chaos.LayerMultiAgent}}
}

// onlyFixed is the delay of a fault that has no other distribution.
type onlyFixed struct{ fixed }

func (f onlyFixed) params() any { return waitParams{Duration: f.d.String()} }

// MessageStorm is [Repeat] for a hand-off: the other agent gets the message n
// times, and the caller gets the first reply. n is at least 2.
func MessageStorm(n int) chaos.Fault {
	return repeat{n: n, label: &label{kind: "message_storm", layer: chaos.LayerMultiAgent}}
}

// RejectDelegation is [Fail] for a hand-off, with an error such as
// [ErrDeclined]: the other agent does not take the task. err is required.
func RejectDelegation(err error) chaos.Fault {
	return failure{err: err, asked: true,
		label: &label{kind: "delegation_rejected", layer: chaos.LayerMultiAgent, persistence: chaos.Permanent}}
}
