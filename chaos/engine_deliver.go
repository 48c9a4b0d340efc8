package chaos

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/internal/blame"
)

// Faults do not report their own delivery: the injection compares what each rule
// was given with what it returned or passed on. [Event.Delivered] has the
// definition.

// exchanged is what a rule made of one value.
type exchanged struct {
	rule     *callRule
	in, out  any
	likeness likeness // alike: there is no change to judge
}

// differs compares what a rule was given with what it passes on. declared means that
// the fault called [Changed] for it: a value that it may have written to in place, or
// that cannot be compared, then counts as changed.
func (x *injection) differs(a *callRule, in, out any, declared bool) likeness {
	switch l := compare(in, out); {
	case l == unlike:
		if !declared && a.phase == PhaseChange {
			x.note(fmt.Sprintf("rule %q changed the result without declaring it", a.Name))
		}
		return unlike
	case !declared:
		return alike
	case l == unknowable || shared(in, out):
		x.note(fmt.Sprintf("rule %q: what it was given and what it gave cannot be compared; its word is taken", a.Name))
		return unknowable
	case a.phase == PhaseChange:
		x.note(idleClaim(a))
	}
	return alike
}

// seen calls found for each change that the receiver of the last value can see. The
// changes stand in the order in which they were made.
func seen(changes []exchanged, found func(*callRule)) {
	known := make([]exchanged, 0, 4)
	for _, ch := range changes {
		switch ch.likeness {
		case unknowable:
			found(ch.rule)
		case unlike:
			known = append(known, ch)
		}
	}
	if len(known) == 0 {
		return
	}
	last := known[len(known)-1]
	switch {
	case compare(known[0].in, last.out) == alike:
		return
	case isWhole(known[0].in) && !slices.ContainsFunc(known, func(ch exchanged) bool { return !isWhole(ch.out) }):
		found(last.rule)
		return
	}
	texts := [][]byte{textOf(known[0].in)}
	for _, ch := range known {
		texts = append(texts, textOf(ch.out))
	}
	if slices.ContainsFunc(texts, func(text []byte) bool { return text == nil }) {
		found(last.rule) // each replaced the whole of the one before it
		return
	}
	for i, there := range blame.Seen(texts) {
		if there {
			found(known[i].rule)
		}
	}
}

// judgeResult finds which changes of the result the caller gets. It runs when the
// call returns: from then on the caller may change the result. unwound means that
// the call panicked or ended its goroutine.
func (x *injection) judgeResult(err error, unwound bool) {
	if err != nil || unwound {
		return // the caller gets no value
	}
	changes := make([]exchanged, 0, 4)
	for i := len(x.rules) - 1; i >= 0; i-- {
		if a := &x.rules[i]; a.value.likeness != alike && !a.keepsOpen && !x.onItems(a) {
			changes = append(changes, a.value)
		}
	}
	if len(changes) == 1 { // as seen would find
		changes[0].rule.seen = true
		return
	}
	seen(changes, func(a *callRule) { a.seen = true })
}

// judgeArgs finds which changes of the arguments reached the callee. It runs just
// before the callee.
func (x *injection) judgeArgs() {
	if x.others == 0 {
		return
	}
	var changes []exchanged
	for i := range x.rules {
		if a := &x.rules[i]; a.args.likeness != alike {
			changes = append(changes, a.args)
		}
	}
	seen(changes, func(a *callRule) {
		x.mu.Lock()
		defer x.mu.Unlock()
		a.reached = true
	})
}

// pass is the [Next] of the fault.
func (a *callRule) pass(ctx context.Context, args any) (any, error) {
	x := a.x
	if other, _ := injectionOf(ctx); other != nil && other != x {
		return x.callee.late(ctx, x, args) // from within a later call
	}
	x.keepEarlier(&a.got, a.index)
	result, err := x.passOn(a, ctx, args)
	x.enterRule(a.index)
	a.got.n++
	a.got.result, a.got.err = result, err
	if err != nil {
		a.inner = append(a.inner, err)
	}
	return result, err
}

