package chaos

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// injectedCall is an injection and the callee behind it, in one allocation.
type injectedCall[In, Out any] struct {
	injection
	to callee[In, Out]
}

func callInjected[In, Out any](ctx context.Context, d *decision, m matchedRules, c *callee[In, Out],
	in In) (out Out, err error) {
	whole := &injectedCall[In, Out]{to: *c}
	x := &whole.injection
	x.begin(ctx, d, m, c.effect)
	if len(x.rules) == 0 {
		d.more = &x.details
		return callThrough(ctx, d, c, in)
	}
	x.callee = &whole.to
	if c.attach != nil {
		c.attach(x)
	}
	beginRecord(&x.recording, &x.decision, x, in)
	returned := false
	defer func() {
		well := returned && err == nil
		if !well || !x.keptOpen() {
			x.close()
		}
		if well && x.set.site.in.opts.KeepValues {
			raw, wrong := encode(out)
			x.mu.Lock()
			x.rec.keepResult(raw, wrong)
			x.mu.Unlock()
		}
		if well {
			x.judgeResult()
		}
		if x.leave() {
			x.settle(err, !returned)
		}
	}()
	result, err := x.run(0, &x.inner, in)
	out, _ = result.(Out) // run converted it; nil is the zero value
	if c.finish != nil {
		out, err = c.finish(out, err)
	}
	returned = true
	return out, err
}

// injection is one call while faults act on it. It costs one allocation for the
// state, and one closure for each fault that acts.
type injection struct {
	recording
	decision
	matched matchedRules // in the order of the list
	masked  []int        // indices into matched of those that are masked
	rules   []callRule   // outermost first
	room    [1]callRule  // for rules, if there is one
	callee  anyCallee
	effect  Effect // what a successful callee does
	details details

	// mu: a fault may declare changes from a goroutine of its own, and [Injector.End] may
	// settle the call while it runs.
	mu        sync.Mutex
	executing atomic.Int32 // index of the rule whose code is running; len(rules): the callee
	runs      int          // how often the callee was reached, as it counts itself
	later     bool         // a fault keeps the call, to execute it later
	worked    bool         // the callee returned without an error at least once
	perItem   bool         // a stream: changes act on items, not on the call
	stillOpen int          // faults that used KeepOpen and have not ended
	left      bool         // the call has returned
	beforeEnd func()       // what End calls if the call has returned; nil: nothing
	lastErr   error        // the first error by which a fault that kept the call open ended
	over      bool         // the event is closed: what comes later changes nothing
	// of the injector before the call; with one more no rule is in force for it, not even after Arm
	disarms uint32
}

// anyCallee is a callee behind values whose types the rules do not know.
type anyCallee interface {
	fitArgs(any) (any, error) // into the type of the arguments
	fitResult(any) (any, error)
	// reach calls it with arguments that fit.
	reach(ctx context.Context, x *injection, args any) (any, error)
	// late calls it from within a later call, without the state of x.
	late(ctx context.Context, x *injection, args any) (any, error)
}

func (c *callee[In, Out]) reach(ctx context.Context, x *injection, args any) (any, error) {
	in, _ := args.(In)
	x.ran(1, false)
	out, err := c.call(ctx, in)
	if unsent(err) {
		x.ran(-1, false)
	}
	return out, err
}

// callRule is one rule in one injection: what its fault did to the call.
type callRule struct {
	*siteRule
	x      *injection
	index  int            // among the rules of x
	place  int            // in the list of matched rules
	stream *streamChanges // it acts on single items of a stream; nil: on the call

	ran       bool // its turn came
	running   bool // true after the call: it panicked, or something further in did
	panicked  bool // it panicked itself, in a stream
	skipped   bool // it did not pass the call on
	again     bool // a further next reached the callee
	reached   bool // arguments that it changed reached the callee
	seen      bool // a value that it changed reached the caller
	unseen    bool // the caller got nothing of what it did: see Unseen
	ended     bool // it ended a stream early
	keepsOpen bool // it goes on after Inject has returned

	given   any         // the arguments of its Inject
	passes  Next        // what Inject gets as next: callRule.pass
	nexts   int         // how often it passed the call on
	before  int         // executions of the callee before its last next
	result  any         // what its last next returned
	err     error       // and its error
	earlier []execution // the results of its nexts before the last
	inner   []error     // the errors that it got from next
	args    exchanged   // the arguments that it passed on, while the call is further in
	value   exchanged   // its last result
	made    error       // the error it made itself, wrapped

	// what it declared by [Changed]
	called  bool // at least once
	bare    bool // without a change
	fresh   bool // a change, since newlyDeclared was last asked
	changes []Change
	more    int // changes that were not kept

	// how it waited
	slept      bool // it asked for a wait
	spent      time.Duration
	underWay   int       // waits; more than one only if it has goroutines of its own
	waitsSince time.Time // when the last of them began
}

