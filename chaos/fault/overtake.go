package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// ReorderCalls reverses the order of concurrent calls: a matched call is held
// until another one was executed, or until wait is over. One call is held at a
// time, over all targets of the rule, so calls that come in pairs change places
// pair by pair. If no other call comes, the event notes it. wait is more than
// 0.
//
// Which calls meet depends on when they come.
func ReorderCalls(wait time.Duration) chaos.Fault { return &reorderCalls{wait: wait} }

type reorderCalls struct {
	wait time.Duration

	mu   sync.Mutex
	held *heldCall
}

// heldCall is a call that waits for another one to overtake it.
type heldCall struct {
	release  context.CancelFunc
	overtook bool
}

func (r *reorderCalls) Fresh() chaos.Fault { return &reorderCalls{wait: r.wait} }

func (r *reorderCalls) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	wait, release := context.WithCancel(ctx)
	defer release()
	mine, other := r.meet(release)
	if other != nil {
		skip(ctx)
		defer r.overtake(other)
		return next(ctx, args)
	}
	err := chaos.Sleep(wait, r.wait)
	switch {
	case r.leave(mine):
		chaos.Changed(ctx)
	case errors.Is(err, chaos.ErrDisarmed):
	case err != nil:
		return nil, err
	default:
		chaos.Note(ctx, fmt.Sprintf("not overtaken within %v", r.wait))
	}
	return next(ctx, args)
}

// meet returns the call that is held, or makes this one the held call.
func (r *reorderCalls) meet(release context.CancelFunc) (mine, other *heldCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other = r.held; other != nil {
		r.held = nil
		return nil, other
	}
	r.held = &heldCall{release: release}
	return r.held, nil
}

// overtake releases the held call.
func (r *reorderCalls) overtake(other *heldCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	other.overtook = true
	other.release()
}

// leave ends a wait, and reports whether another call overtook this one.
func (r *reorderCalls) leave(mine *heldCall) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == mine {
		r.held = nil
	}
	return mine.overtook
}

// Phase puts the fault before the callee.
func (r *reorderCalls) Phase() chaos.Phase { return chaos.PhaseBefore }

func (r *reorderCalls) Check() error {
	c := param.Check{Kind: "reordered_calls"}
	c.That(r.wait > 0, "wait", r.wait, "a duration of more than 0")
	return c.Err()
}

func (r *reorderCalls) Describe() chaos.Description {
	return param.With(chaos.Description{
		Kind: "reordered_calls", Class: chaos.ClassProtocol, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}, struct {
		Wait string `json:"wait"`
	}{r.wait.String()})
}
