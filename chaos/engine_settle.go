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
//
// It does nothing if [Injector.End] was there first.
func (x *injection) settle(err error, unwound bool) {
	in := x.set.site.in
	if !in.open.take(&x.link) {
		return
	}
	x.close()
	x.rec.ends(err)
	x.rec.effect = x.effectSoFar()
	for a := range x.byPhase {
		f := x.fateOf(a)
		a.settle(f.delivered)
		if f.masked {
			x.mask(a.place)
		} else {
			x.rec.credit(a, f)
		}
	}
	x.nameUnused(&x.rec, x.masked)
	x.rec.outcome = outcomeOf(err, unwound)
	in.keep(&x.frame, &x.rec)
}

// fate is what became of a rule in one call.
type fate struct {
	delivered bool
	masked    bool // it is among the masked rules of the event
	shown     bool // if it was delivered, the event has the changes that it declared
}

// fateOf is the fate of a rule of a call that has returned.
func (x *injection) fateOf(a *callRule) fate {
	refused, lost := x.anyMade(PhaseInstead), x.anyMade(PhaseAfter)
	noResult := refused && (a.phase == PhaseChange || a.phase == PhaseAfter)
	unseen := lost && a.phase == PhaseChange
	// It had no turn if another rule ended the call first, or the injector was disarmed. On
	// the items of a stream that had none it would have run.
	hadTurn := a.ran || x.onItems(a) && x.runs > 0
	f := fate{delivered: x.delivered(a, lost)}
	f.masked = !f.delivered && (noResult || unseen || !hadTurn)
	f.shown = a.value.likeness != unlike || a.seen || a.reached // else it did not reach the caller
	return f
}

// ran counts executions of the callee; worked: it returned without an error.
func (x *injection) ran(n int, worked bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.runs += n
	x.worked = x.worked || worked
}

// effectSoFar is what the callee did.
func (x *injection) effectSoFar() effect {
	switch {
	case x.runs > 0:
		return effectOf(x.effect, x.worked)
	case x.later:
		return unknown
	}
	return none
}

// nameUnused adds the names of the rules that matched and did not act. masked are their
// indices into x.matched.
func (x *injection) nameUnused(r *record, masked []int) {
	slices.Sort(masked)
	for _, place := range masked {
		r.more.masked = append(r.more.masked, x.matched.rule(place).Name)
	}
	x.unused.addTo(r)
}

// anyMade reports whether a fault of the phase made an error.
func (x *injection) anyMade(p Phase) bool {
	return slices.ContainsFunc(x.rules, func(a callRule) bool { return a.phase == p && a.made != nil })
}

// credit adds the rule to the event: as the rule that decided if it was delivered or
// is the first, else among the idle ones.
func (r *record) credit(a *callRule, f fate) {
	former := r.main
	switch {
	case former == nil:
		r.main = a.liveRule
	case !f.delivered:
		r.more.idle = append(r.more.idle, a.Name)
	case r.delivered:
		r.more.also = append(r.more.also, former.Name)
		r.main = a.liveRule
	default:
		r.more.idle = append(r.more.idle, former.Name)
		r.main = a.liveRule
	}
	r.delivered = r.delivered || f.delivered
	if !f.delivered || !f.shown {
		return
	}
	if r.more.changes == nil {
		r.more.changes = a.changes // the call is over: nothing is added to them
	} else {
		r.more.changes = append(r.more.changes, a.changes...)
	}
	if a.more > 0 {
		r.note(fmt.Sprintf("rule %q: %d more changes not kept", a.Name, a.more))
	}
}

// byPhase ranges over the rules in the order in which they act on a call: the delays
// first, then the others from the innermost out.
func (x *injection) byPhase(yield func(*callRule) bool) {
	for i := range x.rules {
		if a := &x.rules[i]; a.phase == PhaseBefore && !yield(a) {
			return
		}
	}
	for i := len(x.rules) - 1; i >= 0; i-- {
		if a := &x.rules[i]; a.phase != PhaseBefore && !yield(a) {
			return
		}
	}
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
	}
	// Any error but a fault's own is the callee's, whose methods may fail.
	if _, made := err.(*InjectedError); made || errors.Is(usercode.Sound(err), ErrInjected) {
		return injected
	}
	return failed
}

// unsent reports whether an error states that the callee was not reached, such as
// that of an HTTP request whose body cannot be sent again. Such a repetition does
// not count.
func unsent(err error) bool {
	if err == nil {
		return false
	}
	var u interface{ Unsent() bool }
	return errors.As(usercode.Sound(err), &u) && u.Unsent()
}