// begin begins the call of a decision, with the matched rules that are not held back; none
// may be left. The first failure that is not decides the call. One that needs no callee acts
// before the changes and the lost replies, which then do not run at all. Another failure
// acts next to the callee.
func (x *injection) begin(ctx context.Context, d *decision, m matchedRules, does Effect) {
	x.decision, x.matched, x.effect = *d, m, does
	if x.more != nil {
		x.details = *x.more
	}
	x.more = &x.details
	s := x.set.site
	x.open(ctx, &x.rec)
	x.rec.begun = s.in.begun.Add(2)
	x.inner.within(ctx, x.frame, s)
	x.inner.injection = x
	x.disarms = s.in.disarms.Load()
	x.rules = x.room[:0]
	n := m.len()
	if n > 1 {
		x.rules = make([]callRule, 0, n)
	}
	for _, deciders := range []bool{true, false} {
		for place := range n {
			switch b := m.rule(place); {
			case deciders != (b.phase == PhaseInstead):
			case deciders && len(x.rules) > 0:
				x.masked = append(x.masked, place)
			case x.reserve(b):
				x.rules = append(x.rules, callRule{siteRule: b, place: place})
			}
		}
	}
	slices.SortFunc(x.rules, func(a, b callRule) int { return cmp.Compare(a.turn(), b.turn()) })
	for i := range x.rules {
		x.rules[i].x, x.rules[i].index = x, i
	}
	x.enterRule(len(x.rules))
}

// turn orders the rules of a call, the outermost first.
func (a *callRule) turn() int64 {
	const phase = 1 << 32 // more than there are places
	switch {
	case a.phase == PhaseBefore:
		return int64(a.place)
	case a.phase == PhaseAfter: // the first in order is the innermost
		return 3*phase - int64(a.place)
	case a.phase == PhaseChange:
		return 4*phase - int64(a.place)
	case a.failer != nil:
		return phase
	}
	return 5 * phase
}

func (x *injection) enterRule(i int) { x.executing.Store(int32(i)) }

func (x *injection) current() int { return int(x.executing.Load()) }

// run takes the call through the rules from i on, to the callee. If the injector was
// disarmed, closed or killed while a fault waited, no further rule acts.
func (x *injection) run(i int, ctx context.Context, args any) (any, error) {
	switch {
	case i == len(x.rules) || x.inactive():
		return x.reach(ctx, args)
	case x.onItems(&x.rules[i]) || x.rules[i].over():
		return x.run(i+1, ctx, args)
	}
	return x.rules[i].apply(ctx, args)
}

func (a *callRule) apply(ctx context.Context, args any) (any, error) {
	x, outer := a.x, a.x.current()
	x.enterRule(a.index)
	x.mu.Lock()
	a.ran, a.running, a.nexts, a.value.likeness = true, true, 0, alike
	x.mu.Unlock()
	if a.passes == nil {
		a.passes = a.pass
	}
	a.given, a.result, a.err, a.earlier = args, nil, nil, nil
	result, err := a.inject(ctx, x.call(a.faultCoord), args)
	if err != nil && a.gaveUp(ctx, err) {
		result, err = a.pass(ctx, args)
	}
	if err == nil {
		result, err = a.fitted(ctx, result)
	}
	x.enterRule(outer)
	a.running, a.skipped = false, a.skipped || a.nexts == 0
	switch {
	case err == nil:
		a.judge(result)
	case slices.ContainsFunc(a.inner, func(inner error) bool { return same(err, inner) }):
		if x.newlyDeclared(a) && a.phase == PhaseChange && !a.keepsOpen {
			x.note(idleClaim(a))
		}
	default:
		a.made = x.injectedError(a, err)
		err = a.made
	}
	return result, err
}

// inject runs the fault. If a failure makes no error, the call goes on.
func (a *callRule) inject(ctx context.Context, c Call, args any) (any, error) {
	if a.failer == nil {
		return a.fault.Inject(ctx, c, args, a.passes)
	}
	note, err := fail(a.failer, c, args)
	if note != "" {
		a.x.note(note)
	}
	if err != nil {
		return nil, err
	}
	return a.pass(ctx, args)
}

// gaveUp reports whether a fault that wanted to wait found the context ended, and
// only returned its error. The call then goes on as without the fault.
func (a *callRule) gaveUp(ctx context.Context, err error) bool {
	a.x.mu.Lock()
	defer a.x.mu.Unlock()
	return a.nexts == 0 && a.slept && a.spent == 0 && !a.x.later && same(err, ctx.Err())
}

