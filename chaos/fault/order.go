package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// ReorderCalls reverses the order of concurrent calls: a matched call is held
// until another one was executed, or until wait is over. One call is held at a
// time, over all targets of the rule, so calls that come in pairs change places
// pair by pair. If no other call comes, the event notes it. wait is more than
// 0.
//
// Which calls meet depends on when they come.
func ReorderCalls(wait time.Duration) chaos.Fault { return reorderCalls.Of(hold{wait}) }

var reorderCalls = &catalog.Remember[hold, meeting]{
	Row: catalog.Row{Kind: "reordered_calls", Doc: "Concurrent calls overtake each other.",
		Go: "fault.ReorderCalls(wait)", Order: catalog.Deliveries, Example: `{"wait":"2s"}`,
		Class: chaos.ClassProtocol},
	Phase: chaos.PhaseBefore,
	Inject: func(s *meeting, ctx context.Context, _ chaos.Call, p hold, args any, next chaos.Next) (any, error) {
		wait, release := context.WithCancelCause(ctx)
		defer release(nil)
		if other := s.meet(&release); other != nil {
			skip(ctx)
			defer (*other)(errOvertaken)
			return next(ctx, args)
		}
		err := chaos.Sleep(wait, p.Wait)
		s.leave(&release)
		switch {
		case context.Cause(wait) == errOvertaken:
			chaos.Changed(ctx)
		case errors.Is(err, chaos.ErrDisarmed):
		case err != nil:
			return nil, err
		default:
			chaos.Note(ctx, fmt.Sprintf("not overtaken within %v", p.Wait))
		}
		return next(ctx, args)
	},
}

type hold struct {
	Wait time.Duration `json:"wait" bounds:"over=0" doc:"longest time that a call is held"`
}

var errOvertaken = errors.New("overtaken")

type meeting struct {
	mu   sync.Mutex
	held *context.CancelCauseFunc // of the call that waits for another one to overtake it; nil: none does
}

// meet returns the call that is held, or makes this one the held call.
func (r *meeting) meet(mine *context.CancelCauseFunc) (other *context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other = r.held; other != nil {
		mine = nil
	}
	r.held = mine
	return other
}

// leave ends a wait.
func (r *meeting) leave(mine *context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == mine {
		r.held = nil
	}
}

// LateResult times out the first matching call after wait and delivers its
// request later: just before the next call that the rule matches once after has
// passed.
//
// Only calls to targets that match the glob calls are late, and of those only
// the first with the same arguments in its lane (without a key, the first of the
// lane). The late call returns after wait, or when its context ends. A retry with
// the same arguments goes through at once, so both requests are executed, in either
// order.
//
// The target of the rule should also cover the calls that should find the request
// executed, such as reads; the fault does nothing else to them. Without such a call a
// late request is never delivered, nor once a rule with a limit rests. The call that
// delivers a request waits for its execution, which ends with that call's context.
// At most 4096 requests are late at once; more are lost. wait is at least 0, after at
// least wait. A call whose context has already ended goes through.
func LateResult(calls string, wait, after time.Duration) chaos.Fault {
	return lateResult.Of(lateCalls{Calls: calls, Wait: wait, After: after})
}

var lateResult = &catalog.Remember[lateCalls, lateQueue]{
	Row: catalog.Row{Kind: "late_result", Doc: "The request arrives after its caller gave up.",
		Order: catalog.Deliveries, Go: "fault.LateResult(calls, wait, after)",
		Example: `{"calls":"refund","wait":"5s","after":"20s"}`, Class: chaos.ClassTiming, Visibility: chaos.Explicit,
		Effect: chaos.EffectUnknown},
	Phase: chaos.PhaseBefore, // before those that decide: no other fault is injected into a late call
	Prepare: func(p lateCalls) lateCalls {
		p.late, _ = glob.Compile(p.Calls)
		return p
	},
	Inject: (*lateQueue).inject,
}

type lateCalls struct {
	Calls string        `json:"calls" doc:"glob over the targets whose calls are late"`
	Wait  time.Duration `json:"wait" bounds:"min=0" doc:"time until their callers give up"`
	After time.Duration `json:"after" doc:"time after which they may arrive, at least wait"`
	late  *glob.Glob    // Calls; nil: malformed
}

func (p lateCalls) Check(c *catalog.Check) {
	c.That(p.late != nil, "calls", p.Calls, targetGlob)
	c.That(p.After >= p.Wait, "after", p.After, "a duration of at least wait, which is "+p.Wait.String())
}

