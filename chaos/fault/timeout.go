package fault

import (
	"context"
	"errors"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// Timeout makes a call time out before it reaches its callee. The caller waits
// d, or until its own context ends, and gets [ErrTimeout] or the context's
// error. d is at least 0. If the injector is disarmed during the wait, or the
// context had ended before it, the call goes through.
func Timeout(d time.Duration) chaos.Fault { return timeout{d: d, err: ErrTimeout} }

// TimeoutWith is [Timeout] with the text of err, which is required. The error
// matches err and everything that [ErrTimeout] matches.
func TimeoutWith(d time.Duration, err error) chaos.Fault {
	if err == nil {
		return timeout{d: d}
	}
	return timeout{d: d, err: &netError{text: err.Error(), timeout: true, like: []error{err, ErrTimeout}}}
}

type timeout struct {
	*label
	d   time.Duration
	err error
}

func (t timeout) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	disarmed, err := pause(ctx, t.d)
	switch {
	case disarmed:
		return next(ctx, args)
	case err != nil:
		return nil, err
	}
	return nil, t.err
}

func (t timeout) Check() error {
	c := param.Check{Kind: t.named("timeout")}
	c.Wait("duration", t.d)
	c.That(t.err != nil, "err", nil, "an error, such as ErrTimeout")
	return c.Err()
}

func (t timeout) Describe() chaos.Description {
	params := waitParams{Duration: t.d.String()}
	if t.err != nil && t.err != ErrTimeout {
		params.Message = t.err.Error()
	}
	return param.With(t.on(chaos.Description{
		Kind: "timeout", Class: chaos.ClassTiming, Visibility: chaos.Explicit,
		Persistence: chaos.Transient, Effect: chaos.EffectNone,
	}), params)
}

// LoseReply is [LoseReplyAfter] with a wait of one second.
func LoseReply() chaos.Fault { return LoseReplyAfter(time.Second) }

// LoseReplyAfter lets the call happen and loses its reply. The callee does its
// work and its result is dropped. After a further d, or when its own context
// ends, the caller gets the same as with [Timeout]. d is at least 0. This fault
// finds callers that do their work twice when they retry.
//
// An error of the callee is lost like any other reply. A call that another
// fault failed has no reply to lose and is not changed. If the injector is
// disarmed during the wait, the caller gets the reply.
func LoseReplyAfter(d time.Duration) chaos.Fault { return loseReply{wait{d}} }

var loseReplyRow = catalog.Fault(catalog.Row{
	Kind: "lost_reply", Doc: "The callee does its work and the reply is lost.",
	Go: "fault.LoseReply(), fault.LoseReplyAfter(d)", Example: `{"duration":"1s"}`,
	Class: chaos.ClassTiming, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p wait) chaos.Fault { return loseReply{p} })

type loseReply struct{ wait }

func (l loseReply) Check() error                { return loseReplyRow.Check(l.wait).Err() }
func (l loseReply) Describe() chaos.Description { return loseReplyRow.Describe(l.wait) }

func (l loseReply) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, failed := next(ctx, args)
	if unreached(failed, c) {
		return result, failed
	}
	disarmed, err := pause(ctx, l.Duration)
	switch {
	case disarmed:
		return result, failed
	case err != nil:
		return nil, err
	}
	return nil, ErrTimeout
}

// unreached reports whether the error is not the callee's own: another fault
// made it on this very call, or the injector was closed. An error injected into
// a nested call is the callee's reply like any other.
func unreached(err error, c chaos.Call) bool {
	var injected *chaos.InjectedError
	return errors.Is(err, chaos.ErrCellEnded) ||
		errors.As(err, &injected) && injected.Target == c.Target && injected.Ordinal == c.Ordinal
}

func (l loseReply) Phase() chaos.Phase { return chaos.PhaseAfter }

// Hang makes a call hang before it reaches its callee. It returns the context's
// error when that ends; without an end of the context it never returns. If the
// injector is disarmed meanwhile, or the context had ended before, the call
// goes through.
func Hang() chaos.Fault { return hang{} }

type hang struct{ *label }

func (hang) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if _, err := pause(ctx, -1); err != nil {
		return nil, err
	}
	return next(ctx, args)
}

func (h hang) Describe() chaos.Description {
	return h.on(chaos.Description{
		Kind: "hang", Class: chaos.ClassTiming, Visibility: chaos.Explicit,
		Persistence: chaos.Transient, Effect: chaos.EffectNone,
	})
}
