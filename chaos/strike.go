package chaos

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// strike is one call that rules were drawn on, while it runs. It is the slow
// path: one allocation holds the state, one closure per acting fault follows.
type strike struct {
	visit
	frame  frame    // what callee and faults see
	drawn  []*bound // in the order of the list
	hidden []int    // those of drawn that are masked
	acts   []act    // outermost first
	callee Next
	late   Next // the callee for a later call, which shares nothing with this one; nil: there is none
	shape  shape
	effect Effect // what a successful callee does
	rec    record
	more   details

	mu      sync.Mutex   // a fault may declare changes from a goroutine of its own
	at      atomic.Int32 // the act whose code is running; len(acts): the callee
	runs    int          // how often the callee was reached, as it counts itself
	others  int          // acts that passed on other arguments than they were given, and are under way
	later   bool         // a fault keeps the call, to execute it later
	worked  bool         // it returned without an error at least once
	perItem bool         // a stream: changes act on items, not on the call
	open    int          // faults that outlast their Inject and have not ended
	left    bool         // the call has returned
	lastErr error        // by which it ended after that
	over    bool         // the event is closed: what comes later changes nothing
	disarms uint32       // of the injector before the call: with one more no rule is in force for it, not even after Arm
}

// shape brings values into the types of a call.
type shape interface {
	fitArgs(any) (any, error)
	fitResult(any) (any, error)
}

// act is one rule's part in a strike.
type act struct {
	*bound
	place    int       // in the list of drawn rules
	ran      bool      // its turn came
	nexts    int       // how often it passed the call on
	before   int       // executions of the callee before the last time
	again    bool      // the callee was reached on a further time
	skipped  bool      // it did not pass the call on
	inner    []error   // what it got back, where that was an error
	made     error     // the error it made itself, wrapped
	value    exchanged // its last result
	args     exchanged // the arguments on their way
	reached  bool      // arguments that it changed reached the callee
	seen     bool      // a value that it changed reached the caller
	ended    bool      // it ended a stream before its time
	calls    int       // of Changed
	declared int       // those with a change
	told     told      // what it had declared before the last pass
	changes  []Change
	more     int  // changes that were not kept
	slept    bool // it asked for a wait
	spent    time.Duration
	running  bool // still true afterwards: it panicked, or something further in did
	panicked bool // it did itself, in a stream
	outlasts bool // it goes on after Inject has returned
}

// begin orders the drawn rules into acts. A rule whose limit or cool-down
// forbids a strike drops out, and the first failure that remains decides. One
// that needs no callee stands before the changes and the lost replies, which
// then do not run at all; another stands behind them, next to the callee.
func (x *strike) begin(ctx context.Context, d drawn) {
	x.frame.within(ctx, x.visit.frame, x.set.slot)
	x.frame.strike, x.rec.more = x, &x.more
	x.disarms = x.set.slot.in.disarms.Load()
	x.drawn = append([]*bound{d.first}, d.more...)
	decider := x.decider()
	var before, change, after []act
	for i, b := range x.drawn {
		if b.phase == PhaseInstead || !x.reserve(b) {
			continue
		}
		switch a := (act{bound: b, place: i}); b.phase {
		case PhaseBefore:
			before = append(before, a)
		case PhaseChange:
			change = append(change, a)
		default:
			after = append(after, a)
		}
	}
	slices.Reverse(change) // the first in order is the innermost
	slices.Reverse(after)
	if len(decider) > 0 && decider[0].failer != nil {
		x.acts = slices.Concat(before, decider, after, change)
	} else {
		x.acts = slices.Concat(before, after, change, decider)
	}
	x.atAct(len(x.acts))
}

// atAct says whose code runs from now on.
func (x *strike) atAct(i int) { x.at.Store(int32(i)) }

func (x *strike) now() int { return int(x.at.Load()) }

// decider is the first failure that may strike, or nothing; those after it are masked.
func (x *strike) decider() (decider []act) {
	for i, b := range x.drawn {
		switch {
		case b.phase != PhaseInstead:
		case decider != nil:
			x.mask(i)
		case x.reserve(b):
			decider = []act{{bound: b, place: i}}
		}
	}
	return decider
}

func (x *strike) mask(place int) { x.hidden = append(x.hidden, place) }

// run carries the call through the acts from i on, to the callee. An injector
// that was disarmed or closed while an act waited has no further rule in force.
func (x *strike) run(i int, ctx context.Context, args any) (any, error) {
	if i == len(x.acts) || x.resting() {
		return x.reach(ctx, args)
	}
	if x.perItem && x.acts[i].phase == PhaseChange || x.acts[i].over() {
		return x.run(i+1, ctx, args)
	}
	return x.act(i, ctx, args, x.shape.fitResult, func(ctx context.Context, args any) (any, error) { return x.run(i+1, ctx, args) })
}