// passOn takes the call from a rule to the next stage.
func (x *injection) passOn(a *callRule, ctx context.Context, args any) (result any, err error) {
	given := a.given
	args, fits := x.fitting(a, given, args)
	declared := x.newlyDeclared(a) && a.phase != PhaseChange
	if l := x.differs(a, given, args, declared && fits); l != alike {
		a.args = exchanged{a, given, args, l}
		x.others++
		defer func() { a.args.likeness, x.others = alike, x.others-1 }()
	}
	x.mu.Lock()
	a.nexts++
	a.before = x.runs
	x.mu.Unlock()
	if a.next != nil {
		result, err = a.next(ctx, args)
	} else {
		result, err = x.run(a.index+1, ctx, args)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	a.again = a.again || a.nexts > 1 && x.runs > a.before
	return result, err
}

// fitting converts arguments into the type of the call. If that fails, the call goes
// on with the arguments that the fault was given, whatever it declared.
func (x *injection) fitting(a *callRule, given, args any) (fit any, fits bool) {
	if reflect.TypeOf(args) == reflect.TypeOf(given) {
		return args, true
	}
	fit, err := x.callee.fitArgs(args)
	if err != nil {
		x.note(fmt.Sprintf("rule %q passed on arguments of the wrong type: %v", a.Name, err))
		return given, false
	}
	return fit, true
}

// delivered reports whether the caller, or the callee, saw what the rule did. lost:
// a reply was lost, and the result with it.
func (x *injection) delivered(a *callRule, lost bool) bool {
	switch {
	case !a.ran:
		return false
	case a.panicked || a.running && x.current() < len(x.rules) && &x.rules[x.current()] == a:
		return true // its own panic
	case a.spent > 0, a.again, a.reached: // time, executions, arguments
		return true
	case a.running:
		return a.nexts > 1 && x.runs > a.before // it was the further execution that panicked
	case x.onItems(a):
		return a.seen && !lost
	case a.skipped: // its result is in the place of the callee's
		return true
	case a.unseen:
		return false
	case a.made != nil:
		return !(lost && a.phase == PhaseChange)
	case a.keepsOpen:
		return a.calls > 0
	}
	return a.seen || a.phase != PhaseChange && a.calls > a.declared // a difference that no value shows
}

// maxChanges bounds the changes kept of one rule on one call, since streams are
// unbounded.
const maxChanges = 256

// changed adds the changes that a rule declared.
func (x *injection) changed(pinned int16, ch []Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := x.indexOf(pinned)
	if x.over || at == len(x.rules) {
		return
	}
	a := &x.rules[at]
	kept := min(len(ch), maxChanges-len(a.changes))
	a.changes = append(a.changes, ch[:kept]...)
	a.unseen = false
	if a.calls++; len(ch) > 0 {
		a.declared++
	}
	a.more += len(ch) - kept
}

// unseen notes that the caller got nothing of what a rule did, or of what those further
// in did.
func (x *injection) unseen(pinned int16, within bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := x.indexOf(pinned)
	if x.over || at == len(x.rules) {
		return
	}
	rules := x.rules[at : at+1]
	if within {
		rules = x.rules[at+1:]
	}
	for i := range rules {
		a := &rules[i]
		if a.unseen = true; a.made != nil && same(x.lastErr, a.made) {
			x.lastErr = nil // the caller did not get it
		}
	}
}

// onItems reports whether a rule acts on the items of a stream.
func (x *injection) onItems(a *callRule) bool { return x.perItem && a.phase == PhaseChange }

// newlyDeclared reports whether a rule has declared a change since it was last
// asked.
func (x *injection) newlyDeclared(a *callRule) (declared bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	declared = a.declared > a.asked.declared || a.phase == PhaseChange && a.calls > a.asked.calls
	a.asked = a.declarations
	return declared
}

// received is what a rule got from next: usually one result.
type received struct {
	result  any // the last
	err     error
	n       int
	earlier []execution // those before the last that were no errors
}

// execution is one result, and what each rule further in changed for it.
type execution struct {
	result any
	values []exchanged
}

// keepEarlier keeps the last result of rule i, which passes the call on once more: it may
// still return that result.
func (x *injection) keepEarlier(got *received, i int) {
	if got.n == 0 || got.err != nil {
		return
	}
	var values []exchanged
	for k := range x.rules[i+1:] {
		values = append(values, x.rules[i+1+k].value)
	}
	got.earlier = append(got.earlier, execution{got.result, values})
}

// postponed notes that a fault keeps the call for later.
func (x *injection) postponed() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.later = x.later || !x.over
}

// idleClaim is the event's note about a declaration without a difference.
func idleClaim(a *callRule) string {
	return fmt.Sprintf("rule %q declared a change that made no difference", a.Name)
}

// judgeRule compares the result of rule i with what it got from next. A rule that
// executes a call several times may return the result of any execution; the rules
// further in are then judged by that execution.
func (x *injection) judgeRule(i int, got *received, result any) {
	a := &x.rules[i]
	declared := x.newlyDeclared(a)
	if got.n == 0 || a.keepsOpen {
		return
	}
	if len(got.earlier) > 0 && (got.err != nil || compare(got.result, result) != alike) {
		for _, e := range got.earlier {
			if compare(e.result, result) == alike {
				for k, v := range e.values {
					x.rules[i+1+k].value = v
				}
				return
			}
		}
	}
	if got.err != nil { // it returned a value in the place of an error
		a.value = exchanged{a, nil, result, unknowable}
		return
	}
	a.value = exchanged{a, got.result, result, x.differs(a, got.result, result, declared)}
}
