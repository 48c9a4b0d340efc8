package chaos

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// callInjected makes a call with faults other than a single failure.
func callInjected[In, Out any](ctx context.Context, d *decision, m matchedRules, c *callee[In, Out],
	in In) (out Out, err error) {
	x := newInjection(ctx, d, m, c.effect)
	if len(x.rules) == 0 {
		d.unused = x.unused
		return callThrough(ctx, d, c, in)
	}
	x.set.site.in.notifyBegin(&x.frame, &x.rec)
	if c.attach != nil {
		c.attach(x)
	}
	x.callee = c
	keep := d.set.site.in.opts.KeepValues
	if keep {
		keepArgs(&x.rec, in)
	}
	x.set.site.in.open.add(&x.link, x)
	returned := false
	defer func() {
		well := returned && err == nil
		if !well || !x.keptOpen() {
			x.close()
		}
		if keep && well {
			raw, wrong := encode(out)
			x.mu.Lock()
			x.rec.keepResult(raw, wrong)
			x.mu.Unlock()
		}
		x.judgeResult(err, !returned)
		if x.leave() {
			x.settle(err, !returned)
		}
	}()
	result, err := x.run(0, &x.frame, in)
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
	decision
	frame   frame        // what callee and faults see
	matched matchedRules // in the order of the list
	masked  []int        // indices into matched of those that are masked
	rules   []callRule   // outermost first
	room    [1]callRule  // for rules, if there is one
	callee  anyCallee
	effect  Effect // what a successful callee does
	rec     record
	more    details
	link    openLink // while the call leaves an event and has none

	// mu: a fault may declare changes from a goroutine of its own, and [Injector.End] may
	// settle the call while it runs.
	mu        sync.Mutex
	executing atomic.Int32 // index of the rule whose code is running; len(rules): the callee
	runs      int          // how often the callee was reached, as it counts itself
	others    int          // rules under way that passed on other arguments than they were given
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

// reach counts the execution. nil arguments are the zero value.
func (c *callee[In, Out]) reach(ctx context.Context, x *injection, args any) (any, error) {
	in, _ := args.(In)
	x.ran(1, false)
	out, err := c.fn(ctx, in)
	if unsent(err) {
		x.ran(-1, false)
	}
	return out, err
}

// callRule is one rule in one injection: what its fault did to the call.
type callRule struct {
	*siteRule
	x         *injection
	index     int  // among the rules of x
	place     int  // in the list of matched rules
	ran       bool // its turn came
	running   bool // true after the call: it panicked, or something further in did
	panicked  bool // it panicked itself, in a stream
	keepsOpen bool // it goes on after Inject has returned
	passages
	results
	claims
	waiting
}

// passages is how a rule passed the call on.
type passages struct {
	given   any       // the arguments of its Inject
	next    Next      // the next stage; nil: the rules further in
	passes  Next      // what Inject gets as next: callRule.pass
	got     received  // from next
	nexts   int       // how often
	before  int       // executions of the callee before its last next
	again   bool      // a further next reached the callee
	skipped bool      // it did not pass the call on
	inner   []error   // the errors that it got from next
	args    exchanged // the arguments that it passed on, while the call is further in
	reached bool      // arguments that it changed reached the callee
}

// results is what a rule made of the result.
type results struct {
	value  exchanged // its last result
	made   error     // the error it made itself, wrapped
	seen   bool      // a value that it changed reached the caller
	unseen bool      // the caller got nothing of what it did: see Unseen
	ended  bool      // it ended a stream early
}

// claims is what a rule declared by [Changed].
type claims struct {
	declarations
	asked   declarations // when newlyDeclared was last asked
	changes []Change
	more    int // changes that were not kept
}

// declarations counts the calls of [Changed], and those with a change.
type declarations struct{ calls, declared int }

// waiting is how a rule waited.
type waiting struct {
	slept      bool // it asked for a wait
	spent      time.Duration
	underWay   int       // waits; more than one only if it has goroutines of its own
	waitsSince time.Time // when the last of them began
}

// newInjection begins the call of a decision. No rule may be left: then nothing is
// injected.
func newInjection(ctx context.Context, d *decision, m matchedRules, does Effect) *injection {
	x := &injection{decision: *d, effect: does}
	d.open(&x.rec)
	x.rec.begun = d.set.site.in.begun.Add(2)
	x.begin(ctx, m)
	return x
}

// begin orders the matched rules, without those that are held back. The first
// remaining failure decides the call. A failure that needs no callee acts before the
// changes and the lost replies, which then do not run at all. Another failure acts
// next to the callee.
func (x *injection) begin(ctx context.Context, m matchedRules) {
	x.frame.within(ctx, x.decision.frame, x.set.site)
	x.frame.injection, x.rec.more = x, &x.more
	x.disarms = x.set.site.in.disarms.Load()
	x.matched, x.rules = m, x.room[:0]
	if n := m.len(); n > 1 {
		x.rules = make([]callRule, 0, n)
	}
	x.addDecider()
	for i := range m.len() {
		if b := m.rule(i); b.phase != PhaseInstead && x.reserve(b) {
			x.rules = append(x.rules, callRule{siteRule: b, place: i})
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

// enterRule sets whose code runs from now on.
func (x *injection) enterRule(i int) { x.executing.Store(int32(i)) }

func (x *injection) current() int { return int(x.executing.Load()) }

// addDecider adds the first failure that may be injected; those after it are masked.
func (x *injection) addDecider() {
	for i := range x.matched.len() {
		switch b := x.matched.rule(i); {
		case b.phase != PhaseInstead:
		case len(x.rules) > 0:
			x.mask(i)
		case x.reserve(b):
			x.rules = append(x.rules, callRule{siteRule: b, place: i})
		}
	}
}

func (x *injection) mask(place int) { x.masked = append(x.masked, place) }

// run takes the call through the rules from i on, to the callee. If the injector was
// disarmed, closed or killed while a fault waited, no further rule acts.
func (x *injection) run(i int, ctx context.Context, args any) (any, error) {
	if i == len(x.rules) || x.inactive() {
		return x.reach(ctx, args)
	}
	if x.perItem && x.rules[i].phase == PhaseChange || x.rules[i].over() {
		return x.run(i+1, ctx, args)
	}
	return x.apply(i, ctx, args, nil, nil)
}

// apply runs one fault, and compares what goes into it with what comes out. How it ended
// is one of the functions that follow, from gaveUp to madeError. An item of a stream has a
// fit and a next of its own; nil: those of the call.
func (x *injection) apply(i int, ctx context.Context, args any, fit func(any) (any, error), next Next) (any, error) {
	a, outer := &x.rules[i], x.current()
	x.enterRule(i)
	x.mu.Lock()
	a.ran, a.running, a.nexts, a.value.likeness = true, true, 0, alike
	x.mu.Unlock()
	if a.passes == nil {
		a.passes = a.pass
	}
	a.given, a.next, a.got = args, next, received{}
	result, err := a.inject(ctx, x.call(a.faultCoord), args, a.passes)
	if err != nil && x.gaveUp(a, ctx, err) {
		result, err = a.pass(ctx, args)
	}
	if err == nil {
		var wrong error
		fitting := result
		if fit != nil {
			fitting, wrong = fit(result)
		} else {
			fitting, wrong = x.callee.fitResult(result)
		}
		if result = fitting; wrong != nil {
			result, err = a.misfit(ctx, wrong)
		}
	}
	x.enterRule(outer)
	a.running, a.skipped = false, a.skipped || a.nexts == 0
	switch {
	case err == nil:
		x.judgeRule(i, &a.got, result)
	case slices.ContainsFunc(a.inner, func(inner error) bool { return same(err, inner) }):
		x.passedError(a)
	default:
		err = x.madeError(a, err)
	}
	return result, err
}

// gaveUp reports whether a fault that wanted to wait found the context ended, and
// only returned its error. The call then goes on as without the fault.
func (x *injection) gaveUp(a *callRule, ctx context.Context, err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return a.nexts == 0 && a.slept && a.spent == 0 && !x.later && same(err, ctx.Err())
}

// misfit is the end of a fault whose result does not fit the call: the result is that of
// next, as if there were no fault.
func (a *callRule) misfit(ctx context.Context, wrong error) (any, error) {
	a.x.refuse(a, wrong)
	if a.nexts > 0 {
		return a.got.result, a.got.err
	}
	return a.pass(ctx, a.given)
}

// passedError is the end of a fault that returned an error of next. It notes if the fault
// declared a change of it.
func (x *injection) passedError(a *callRule) {
	if x.newlyDeclared(a) && a.phase == PhaseChange && !a.keepsOpen {
		x.note(idleClaim(a))
	}
}

// madeError is the end of a fault that returned an error of its own.
func (x *injection) madeError(a *callRule, err error) error {
	a.made = x.injectedError(a, err)
	return a.made
}

// injectedError is the error that a fault made.
func (x *injection) injectedError(a *callRule, err error) error {
	return &InjectedError{Rule: a.Name, Target: x.set.site.target, Ordinal: x.ordinal, Err: err}
}

// inject runs the fault. If a failure makes no error, the call goes on.
func (a *callRule) inject(ctx context.Context, c Call, args any, next Next) (any, error) {
	if a.failer == nil {
		return a.fault.Inject(ctx, c, args, next)
	}
	note, err := fail(a.failer, c, args)
	if err != nil {
		return nil, err
	}
	if note != "" {
		a.x.note(note)
	}
	return next(ctx, args)
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

// refuse notes that a fault's result does not fit the call: it was not delivered.
func (x *injection) refuse(a *callRule, wrong error) {
	x.note(fmt.Sprintf("rule %q replaced the result by one of the wrong type: %v", a.Name, wrong))
	x.mu.Lock()
	defer x.mu.Unlock()
	a.claims = claims{}
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

// note adds a sentence to the event.
func (x *injection) note(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.rec.note(text)
	}
}

// indexOf is the index of the executing rule, or of the one that a context is pinned
// to.
func (x *injection) indexOf(pinned int16) int {
	if pinned > 0 {
		return int(pinned) - 1
	}
	return x.current()
}

// sleep waits for a rule, and counts its wait.
func (x *injection) sleep(ctx context.Context, pinned int16, d time.Duration) error {
	a := x.beginWait(pinned, d)
	var rule *liveRule
	if a != nil {
		rule = a.liveRule
	}
	spent, err := x.wait(ctx, d, rule)
	if err == nil && d == 0 && (x.disarmedOrKilled() || rule.over()) {
		err = ErrDisarmed
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over { // whoever settled reads the rules without the lock
		return err
	}
	x.more.spent += spent
	if a != nil {
		a.underWay--
		a.slept = true
		a.spent += spent
	}
	return err
}

// beginWait notes that the executing rule waits for d, or the one that a context is
// pinned to, and returns it; nil: the callee runs.
func (x *injection) beginWait(pinned int16, d time.Duration) *callRule {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := x.indexOf(pinned)
	if !x.over {
		x.more.asked += min(max(d, 0), math.MaxInt64-x.more.asked)
	}
	if at == len(x.rules) {
		return nil
	}
	a := &x.rules[at]
	if !x.over {
		a.underWay++
		a.waitsSince = time.Now()
	}
	return a
}

// wait is the injector's sleep. It does not wait if the injector was disarmed during
// the call.
func (x *injection) wait(ctx context.Context, d time.Duration, rule *liveRule) (time.Duration, error) {
	if x.wasDisarmed() && ctx.Err() == nil {
		return 0, ErrDisarmed
	}
	return x.set.site.in.sleep(ctx, d, rule)
}