// act lets one fault act, and compares what goes into it with what comes out.
func (x *strike) act(i int, ctx context.Context, args any, fit func(any) (any, error), next Next) (any, error) {
	a, outer := &x.acts[i], x.now()
	x.atAct(i)
	a.ran, a.running = true, true
	a.nexts, a.value.likeness = 0, alike
	var handed handed
	pass := func(ctx context.Context, passed any) (any, error) {
		if x.late != nil && x.foreign(ctx) {
			return x.late(ctx, passed)
		}
		x.again(&handed, i)
		result, err := x.pass(a, ctx, args, passed, next)
		x.atAct(i)
		handed.add(result, err)
		if err != nil {
			a.inner = append(a.inner, err)
		}
		return result, err
	}
	result, err := a.inject(ctx, x.call(a.own), args, pass)
	if err != nil && x.idled(a, ctx, err) {
		result, err = pass(ctx, args)
	}
	if err == nil {
		fitted, wrong := fit(result)
		switch {
		case wrong == nil:
			result = fitted
		case a.nexts > 0:
			x.refuse(a, wrong)
			result, err = handed.result, handed.err
		default: // as if it had not been drawn
			x.refuse(a, wrong)
			result, err = pass(ctx, args)
		}
	}
	x.atAct(outer)
	a.running, a.skipped = false, a.skipped || a.nexts == 0
	switch {
	case err == nil:
		x.weigh(i, &handed, result)
	case slices.ContainsFunc(a.inner, func(inner error) bool { return same(err, inner) }):
		x.unmoved(a)
	default:
		a.made = x.injected(a, err)
		err = a.made
	}
	return result, err
}

// idled tells whether a fault that wanted to wait found the context ended, and
// did nothing but return its error: the call goes on, as it would without it.
func (x *strike) idled(a *act, ctx context.Context, err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return a.nexts == 0 && a.slept && a.spent == 0 && !x.later && same(err, ctx.Err())
}

func (x *strike) injected(a *act, err error) error {
	return &InjectedError{Rule: a.Name, Target: x.set.slot.target, Ordinal: x.ordinal, Err: err}
}

// inject runs the fault; one that is only an error and makes none lets the
// call through.
func (a *act) inject(ctx context.Context, c Call, args any, next Next) (any, error) {
	if a.failer == nil {
		return a.fault.Inject(ctx, c, args, next)
	}
	if err := a.failer.Fail(c); err != nil {
		return nil, err
	}
	return next(ctx, args)
}

// reach calls the callee, unless the cell ended while a fault was waiting.
func (x *strike) reach(ctx context.Context, args any) (any, error) {
	if in := x.set.slot.in; in.state.Load()&stateClosed != 0 {
		in.late.Add(1)
		return nil, ErrCellEnded
	}
	x.arrived()
	outer := x.now()
	x.atAct(len(x.acts))
	result, err := x.callee(ctx, args)
	x.worked = x.worked || err == nil
	x.atAct(outer)
	return result, err
}

// foreign tells whether a context is that of another struck call.
func (x *strike) foreign(ctx context.Context) bool {
	f := frameOf(ctx)
	return f != nil && f.strike != nil && f.strike != x
}

// same tells whether two errors are the same value, also where == would panic.
func same(a, b error) bool {
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return a == nil && b == nil
	}
	if !reflect.ValueOf(a).Comparable() || !reflect.ValueOf(b).Comparable() {
		return reflect.DeepEqual(a, b)
	}
	return a == b
}

// refuse notes that a fault's result does not fit the call: it was not delivered.
func (x *strike) refuse(a *act, wrong error) {
	x.note(fmt.Sprintf("rule %q replaced the result by one of the wrong type: %v", a.Name, wrong))
	x.mu.Lock()
	defer x.mu.Unlock()
	a.calls, a.declared, a.told, a.changes, a.more = 0, 0, told{}, nil, 0
}

// close is the end of the account: goroutines that the callee or a fault left
// behind may still hold the context.
func (x *strike) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
}

// note adds a sentence to the event.
func (x *strike) note(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.rec.note(text)
	}
}

// maxChanges bounds the changes kept of one rule on one call: a stream may
// have any number of items.
const maxChanges = 256

// changed notes what the act at work declared.
func (x *strike) changed(pinned int16, ch []Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := x.actOf(pinned)
	if x.over || at == len(x.acts) {
		return
	}
	a := &x.acts[at]
	kept := min(len(ch), maxChanges-len(a.changes))
	a.changes = append(a.changes, ch[:kept]...)
	if a.calls++; len(ch) > 0 {
		a.declared++
	}
	a.more += len(ch) - kept
}

// ruleOf is the rule of the act at work, or of the one that a context is pinned
// to; nil: the callee is.
func (x *strike) ruleOf(pinned int16) *active {
	x.mu.Lock()
	defer x.mu.Unlock()
	if at := x.actOf(pinned); at < len(x.acts) {
		return x.acts[at].active
	}
	return nil
}

// actOf is the act at work, or the one that a context is pinned to.
func (x *strike) actOf(pinned int16) int {
	if pinned > 0 {
		return int(pinned) - 1
	}
	return x.now()
}

// sleep waits for the act at work, and keeps account of it.
func (x *strike) sleep(ctx context.Context, pinned int16, d time.Duration) error {
	rule := x.ruleOf(pinned)
	spent, err := x.wait(ctx, d, rule)
	if err == nil && d == 0 && (x.calm() || rule.over()) {
		err = ErrDisarmed
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return err
	}
	x.more.asked += min(max(d, 0), math.MaxInt64-x.more.asked)
	x.more.spent += spent
	if at := x.actOf(pinned); at < len(x.acts) {
		x.acts[at].slept = true
		x.acts[at].spent += spent
	}
	return err
}

// wait is the injector's, of a call that no disarming has let go.
func (x *strike) wait(ctx context.Context, d time.Duration, rule *active) (time.Duration, error) {
	if x.letGo() && ctx.Err() == nil {
		return 0, ErrDisarmed
	}
	return x.set.slot.in.sleep(ctx, d, rule)
}
