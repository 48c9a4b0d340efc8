package chaos

import (
	"errors"
	"fmt"
	"slices"
)

// settle settles the accounts of the rules and logs the event. err is what the
// caller gets; ended means that it gets none: the call panicked.
func (x *injection) settle(err error, ended bool) {
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
	x.rec.outcome = outcomeOf(err, ended)
	in.keep(&x.frame, &x.rec)
}

// hadTurn reports whether the rule ran, or would have, had the stream had items. A
// rule before it may have ended the call, or the injector was disarmed.
func (x *injection) hadTurn(a *callRule) bool {
	return a.ran || x.perItem && a.phase == PhaseChange && x.runs > 0
}

// anyMade reports whether a fault of the phase made an error.
func (x *injection) anyMade(p Phase) bool {
	return slices.ContainsFunc(x.rules, func(a callRule) bool { return a.phase == p && a.made != nil })
}

// credit names the rule on the event: as the one that decided, if it is the last
// delivered so far or nothing was, else among the others.
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

// byPhase lists the rules in the order in which they act on a call: the delays as
// they stand, then from the innermost out.
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

func outcomeOf(err error, ended bool) outcome {
	switch {
	case ended:
		return panicked
	case err == nil:
		return ok
	case errors.Is(err, ErrInjected):
		return injected
	}
	return failed
}
