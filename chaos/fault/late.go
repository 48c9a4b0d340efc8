package fault

import (
	"context"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// LateResult times out the first matching call after wait and delivers its
// request later: just before the next call that the rule matches once after has
// passed.
//
// Only calls to targets that match the glob calls are late, and of those only
// the first with the same arguments in its lane. Without a key that is the
// first call of the lane. The late call returns after wait, or when its context
// ends. A retry with the same arguments goes through at once, so both requests
// are executed, in either order.
//
// The target of the rule should also cover the calls that should find the
// request executed, such as reads; the fault does nothing else to them. Do not
// give the rule a limit: once the rule rests, no late request is delivered.
//
// No goroutine delivers late requests: one that no matching call follows is
// never delivered. The call that delivers a request waits for its execution,
// which ends with that call's context. At most 4096 requests are late at once;
// more are lost. wait is at least 0, after at least wait.
//
// The effect of a late call is unknown. A call whose context has already ended
// is not late: it goes through.
func LateResult(calls string, wait, after time.Duration) chaos.Fault {
	g, err := glob.Compile(calls)
	return &lateResult{calls: pattern{calls, g, err}, wait: wait, after: after}
}

type lateResult struct {
	calls       pattern
	wait, after time.Duration

	mu    sync.Mutex
	queue []lateRequest // in the order of their due times
}

// lateRequest is a call whose caller has given up.
type lateRequest struct {
	due    time.Time
	target string
	args   any
	next   chaos.Next
}

func (l *lateResult) Fresh() chaos.Fault {
	return &lateResult{calls: l.calls, wait: l.wait, after: l.after}
}

func (l *lateResult) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	for _, r := range l.arrived(time.Now()) {
		chaos.Note(ctx, "before it, a late call of "+r.target+" was executed")
		_, _ = r.next(ctx, r.args) // its caller has given up
	}
	if c.Occurrence > 0 || !l.calls.match(c.Target) || ctx.Err() != nil {
		skip(ctx)
		return next(ctx, args)
	}
	request := lateRequest{time.Now().Add(l.after), c.Target, kept(args), next}
	over, err := pause(ctx, l.wait)
	if over {
		return next(ctx, args)
	}
	if l.enqueue(request) {
		chaos.Postponed(ctx)
	}
	if err != nil {
		return nil, err
	}
	return nil, ErrTimeout
}

// enqueue keeps a request for later. It returns false if there are too many;
// the request is lost.
func (l *lateResult) enqueue(r lateRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= maxRemembered {
		return false
	}
	l.queue = append(l.queue, r)
	return true
}

// arrived removes the requests that are due from the queue. All have the same
// delay, so they are due nearly in order.
func (l *lateResult) arrived(now time.Time) (due []lateRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rest []lateRequest
	for _, r := range l.queue {
		if r.due.After(now) {
			rest = append(rest, r)
		} else {
			due = append(due, r)
		}
	}
	l.queue = rest
	return due
}

// Phase puts the fault before those that decide: no other fault is injected
// into a late call.
func (l *lateResult) Phase() chaos.Phase { return chaos.PhaseBefore }

func (l *lateResult) Check() error {
	c := param.Check{Kind: "late_result"}
	l.calls.check(&c, "calls")
	c.Wait("wait", l.wait)
	c.That(l.after >= l.wait, "after", l.after, "a duration of at least wait, which is "+l.wait.String())
	return c.Err()
}

func (l *lateResult) Describe() chaos.Description {
	return param.With(chaos.Description{
		Kind: "late_result", Class: chaos.ClassTiming, Visibility: chaos.Explicit,
		Persistence: chaos.Transient, Effect: chaos.EffectUnknown,
	}, struct {
		Calls string `json:"calls"`
		Wait  string `json:"wait"`
		After string `json:"after"`
	}{l.calls.text, l.wait.String(), l.after.String()})
}

// IgnoreCancel hides the end of a call's context from the callee: the callee
// works on, and its caller waits for the result and gets it. The fault is
// delivered if the context had ended when the result came. It is the only fault
// that outlasts the context; it takes as long as the callee does.
func IgnoreCancel() chaos.Fault { return ignoreCancel{} }

type ignoreCancel struct{}

func (ignoreCancel) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(context.WithoutCancel(ctx), args)
	if ctx.Err() != nil {
		chaos.Changed(ctx)
	}
	return result, err
}

func (ignoreCancel) Describe() chaos.Description {
	return chaos.Description{
		Kind: "ignored_cancellation", Class: chaos.ClassTiming, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}
}

// skip marks a call that the fault did not affect: a fault that acts before the
// callee and waits for a time of 0 is not delivered.
func skip(ctx context.Context) { _ = chaos.Sleep(ctx, 0) }

// pattern is a parameter that is a glob over targets.
type pattern struct {
	text string
	glob *glob.Glob
	err  error
}

func (p pattern) match(target string) bool { return p.glob != nil && p.glob.Match(target) }

func (p pattern) check(c *param.Check, name string) {
	c.That(p.err == nil, name, p.text, "a glob over names of injection points, such as \"orders.*\"")
}
