package chaos

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/shakedown-go/shakedown/internal/blame"
)

// Faults do not report their own delivery: the injection compares what goes into
// each rule with what comes out of it. [Event.Delivered] has the definition.

// exchanged is what a rule made of one value.
type exchanged struct {
	rule     *callRule
	in, out  any
	likeness likeness // unlike or unknowable: there is a change to judge
}

// differs compares what a rule was given with what it passes on. declared means that
// the fault called Changed for it. Then a value that it may have written to in
// place, or that cannot be compared, is taken to be changed.
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
	if compare(known[0].in, known[len(known)-1].out) == alike {
		return
	}
	texts := [][]byte{textOf(known[0].in)}
	for _, ch := range known {
		texts = append(texts, textOf(ch.out))
	}
	if slices.ContainsFunc(texts, func(text []byte) bool { return text == nil }) {
		found(known[len(known)-1].rule) // each replaced the whole of the one before it
		return
	}
	for i, there := range blame.Seen(texts) {
		if there {
			found(known[i].rule)
		}
	}
}

// judgeResult finds which changes of the result the caller gets. It runs when the
// call returns: from then on the result is the caller's.
func (x *injection) judgeResult(err error, ended bool) {
	if err != nil || ended {
		return // no value is handed over
	}
	var one exchanged // mostly it is all there is
	var changes []exchanged
	for i := len(x.rules) - 1; i >= 0; i-- {
		switch a := &x.rules[i]; {
		case a.value.likeness == alike || a.keepsOpen || x.onItems(a):
		case one.rule == nil:
			one = a.value
		default:
			if changes == nil {
				changes = append(changes, one)
			}
			changes = append(changes, a.value)
		}
	}
	if changes == nil && one.rule != nil {
		one.rule.seen = true
		return
	}
	seen(changes, func(a *callRule) { a.seen = true })
}

// arrived finds which changes of the arguments reached the callee. It runs just
// before the callee.
func (x *injection) arrived() {
	if x.others == 0 {
		return
	}
	var changes []exchanged
	for i := range x.rules {
		if a := &x.rules[i]; a.args.likeness != alike {
			changes = append(changes, a.args)
		}
	}
	seen(changes, func(a *callRule) { a.reached = true })
}

// pass is one step of a call inwards: from a rule, which was given some arguments,
// to the next stage.
func (x *injection) pass(a *callRule, ctx context.Context, given, args any, next Next) (any, error) {
	args, fits := x.fitting(a, given, args)
	declared := x.tell(a) && a.phase != PhaseChange
	if l := x.differs(a, given, args, declared && fits); l != alike {
		a.args = exchanged{a, given, args, l}
		x.others++
		defer func() { a.args.likeness, x.others = alike, x.others-1 }()
	}
	a.nexts++
	a.before = x.runs
	result, err := next(ctx, args)
	a.again = a.again || a.nexts > 1 && x.runs > a.before
	return result, err
}

// fitting converts arguments into the type of the call. Arguments that do not fit go
// no further, whatever the fault declared of them: the call goes on with those that
// the fault was given.
func (x *injection) fitting(a *callRule, given, args any) (fit any, fits bool) {
	if reflect.TypeOf(args) == reflect.TypeOf(given) {
		return args, true
	}
	fit, err := x.shape.fitArgs(args)
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
	case a.skipped: // it stood in the place of all behind it
		return true
	case a.made != nil:
		return !(lost && a.phase == PhaseChange)
	case a.keepsOpen:
		return a.calls > 0
	}
	return a.seen || a.phase != PhaseChange && a.calls > a.declared // that no value shows
}

// onItems reports whether a rule acts on the items of a stream.
func (x *injection) onItems(a *callRule) bool { return x.perItem && a.phase == PhaseChange }

// tell stores how often a rule has called Changed up to now, and reports whether it
// has declared a change since the last tell.
func (x *injection) tell(a *callRule) (declared bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	declared = a.declared > a.told.declared || a.phase == PhaseChange && a.calls > a.told.calls
	a.told = told{a.calls, a.declared}
	return declared
}

// told counts calls of Changed.
type told struct{ calls, declared int }

// handed is what a rule got from further in: mostly one result.
type handed struct {
	result  any // the last
	err     error
	n       int
	earlier []execution // those before it that were no errors
}

// execution is a result, and what the rules further in had made of theirs for it.
type execution struct {
	result any
	values []exchanged
}

func (h *handed) add(result any, err error) {
	h.n++
	h.result, h.err = result, err
}

// again notes that rule i passes the call on a further time: it may still return
// what it got before.
func (x *injection) again(h *handed, i int) {
	if h.n == 0 || h.err != nil {
		return
	}
	var values []exchanged
	for k := range x.rules[i+1:] {
		values = append(values, x.rules[i+1+k].value)
	}
	h.earlier = append(h.earlier, execution{h.result, values})
}

// postponed notes that a fault keeps the call for later.
func (x *injection) postponed() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.later = x.later || !x.over
}

// unmoved notes that a rule which passes an error on claimed to have changed it.
func (x *injection) unmoved(a *callRule) {
	if x.tell(a) && a.phase == PhaseChange && !a.keepsOpen {
		x.note(idleClaim(a))
	}
}

// idleClaim is the event's note about a declaration without a difference.
func idleClaim(a *callRule) string {
	return fmt.Sprintf("rule %q declared a change that made no difference", a.Name)
}

// weigh compares the result of rule i with what it was given. A rule that executes a
// call several times may return the result of any execution; those further in are
// then judged by that execution.
func (x *injection) weigh(i int, h *handed, result any) {
	a := &x.rules[i]
	declared := x.tell(a)
	if h.n == 0 || a.keepsOpen {
		return
	}
	if len(h.earlier) > 0 && (h.err != nil || compare(h.result, result) != alike) {
		for _, e := range h.earlier {
			if compare(e.result, result) == alike {
				for k, v := range e.values {
					x.rules[i+1+k].value = v
				}
				return
			}
		}
	}
	if h.err != nil { // it put a value in the place of an error
		a.value = exchanged{a, nil, result, unknowable}
		return
	}
	a.value = exchanged{a, h.result, result, x.differs(a, h.result, result, declared)}
}
