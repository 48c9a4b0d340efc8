package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

func orderRows() []*catalog.Row {
	return []*catalog.Row{reorderCallsRow, lateResultRow, ignoreCancelRow, delayedVisibilityRow}
}

// ReorderCalls reverses the order of concurrent calls: a matched call is held
// until another one was executed, or until wait is over. One call is held at a
// time, over all targets of the rule, so calls that come in pairs change places
// pair by pair. If no other call comes, the event notes it. wait is more than
// 0.
//
// Which calls meet depends on when they come.
func ReorderCalls(wait time.Duration) chaos.Fault { return &reorderCalls{hold: hold{wait}} }

var reorderCallsRow = catalog.Fault(catalog.Row{
	Kind: "reordered_calls", Doc: "Concurrent calls overtake each other.", Go: "fault.ReorderCalls(wait)",
	Order:   catalog.Deliveries,
	Example: `{"wait":"2s"}`,
	Class:   chaos.ClassProtocol, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p hold) chaos.Fault { return ReorderCalls(p.Wait) })

type hold struct {
	Wait time.Duration `json:"wait" bounds:"over=0" doc:"longest time that a call is held"`
}

type reorderCalls struct {
	hold

	mu   sync.Mutex
	held *heldCall
}

// heldCall is a call that waits for another one to overtake it.
type heldCall struct {
	release  context.CancelFunc
	overtook bool
}

func (r *reorderCalls) Fresh() chaos.Fault          { return &reorderCalls{hold: r.hold} }
func (r *reorderCalls) Check() error                { return reorderCallsRow.Check(r.hold).Err() }
func (r *reorderCalls) Describe() chaos.Description { return reorderCallsRow.Describe(r.hold) }

// Phase puts the fault before the callee.
func (r *reorderCalls) Phase() chaos.Phase { return chaos.PhaseBefore }

func (r *reorderCalls) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	wait, release := context.WithCancel(ctx)
	defer release()
	mine, other := r.meet(release)
	if other != nil {
		skip(ctx)
		defer r.overtake(other)
		return next(ctx, args)
	}
	err := chaos.Sleep(wait, r.Wait)
	switch {
	case r.leave(mine):
		chaos.Changed(ctx)
	case errors.Is(err, chaos.ErrDisarmed):
	case err != nil:
		return nil, err
	default:
		chaos.Note(ctx, fmt.Sprintf("not overtaken within %v", r.Wait))
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
	return &lateResult{lateCalls: lateCalls{calls, wait, after}, late: newPattern(calls)}
}

var lateResultRow = catalog.Fault(catalog.Row{
	Kind: "late_result", Doc: "The request arrives after its caller gave up.",
	Order: catalog.Deliveries,
	Go:    "fault.LateResult(calls, wait, after)", Example: `{"calls":"refund","wait":"5s","after":"20s"}`,
	Class: chaos.ClassTiming, Visibility: chaos.Explicit, Persistence: chaos.Transient, Effect: chaos.EffectUnknown,
}, func(p lateCalls) chaos.Fault { return LateResult(p.Calls, p.Wait, p.After) })

type lateCalls struct {
	Calls string        `json:"calls" doc:"glob over the targets whose calls are late"`
	Wait  time.Duration `json:"wait" bounds:"min=0" doc:"time until their callers give up"`
	After time.Duration `json:"after" doc:"time after which they may arrive, at least wait"`
}

