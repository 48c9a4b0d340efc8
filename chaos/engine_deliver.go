package chaos

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/internal/blame"
)

// exchanged is what one rule made of a value. Faults do not report their own delivery: the
// injection compares what each was given with what it returned or passed on.
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
	switch len(known) {
	case 0:
		return
	case 1:
		found(known[0].rule)
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
// call returns: from then on the caller may change the result.
func (x *injection) judgeResult() {
	changes := make([]exchanged, 0, 4)
	for i := len(x.rules) - 1; i >= 0; i-- {
		if a := &x.rules[i]; a.value.likeness != alike && !a.keepsOpen && !x.onItems(a) {
			changes = append(changes, a.value)
		}
	}
	seen(changes, func(a *callRule) { a.seen = true })
}

// judgeArgs finds which changes of the arguments reached the callee. It runs just
// before the callee.
func (x *injection) judgeArgs() {
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
		return a.called
	}
	return a.seen || a.phase != PhaseChange && a.bare // a difference that no value shows
}

// maxChanges bounds the changes kept of one rule on one call, since streams are
// unbounded.
const maxChanges = 256

func (x *injection) changed(pinned int16, ch []Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.ruleOf(pinned)
	if x.over || a == nil {
		return
	}
	kept := min(len(ch), maxChanges-len(a.changes))
	a.changes = append(a.changes, ch[:kept]...)
	a.more += len(ch) - kept
	a.unseen, a.called, a.bare = false, true, a.bare || len(ch) == 0
	a.fresh = a.fresh || len(ch) > 0 || a.phase == PhaseChange
}

// unseen notes that the caller got nothing of what a rule did, or of what those further
// in did.
func (x *injection) unseen(pinned int16, within bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a := x.ruleOf(pinned)
	if x.over || a == nil {
		return
	}
	rules := x.rules[a.index : a.index+1]
	if within {
		rules = x.rules[a.index+1:]
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

func (x *injection) newlyDeclared(a *callRule) (declared bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	declared, a.fresh = a.fresh, false
	return declared
}

type execution struct {
	result any
	values []exchanged
}

func idleClaim(a *callRule) string {
	return fmt.Sprintf("rule %q declared a change that made no difference", a.Name)
}

// judge compares the result with what the fault got from next. A rule that executes a call
// several times may return the result of any execution; the rules further in are then
// judged by that execution.
func (a *callRule) judge(result any) {
	declared := a.x.newlyDeclared(a)
	if a.nexts == 0 || a.keepsOpen {
		return
	}
	if len(a.earlier) > 0 && (a.err != nil || compare(a.result, result) != alike) {
		for _, e := range a.earlier {
			if compare(e.result, result) == alike {
				for k, v := range e.values {
					a.x.rules[a.index+1+k].value = v
				}
				return
			}
		}
	}
	if a.err != nil { // it returned a value in the place of an error
		a.value = exchanged{a, nil, result, unknowable}
		return
	}
	a.value = exchanged{a, a.result, result, a.x.differs(a, a.result, result, declared)}
}
