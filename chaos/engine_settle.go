package chaos

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// settle ends a call. err is the error that the caller gets. unwound means that the call
// panicked or ended its goroutine. It does nothing if [Injector.End] was there first.
func (x *injection) settle(err error, unwound bool) {
	if in := x.set.site.in; in.open.take(&x.link) {
		how := outcomeOf(err, unwound)
		x.conclude(how, in.Elapsed(), err)
	}
}

// settleOpen ends a call for [Injector.End]. It runs beside the call.
func (x *injection) settleOpen(elapsed time.Duration) {
	x.mu.Lock()
	left, lastWord := x.left, x.beforeEnd
	x.mu.Unlock()
	if left && lastWord != nil {
		lastWord()
	}
	x.conclude(OutcomeOpen, elapsed, nil)
}

// conclude decides which rules were delivered, counts them, and logs the event.
func (x *injection) conclude(how Outcome, elapsed time.Duration, err error) {
	x.mu.Lock()
	x.closeLocked()
	r, masked := &x.rec, x.masked
	if how == OutcomeOpen { // the call goes on, and may write to its own
		rec, more := x.rec, x.details
		r, rec.more, masked = &rec, &more, slices.Clone(masked)
		if rec.values != nil {
			own := *rec.values
			rec.values = &own
		}
		if x.left {
			rec.note("the answer was neither read to its end nor closed")
		}
	}
	r.outcome, r.effect = how, x.effectSoFar()
	for a := range x.byPhase {
		f := x.fateOf(a, how == OutcomeOpen)
		a.settle(f.delivered)
		if f.masked {
			masked = append(masked, a.place)
		} else {
			r.credit(a, f)
		}
	}
	slices.Sort(masked)
	for _, place := range masked {
		r.more.masked = append(r.more.masked, x.matched.rule(place).Name)
	}
	r.endsAt(elapsed, err)
	x.mu.Unlock()
	x.set.site.in.keep(&x.inner, r)
}

// fate is what became of a rule in one call.
type fate struct {
	delivered bool
	masked    bool // it is among the masked rules of the event
	shown     bool // if it was delivered, the event has the changes that it declared
}

// fateOf is the fate of a rule. The rule that holds an open call is delivered: the caller has
// no answer because of it.
func (x *injection) fateOf(a *callRule, open bool) (f fate) {
	if open && !x.left { // what an inner rule made of the result has not reached the caller
		held := x.current() // or the callee runs
		f.shown = a.reached || x.onItems(a) && a.seen && !x.losesReply()
		f.delivered = f.shown || a.index == held || a.underWay > 0 || a.spent > 0 || a.again ||
			a.nexts > 1 && x.runs > a.before
		f.masked = !f.delivered && a.index > held
		return f
	}
	refused, lost := x.anyMade(PhaseInstead), x.anyMade(PhaseAfter)
	noResult := refused && (a.phase == PhaseChange || a.phase == PhaseAfter)
	unseen := lost && a.phase == PhaseChange
	// It had no turn if another rule ended the call first, or the injector was disarmed. On
	// the items of a stream that had none it would have run.
	hadTurn := a.ran || x.onItems(a) && x.runs > 0
	f.delivered = x.delivered(a, lost) || open && a.underWay > 0
	f.masked = !f.delivered && (noResult || unseen || !hadTurn)
	f.shown = a.value.likeness != unlike || a.seen || a.reached // else it did not reach the caller
	return f
}

func (x *injection) effectSoFar() Effect {
	switch {
	case x.runs > 0:
		return effectOf(x.effect, x.worked)
	case x.later:
		return EffectUnknown
	}
	return EffectNone
}

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

// effectOf is the effect of a callee that was reached. worked: it returned without an error.
func effectOf(declared Effect, worked bool) Effect {
	switch {
	case declared == EffectNone:
		return EffectNone
	case worked && declared == EffectDone:
		return EffectDone
	}
	return EffectUnknown
}

func outcomeOf(err error, unwound bool) Outcome {
	switch {
	case unwound:
		return OutcomePanicked
	case err == nil:
		return OutcomeOK
	}
	// Any error but a fault's own is the callee's, whose methods may fail.
	if _, made := err.(*InjectedError); made || errors.Is(usercode.Sound(err), ErrInjected) {
		return OutcomeInjected
	}
	return OutcomeFailed
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