type lateResult struct {
	lateCalls
	late pattern

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

func (l *lateResult) Fresh() chaos.Fault { return &lateResult{lateCalls: l.lateCalls, late: l.late} }

func (l *lateResult) Check() error {
	c := lateResultRow.Check(l.lateCalls)
	l.late.check(c, "calls", l.Calls)
	c.That(l.After >= l.Wait, "after", l.After, "a duration of at least wait, which is "+l.Wait.String())
	return c.Err()
}

func (l *lateResult) Describe() chaos.Description { return lateResultRow.Describe(l.lateCalls) }

// Phase puts the fault before those that decide: no other fault is injected
// into a late call.
func (l *lateResult) Phase() chaos.Phase { return chaos.PhaseBefore }

func (l *lateResult) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	for _, r := range l.arrived(time.Now()) {
		chaos.Note(ctx, "before it, a late call of "+r.target+" was executed")
		_, _ = r.next(ctx, r.args) // its caller has given up
	}
	if c.Occurrence > 0 || !l.late.match(c.Target) || ctx.Err() != nil {
		skip(ctx)
		return next(ctx, args)
	}
	request := lateRequest{time.Now().Add(l.After), c.Target, kept(args), next}
	over, err := pause(ctx, l.Wait)
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

// IgnoreCancel hides the end of a call's context from the callee: the callee
// works on, and its caller waits for the result and gets it. The fault is
// delivered if the context had ended when the result came. It is the only fault
// that outlasts the context; it takes as long as the callee does.
func IgnoreCancel() chaos.Fault { return ignoreCancel{} }

var ignoreCancelRow = catalog.Fault(catalog.Row{
	Kind: "ignored_cancellation", Doc: "The callee does not notice that its caller gave up.",
	Go:    "fault.IgnoreCancel()",
	Class: chaos.ClassTiming, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(catalog.None) chaos.Fault { return IgnoreCancel() })

type ignoreCancel struct{}

func (ignoreCancel) Describe() chaos.Description { return ignoreCancelRow.Describe(catalog.None{}) }

func (ignoreCancel) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(context.WithoutCancel(ctx), args)
	if ctx.Err() != nil {
		chaos.Changed(ctx)
	}
	return result, err
}

// DelayedVisibility hides a write from reads for d, like a replica that lags
// behind. Calls to targets that match the glob writes are writes and are not
// changed; all other calls that the rule matches are reads. d is more than 0.
//
// Within d after a write, a read returns what the same read (target and key)
// returned before it. A read that was not made before the write returns before,
// a value as with [Replace], or the real result if before is nil. Only a result
// that differs from the real one is delivered. Errors are passed on.
//
// It remembers the calls that its rule matched, at most 4096 reads. So use it
// without a trigger, with a target that covers reads and writes, such as
// "orders.*". It does not apply to streams.
func DelayedVisibility(writes string, d time.Duration, before any) chaos.Fault {
	return &delayedVisibility{visibility: visibility{writes, d, documentOrNone(before)}, writes: newPattern(writes),
		before: before}
}

var delayedVisibilityRow = catalog.Fault(catalog.Row{
	Kind: "delayed_visibility", Doc: "Reads do not see a write yet.",
	Order: catalog.Deliveries,
	Go:    "fault.DelayedVisibility(writes, d, before)", Example: `{"writes":"orders.set*","duration":"10s"}`,
	Class: chaos.ClassTiming, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p visibility) chaos.Fault {
	if p.Before == nil || string(p.Before) == "null" {
		return DelayedVisibility(p.Writes, p.Duration, nil)
	}
	return DelayedVisibility(p.Writes, p.Duration, p.Before)
})

type visibility struct {
	Writes   string          `json:"writes" doc:"glob over the targets that write; the others read"`
	Duration time.Duration   `json:"duration" bounds:"over=0" doc:"time for which reads do not see a write"`
	Before   json.RawMessage `json:"before,omitempty" doc:"what a read returns that was not made before"`
}

// documentOrNone is a value as an optional parameter.
func documentOrNone(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	return jsonvalue.Document(v)
}

type delayedVisibility struct {
	visibility
	writes pattern
	before any

	mu      sync.Mutex
	written bool
	last    time.Time // of the last write
	seen    map[read]memo
}

// read identifies equal reads.
type read struct {
	target string
	key    uint64
}

func (v *delayedVisibility) Fresh() chaos.Fault {
	return &delayedVisibility{visibility: v.visibility, writes: v.writes, before: v.before}
}

func (v *delayedVisibility) Check() error {
	c := delayedVisibilityRow.Check(v.visibility)
	v.writes.check(c, "writes", v.Writes)
	return c.Err()
}

func (v *delayedVisibility) Describe() chaos.Description {
	return delayedVisibilityRow.Describe(v.visibility)
}

// Phase puts the fault after the callee.
func (v *delayedVisibility) Phase() chaos.Phase { return chaos.PhaseChange }

func (v *delayedVisibility) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	switch {
	case err != nil:
		return result, err
	case v.writes.match(c.Target):
		v.write()
		return result, nil
	}
	seen, stale := v.read(read{c.Target, c.Key}, result)
	if !stale {
		return result, nil
	}
	old, why := seen()
	if why != "" {
		chaos.Note(ctx, why)
		return result, nil
	}
	if r, ok := result.(becoming); ok {
		return r.Become(ctx, old), nil
	}
	if old = inForm(old, result); equal(result, old) {
		return result, nil
	}
	chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(result), After: jsonvalue.Document(old)})
	return old, nil
}

// becoming is a result that can be replaced by another one, and that knows what
// its caller will see of that.
type becoming interface {
	Become(ctx context.Context, other any) (result any)
}

func (v *delayedVisibility) write() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.written, v.last = true, time.Now()
}

// read returns the earlier result that a read may see. stale is false if that
// is the real result.
func (v *delayedVisibility) read(r read, result any) (old memo, stale bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.written && time.Since(v.last) < v.Duration {
		if old, ok := v.seen[r]; ok {
			return old, true
		}
		return remembered(v.before), v.before != nil
	}
	if v.seen == nil {
		v.seen = make(map[read]memo)
	}
	if _, known := v.seen[r]; known || len(v.seen) < maxRemembered {
		v.seen[r] = remembered(result)
	}
	return nil, false
}

// pattern is a parameter that is a glob over targets, compiled.
type pattern struct {
	glob *glob.Glob
	err  error
}

func newPattern(text string) pattern {
	g, err := glob.Compile(text)
	return pattern{g, err}
}

func (p pattern) match(target string) bool { return p.glob != nil && p.glob.Match(target) }

func (p pattern) check(c *catalog.Check, param, text string) {
	c.That(p.err == nil, param, text, "a glob over names of injection points, such as \"orders.*\"")
}
