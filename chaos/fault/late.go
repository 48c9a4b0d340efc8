package fault

import (
	"context"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/glob"
)

// LateResult lets a request arrive after its caller gave up. Of the calls to
// targets that match the glob calls, the first with its arguments in its lane
// times out after wait, or when its context ends, and is not executed yet: it
// arrives at the first call that the rule is drawn on from after later than it
// was made, and is executed before that one. A retry with the same arguments
// goes through at once; so both are executed, in either order.
//
// Of a function without a key that is the first call of the lane. Do not give
// the rule a limit: once it rests, nothing arrives.
//
// No goroutine waits for the moment: a request that no such call follows never
// arrives. Let the target of the rule take in the calls that should find the
// request executed, such as reads; to those the fault does nothing else. What
// the late execution takes, the call it comes before waits; it ends with that
// call's context. At most 4096 requests are late at once; more are lost. wait
// is at least 0, after at least wait.
//
// The effect of a call whose request is late is unknown. A call whose context
// had ended before it began is not late: it goes through.
func LateResult(calls string, wait, after time.Duration) chaos.Fault {
	g, err := glob.Compile(calls)
	return &lateResult{calls: pattern{calls, g, err}, wait: wait, after: after}
}

type lateResult struct {
	calls       pattern
	wait, after time.Duration

	mu    sync.Mutex
	queue []lateRequest // in the order in which they are due
}

// lateRequest is a call whose caller has gone.
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
		_, _ = r.next(ctx, r.args) // its caller has gone
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

// enqueue keeps a request for later; false: there are too many, and it is lost.
func (l *lateResult) enqueue(r lateRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= maxRemembered {
		return false
	}
	l.queue = append(l.queue, r)
	return true
}

// arrived takes the requests that are due out of the queue. All were made to be
// late by the same time, so that they are due nearly in order.
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

// Phase puts it before what decides: a call that is late is not struck by more.
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

// IgnoreCancel lets the callee of a call not notice that its context ended: it
// works on, and its caller waits for the result and gets it. It is delivered
// where the context had ended when the result came. This is the one fault that
// outlasts the context, by definition; it takes the time that the callee does.
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

// unseen says of a fault that acts before the callee that it let this call be:
// one that asked for a wait of nothing is not delivered.
func skip(ctx context.Context) { _ = chaos.Sleep(ctx, 0) }

// pattern is a glob over targets as a parameter.
type pattern struct {
	text string
	glob *glob.Glob
	err  error
}

func (p pattern) match(target string) bool { return p.glob != nil && p.glob.Match(target) }

func (p pattern) check(c *param.Check, name string) {
	c.That(p.err == nil, name, p.text, "a glob over names of injection points, such as \"orders.*\"")
}
