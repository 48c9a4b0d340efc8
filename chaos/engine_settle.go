package chaos

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// settle decides which rules were delivered, counts them, and logs the event. err is
// the error that the caller gets. unwound means that the call panicked or ended its
// goroutine.
func (x *injection) settle(err error, unwound bool) {
	x.close()
	in := x.set.site.in
	x.rec.ends(err)
	switch x.rec.effect = none; {
	case x.runs > 0:
		x.rec.effect = effectOf(x.effect, x.worked)
	case x.later:
		x.rec.effect = unknown
	}
	refused, lost := x.anyMade(PhaseInstead), x.anyMade(PhaseAfter)
	for _, a := range x.byPhase() {
		delivered := x.delivered(a, lost)
		noResult := refused && (a.phase == PhaseChange || a.phase == PhaseAfter)
		unseen := lost && a.phase == PhaseChange
		a.settle(delivered)
		if !delivered && (noResult || unseen || !x.hadTurn(a)) {
			x.mask(a.place)
			continue
		}
		x.credit(a, delivered)
	}
	slices.Sort(x.masked)
	for _, place := range x.masked {
		x.more.masked = append(x.more.masked, x.matched[place].Name)
	}
	x.unused.addTo(&x.rec)
	x.rec.outcome = outcomeOf(err, unwound)
	in.keep(&x.frame, &x.rec)
}

// hadTurn reports whether the rule ran, or would have run on the items of a stream
// that had none. It had no turn if another rule ended the call first, or the injector
// was disarmed.
func (x *injection) hadTurn(a *callRule) bool {
	return a.ran || x.perItem && a.phase == PhaseChange && x.runs > 0
}

// anyMade reports whether a fault of the phase made an error.
func (x *injection) anyMade(p Phase) bool {
	return slices.ContainsFunc(x.rules, func(a callRule) bool { return a.phase == p && a.made != nil })
}

// credit adds the rule to the event: as the rule that decided if it was delivered or
// is the first, else among the idle ones.
func (x *injection) credit(a *callRule, delivered bool) {
	former := x.rec.main
	switch {
	case former == nil:
		x.rec.main = a.liveRule
	case !delivered:
		x.more.idle = append(x.more.idle, a.Name)
	case x.rec.delivered:
		x.more.also = append(x.more.also, former.Name)
		x.rec.main = a.liveRule
	default:
		x.more.idle = append(x.more.idle, former.Name)
		x.rec.main = a.liveRule
	}
	x.rec.delivered = x.rec.delivered || delivered
	if !delivered || a.value.likeness == unlike && !a.seen && !a.reached {
		return // what it declared did not reach the caller
	}
	x.more.changes = append(x.more.changes, a.changes...)
	if a.more > 0 {
		x.rec.note(fmt.Sprintf("rule %q: %d more changes not kept", a.Name, a.more))
	}
}

// byPhase lists the rules in the order in which they act on a call: the delays first,
// then the others from the innermost out.
func (x *injection) byPhase() []*callRule {
	acts := make([]*callRule, len(x.rules))
	for i := range x.rules {
		acts[i] = &x.rules[i]
	}
	inner := slices.IndexFunc(acts, func(a *callRule) bool { return a.phase != PhaseBefore })
	if inner >= 0 {
		slices.Reverse(acts[inner:])
	}
	return acts
}

// effectOf is the effect of a callee that was reached: what it declares if it
// returned without an error. After a failure or a panic it is unknown.
func effectOf(declared Effect, worked bool) effect {
	switch {
	case declared == EffectNone:
		return none
	case worked && declared == EffectDone:
		return done
	}
	return unknown
}

func outcomeOf(err error, unwound bool) outcome {
	switch {
	case unwound:
		return panicked
	case err == nil:
		return ok
	case isInjected(err):
		return injected
	}
	return failed
}

// isInjected reports whether a fault made the error. Any other is the callee's, whose
// methods may fail.
func isInjected(err error) bool {
	if _, made := err.(*InjectedError); made {
		return true
	}
	return errors.Is(usercode.Sound(err), ErrInjected)
}

// unsent reports whether an error states that the callee was not reached, such as
// that of an HTTP request whose body cannot be sent again. Such a repetition does
// not count.
func unsent(err error) bool {
	var u interface{ Unsent() bool }
	return err != nil && errors.As(usercode.Sound(err), &u) && u.Unsent()
}
