package fault

import (
	"context"
	"errors"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// wait are the parameters of a fault after which the caller has waited for
// nothing.
type wait struct {
	Duration time.Duration `json:"duration" bounds:"min=0" doc:"time until the caller learns of it"`
}

// Timeout makes a call time out before it reaches its callee. The caller waits
// d, or until its own context ends, and gets [ErrTimeout] or the context's
// error. d is at least 0. If the injector is disarmed during the wait, or the
// context had ended before it, the call goes through.
func Timeout(d time.Duration) chaos.Fault { return timeout.Of(waitMessage{wait: wait{d}}) }

// TimeoutWith is [Timeout] with the text of err, which is required. The error
// matches err and everything that [ErrTimeout] matches.
func TimeoutWith(d time.Duration, err error) chaos.Fault {
	return timeout.Of(waitMessage{wait: wait{d}, Err: err, missing: err == nil})
}

var timeout = &catalog.Inject[waitMessage]{
	Row: catalog.Row{
		Kind: "timeout", Doc: "The call times out before it reaches its callee.",
		Go: "fault.Timeout(d), fault.TimeoutWith(d, err)", Example: `{"duration":"10s"}`,
		Class: chaos.ClassTiming, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone,
	},
	Prepare: func(p waitMessage) waitMessage {
		if p.gets = ErrTimeout; p.Err != nil {
			p.gets = &netError{text: p.Err.Error(), timeout: true, like: []error{p.Err, ErrTimeout}}
		}
		return p
	},
	Inject: func(ctx context.Context, _ chaos.Call, p waitMessage, args any, next chaos.Next) (any, error) {
		return timesOut(ctx, p.Duration, p.gets, args, next)
	},
}

type waitMessage struct {
	wait
	Err     error `json:"message,omitempty" doc:"text of the error; left out: that of a time-out"`
	gets    error // what the caller gets
	missing bool  // the error, which this constructor requires
}

func (p waitMessage) Check(c *catalog.Check) {
	c.That(!p.missing, "err", nil, "an error, such as ErrTimeout")
}

// timesOut waits and fails, or lets the call through if the injector is
// disarmed.
func timesOut(ctx context.Context, d time.Duration, gets error, args any, next chaos.Next) (any, error) {
	disarmed, err := pause(ctx, d)
	switch {
	case disarmed:
		return next(ctx, args)
	case err != nil:
		return nil, err
	}
	return nil, gets
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
func LoseReplyAfter(d time.Duration) chaos.Fault { return loseReply.Of(lostReply{Duration: &d}) }

// LoseReplyWith is [LoseReply] with err, which is required, in place of
// [ErrTimeout]: such as [ErrConnectionReset], or the status of an RPC.
func LoseReplyWith(err error) chaos.Fault { return LoseReplyAfterWith(time.Second, err) }

// LoseReplyAfterWith is [LoseReplyAfter] with err, which is required, in place of
// [ErrTimeout].
func LoseReplyAfterWith(d time.Duration, err error) chaos.Fault {
	return loseReply.Of(lostReply{Duration: &d, Err: err, missing: err == nil})
}

type lostReply struct {
	Duration *time.Duration `json:"duration,omitempty" bounds:"min=0" doc:"time until the caller learns of it; left out: one second"`
	Err      error          `json:"message,omitempty" doc:"text of the error; left out: that of a time-out"`
	gets     error          // what the caller gets
	missing  bool           // the error, which this constructor requires
}

func (p lostReply) Check(c *catalog.Check) {
	c.That(!p.missing, "err", nil, "an error, such as ErrTimeout")
}

var loseReply = &catalog.Inject[lostReply]{
	Row: catalog.Row{
		Kind: "lost_reply", Doc: "The callee does its work and the reply is lost.",
		Go:      "fault.LoseReply(), fault.LoseReplyAfter(d), fault.LoseReplyWith(err), fault.LoseReplyAfterWith(d, err)",
		Example: `{"duration":"1s"}`,
		Class:   chaos.ClassTiming, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
	},
	Phase: chaos.PhaseAfter,
	Prepare: func(p lostReply) lostReply {
		if p.gets = ErrTimeout; p.Err != nil {
			p.gets = p.Err
		}
		return p
	},
	Inject: func(ctx context.Context, c chaos.Call, p lostReply, args any, next chaos.Next) (any, error) {
		result, failed := next(ctx, args)
		if unreached(failed, c) {
			return result, failed
		}
		wait := time.Second
		if p.Duration != nil {
			wait = *p.Duration
		}
		disarmed, err := pause(ctx, wait)
		switch {
		case disarmed:
			return result, failed
		case err != nil:
			return nil, err
		}
		return nil, p.gets
	},
}

// unreached reports whether the error is not the callee's own: another fault
// made it on this very call, or the injector was closed. An error injected into
// a nested call is the callee's reply like any other.
func unreached(err error, c chaos.Call) bool {
	var injected *chaos.InjectedError
	return errors.Is(err, chaos.ErrCellEnded) ||
		errors.As(err, &injected) && injected.Target == c.Target && injected.Ordinal == c.Ordinal
}

// Hang makes a call hang before it reaches its callee. It returns the context's
// error when that ends; without an end of the context it never returns. If the
// injector is disarmed meanwhile, or the context had ended before, the call
// goes through.
func Hang() chaos.Fault { return hang.Of(catalog.None{}) }

var hang = &catalog.Inject[catalog.None]{
	Row: catalog.Row{
		Kind: "hang", Doc: "The call hangs until its context ends.", Go: "fault.Hang()",
		Class: chaos.ClassTiming, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectNone,
	},
	Inject: func(ctx context.Context, _ chaos.Call, _ catalog.None, args any, next chaos.Next) (any, error) {
		if _, err := pause(ctx, -1); err != nil {
			return nil, err
		}
		return next(ctx, args)
	},
}
