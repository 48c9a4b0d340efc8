package fault

import (
	"context"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// LoseRequest loses a request on its way: the callee is not reached. The caller
// gets the same as with [LoseReplyAfter] and [Timeout], so it cannot tell them
// apart; reports do. d is at least 0.
func LoseRequest(d time.Duration) chaos.Fault {
	return timeout{d: d, err: ErrTimeout, label: &label{kind: "lost_request", class: chaos.ClassOmission}}
}

// DeliverTwice delivers a request twice; the first reply is lost, and the
// caller gets the second. A callee that recognises repeated requests answers
// with a conflict, or with its first answer. Any other callee does its work
// twice.
//
// [Duplicate] returns the first reply. On a stream DeliverTwice does so too,
// since items are handed over as they come.
func DeliverTwice() chaos.Fault { return deliverTwice{} }

type deliverTwice struct{}

func (deliverTwice) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if !again(ctx, err) {
		return result, err
	}
	return next(ctx, args)
}

func (deliverTwice) Describe() chaos.Description {
	return chaos.Description{
		Kind: "delivered_twice", Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}
}

// ReplayRequest delivers an old request again after a new one, like a queue
// that redelivers out of order. After each call the callee is invoked again
// with the arguments of the previous, different call to the same target. So the
// old request may overwrite what the new one wrote. The second reply is
// dropped.
//
// It remembers the calls that its rule matched. On the first of them there is
// nothing to replay, and it is not delivered. Arguments are not copied, so the
// callee must not change them.
func ReplayRequest() chaos.Fault { return &replayRequest{} }

type replayRequest struct {
	mu     sync.Mutex
	before map[string]any // arguments, by target
}

func (r *replayRequest) Fresh() chaos.Fault { return &replayRequest{} }

func (r *replayRequest) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	old, known := r.remember(c.Target, args)
	if known && again(ctx, err) {
		_, _ = next(ctx, old)
	}
	return result, err
}

// remember stores the arguments and returns the previous ones, if they differ.
func (r *replayRequest) remember(target string, args any) (old any, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known = r.before[target]
	if known && equal(old, args) {
		return nil, false
	}
	if r.before == nil {
		r.before = make(map[string]any)
	}
	if known || len(r.before) < maxRemembered {
		r.before[target] = kept(args)
	}
	return old, known
}

func (*replayRequest) Describe() chaos.Description {
	return chaos.Description{
		Kind: "replayed_request", Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}
}

// maxRemembered bounds what a fault remembers of the calls of one injector.
const maxRemembered = 4096