// fitted converts the result of the fault into the type of the call or the stream. If that
// fails, the fault was not delivered: the result is that of next.
func (a *callRule) fitted(ctx context.Context, result any) (any, error) {
	fit := a.x.callee.fitResult
	if a.stream != nil {
		fit = a.stream.fit
	}
	fitting, wrong := fit(result)
	if wrong == nil {
		return fitting, nil
	}
	a.refuse(wrong)
	if a.nexts > 0 {
		return a.result, a.err
	}
	return a.pass(ctx, a.given)
}

func (a *callRule) refuse(wrong error) {
	a.x.note(fmt.Sprintf("rule %q replaced the result by one of the wrong type: %v", a.Name, wrong))
	a.x.mu.Lock()
	defer a.x.mu.Unlock()
	a.called, a.bare, a.fresh, a.changes, a.more = false, false, false, nil, 0
}

func (x *injection) injectedError(a *callRule, err error) error {
	return &InjectedError{Rule: a.Name, Target: x.set.site.target, Ordinal: x.ordinal, Err: err}
}

func (a *callRule) pass(ctx context.Context, args any) (any, error) {
	x := a.x
	if other, _ := injectionOf(ctx); other != nil && other != x {
		return x.callee.late(ctx, x, args) // from within a later call
	}
	if a.nexts > 0 && a.err == nil { // the fault may still return the former result
		earlier := execution{result: a.result}
		for k := range x.rules[a.index+1:] {
			earlier.values = append(earlier.values, x.rules[a.index+1+k].value)
		}
		a.earlier = append(a.earlier, earlier)
	}
	result, err := a.passOn(ctx, args)
	x.enterRule(a.index)
	if a.nexts > 1 && unsent(err) { // it answers as before: the caller would see an error of nobody
		x.note(fmt.Sprintf("rule %q: the call was not executed again: %v", a.Name, err))
		return a.result, a.err
	}
	a.result, a.err = result, err
	if a.err != nil {
		a.inner = append(a.inner, a.err)
	}
	return a.result, a.err
}

// passOn takes the call to the next stage. Arguments that do not fit are replaced by those
// that the fault was given, whatever it declared.
func (a *callRule) passOn(ctx context.Context, args any) (result any, err error) {
	x, declared := a.x, a.phase != PhaseChange
	if reflect.TypeOf(args) != reflect.TypeOf(a.given) {
		fit, err := x.callee.fitArgs(args)
		if err != nil {
			x.note(fmt.Sprintf("rule %q passed on arguments of the wrong type: %v", a.Name, err))
			fit, declared = a.given, false
		}
		args = fit
	}
	declared = x.newlyDeclared(a) && declared
	if l := x.differs(a, a.given, args, declared); l != alike {
		a.args = exchanged{a, a.given, args, l}
		defer func() { a.args.likeness = alike }()
	}
	x.mu.Lock()
	a.nexts++
	a.before = x.runs
	x.mu.Unlock()
	if a.stream != nil {
		result = a.stream.item
	} else {
		result, err = x.run(a.index+1, ctx, args)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	a.again = a.again || a.nexts > 1 && x.runs > a.before
	return result, err
}

// reach calls the callee, unless the injector was closed while a fault waited.
func (x *injection) reach(ctx context.Context, args any) (any, error) {
	if in := x.set.site.in; in.state.Load()&stateClosed != 0 {
		in.late.Add(1)
		return nil, ErrCellEnded
	}
	x.judgeArgs()
	outer := x.current()
	x.enterRule(len(x.rules))
	result, err := x.callee.reach(ctx, x, args)
	x.ran(0, err == nil)
	x.enterRule(outer)
	return result, err
}

func (x *injection) ran(n int, worked bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.runs += n
	x.worked = x.worked || worked
}

// same reports whether two errors are the same value. It also works for types whose
// == would panic.
func same(a, b error) bool {
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return a == nil && b == nil
	}
	if !reflect.ValueOf(a).Comparable() || !reflect.ValueOf(b).Comparable() {
		return reflect.DeepEqual(a, b)
	}
	return a == b
}

// close makes later notes, changes and waits of the call count for nothing:
// goroutines that the callee or a fault left behind may still use its context.
func (x *injection) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closeLocked()
}

// closeLocked is close for who holds x.mu. Of the waits under way it counts, once, what is over: a
// body may be closed, or its cell end, while a fault makes its reader wait.
func (x *injection) closeLocked() {
	if x.over {
		return
	}
	x.over = true
	for i := range x.rules {
		if a := &x.rules[i]; a.underWay > 0 {
			a.spent += time.Since(a.waitsSince)
			x.more.spent += time.Since(a.waitsSince)
		}
	}
}

func (x *injection) note(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.rec.note(text)
	}
}