type lateQueue struct {
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

func (l *lateQueue) inject(ctx context.Context, c chaos.Call, p lateCalls, args any, next chaos.Next) (any, error) {
	for _, r := range l.arrived(time.Now()) {
		chaos.Note(ctx, "before it, a late call of "+r.target+" was executed")
		_, _ = r.next(ctx, r.args) // its caller has given up
	}
	if c.Occurrence > 0 || p.late == nil || !p.late.Match(c.Target) || ctx.Err() != nil {
		skip(ctx)
		return next(ctx, args)
	}
	request := lateRequest{time.Now().Add(p.After), c.Target, kept(args), next}
	over, err := pause(ctx, p.Wait)
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
func (l *lateQueue) enqueue(r lateRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= maxRemembered {
		return false
	}
	l.queue = append(l.queue, r)
	return true
}

// arrived removes the requests that are due from the queue.
func (l *lateQueue) arrived(now time.Time) (due []lateRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(r lateRequest) bool {
		arrived := !r.due.After(now)
		if arrived {
			due = append(due, r)
		}
		return arrived
	})
	return due
}

// IgnoreCancel hides the end of a call's context from the callee: the callee
// works on, and its caller waits for the result and gets it. The fault is
// delivered if the context had ended when the result came. It is the only fault
// that outlasts the context; it takes as long as the callee does.
func IgnoreCancel() chaos.Fault { return ignoreCancel.Of(catalog.None{}) }

var ignoreCancel = &catalog.Inject[catalog.None]{
	Row: catalog.Row{Kind: "ignored_cancellation", Doc: "The callee does not notice that its caller gave up.",
		Go: "fault.IgnoreCancel()", Class: chaos.ClassTiming},
	Inject: func(ctx context.Context, _ chaos.Call, _ catalog.None, args any, next chaos.Next) (any, error) {
		result, err := next(context.WithoutCancel(ctx), args)
		if ctx.Err() != nil {
			chaos.Changed(ctx)
		}
		return result, err
	},
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
	p := visibility{Writes: writes, Duration: d, before: before}
	if before != nil {
		p.Before = jsonvalue.Document(before)
	}
	return delayedVisibility.Of(p)
}

var delayedVisibility = &catalog.Remember[visibility, replica]{
	Row: catalog.Row{Kind: "delayed_visibility", Doc: "Reads do not see a write yet.", Order: catalog.Deliveries,
		Go: "fault.DelayedVisibility(writes, d, before)", Example: `{"writes":"orders.set*","duration":"10s"}`,
		Class: chaos.ClassTiming},
	Phase: chaos.PhaseChange,
	Prepare: func(p visibility) visibility {
		if p.before == nil && string(p.Before) == "null" {
			p.Before = nil
		}
		if p.before == nil && p.Before != nil {
			p.before = p.Before
		}
		p.writes, _ = glob.Compile(p.Writes)
		return p
	},
	Inject: (*replica).inject,
}

type visibility struct {
	Writes   string          `json:"writes" doc:"glob over the targets that write; the others read"`
	Duration time.Duration   `json:"duration" bounds:"over=0" doc:"time for which reads do not see a write"`
	Before   json.RawMessage `json:"before,omitempty" doc:"what a read returns that was not made before"`
	writes   *glob.Glob      // Writes; nil: malformed
	before   any             // of which Before is the JSON
}

func (p visibility) Check(c *catalog.Check) {
	c.That(p.writes != nil, "writes", p.Writes, targetGlob)
}

const targetGlob = `a glob over names of injection points, such as "orders.*"`

type replica struct {
	mu      sync.Mutex
	written bool
	last    time.Time // of the last write
	seen    memos[read]
}

type read struct {
	target string
	key    uint64
}

func (v *replica) inject(ctx context.Context, c chaos.Call, p visibility, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	switch {
	case err != nil:
		return result, err
	case p.writes != nil && p.writes.Match(c.Target):
		v.write()
		return result, nil
	}
	seen, stale := v.read(read{c.Target, c.Key}, result, p)
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

func (v *replica) write() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.written, v.last = true, time.Now()
}

// read returns the earlier result that a read may see. stale is false if that
// is the real result.
func (v *replica) read(r read, result any, p visibility) (old memo, stale bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.written && time.Since(v.last) < p.Duration {
		if old = v.seen.get(r); old != nil {
			return old, true
		}
		return remembered(p.before), p.before != nil
	}
	v.seen.put(r, result)
	return nil, false
}
