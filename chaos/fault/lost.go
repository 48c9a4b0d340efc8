package fault

import (
	"context"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// LoseRequest loses a request on its way: the callee is not reached, and the
// caller sees what it sees of [LoseReplyAfter], so it cannot tell the two
// apart. d is at least 0. To the caller it is [Timeout]; it is told apart in
// reports.
func LoseRequest(d time.Duration) chaos.Fault {
	return timeout{d: d, err: ErrTimeout, label: label{kind: "lost_request", class: chaos.ClassOmission}}
}

// DeliverTwice delivers a request twice, and the caller sees the second reply,
// the first being lost: a callee that knows repeated requests answers with a
// conflict, or with what it answered before; another one has done its work
// twice. [Duplicate] shows the first reply; so does this one on a stream, whose
// items are handed over as they come.
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

// ReplayRequest lets an old request arrive again behind a new one, as a queue
// does that redelivers out of order: after the call the callee is reached once
// more with the arguments of the call before it, to the same target, that had
// other ones. What the new request wrote, the old one may write over. Nobody
// sees the second reply.
//
// It knows the calls that it was drawn on; on the first there is nothing to
// replay, and it is not delivered. Arguments are remembered as they are: a
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

// remember returns the arguments before these, if they are others.
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

// maxRemembered bounds what a fault remembers of one injector's calls.
const maxRemembered = 4096
