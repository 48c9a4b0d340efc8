package chaos

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RegisterFor is [Injector.Register] for a rule that is removed after life, as if by
// [Injector.Remove]; 0: never. Registering the name again replaces the rule and its
// time limit. remove removes this rule, not one that has replaced it, and reports
// whether it was there. Errors are those of Register, and a
// [*RuleError] if life is negative.
//
// It uses no timer and no goroutine. When it expires, the rule matches no more calls
// and its waits end. It is dropped from the list at the next use of the injector.
func (in *Injector) RegisterFor(r Rule, life time.Duration) (remove func() bool, err error) {
	if life < 0 {
		return nil, lifeError(r.Name, life)
	}
	a, err := in.register(r, life)
	if err != nil {
		return nil, err
	}
	return in.remover(a), nil
}

// RegisterPlan registers the rules of a plan for life, as by [Injector.RegisterFor],
// each under prefix and its own name. The registered rules whose names begin with
// prefix and are not of the plan are removed. All of that is one step: a call meets
// the rules as they were or as they are, and after an error nothing has changed. A
// call under way keeps the rules that matched it, but for those that are removed.
//
// prefix is not empty. A plan without rules, made by NewPlan(0), takes a former one
// back. Draws depend on the seed of the injector and not on that of the plan. remove
// has, for each rule in order, what removes this rule and not one that replaced it.
// The error joins every problem, each a [*RuleError].
func (in *Injector) RegisterPlan(prefix string, p *Plan, life time.Duration) (remove []func() bool, err error) {
	var problems []error
	if prefix == "" {
		problems = append(problems,
			&RuleError{Field: "prefix", Value: prefix, Allowed: "the beginning of the names of the rules"})
	}
	if life < 0 {
		problems = append(problems, lifeError(prefix, life))
	}
	added := make([]*planRule, len(p.rules))
	for i, c := range p.rules {
		added[i] = c.named(prefix + c.Name)
		if len(in.opts.Targets) > 0 {
			problems = append(problems, indexed(added[i].checkTargets(in.opts.Targets), i))
		}
		problems = append(problems, indexed(in.checkSafeguards(added[i]), i))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	formers := make(map[string]*liveRule) // those that the plan replaces
	for _, a := range in.rules {
		if strings.HasPrefix(a.Name, prefix) {
			formers[a.Name] = a
			continue
		}
		for i, c := range added {
			problems = append(problems, indexed(c.conflict(a.planRule), i))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return in.replace(formers, added, life), nil
}

// replace puts added in the places of those of formers that have their names, or at
// the end of the list, and removes the other formers. in.mu is held.
func (in *Injector) replace(formers map[string]*liveRule, added []*planRule,
	life time.Duration) (remove []func() bool) {
	for _, former := range formers { // first, so that a group of theirs alone starts afresh
		in.groups.leave(former.planRule)
	}
	places := make(map[string]*liveRule)
	var ending, last []*liveRule
	for _, c := range added {
		a := in.alive(c, formers[c.Name], life)
		if formers[c.Name] != nil {
			places[c.Name] = a
		} else {
			last = append(last, a)
		}
		remove = append(remove, in.remover(a))
	}
	var list []*liveRule
	for _, a := range in.rules {
		switch {
		case formers[a.Name] != a:
			list = append(list, a)
		case places[a.Name] != nil:
			list = append(list, places[a.Name])
		default:
			ending = append(ending, a)
		}
	}
	for _, a := range ending {
		in.endWaits(a)
	}
	in.setRules(append(list, last...))
	in.dropGroups()
	return remove
}

// remover returns what removes this rule and not one that has replaced it.
func (in *Injector) remover(a *liveRule) func() bool {
	return func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.removeAt(slices.Index(in.rules, a))
	}
}

func lifeError(rule string, life time.Duration) error {
	return &RuleError{Rule: rule, Field: "life", Value: life, Allowed: "a duration of 0 or more; 0: no time limit"}
}

// RemoveAll removes every rule at once and ends all injected waits: those calls go
// through, whatever other rules matched them. It returns the rules in their last
// state. The injector stays armed, so that a rule registered later is in force. With
// waiters in a testing/synctest bubble it must be called from that bubble.
func (in *Injector) RemoveAll() []RuleState {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	states := in.states()
	for _, a := range in.rules {
		in.endLife(a)
	}
	in.setRules(nil)
	in.dropGroups()
	return states
}

// A RuleState is a registered rule and whether it can be injected now.
type RuleState struct {
	Rule
	// Reason is why the rule cannot be injected now, in words; empty: it can.
	Reason string
	// Expires is when the rule is removed; zero: never.
	Expires time.Time
}

// States returns the rules in the order of [Injector.Rules], each with the reason why
// it cannot be injected, if there is one: the injector is disarmed, closed or killed,
// the [Safeguards] allow none of its targets, or their budget or its own limit is used
// up.
func (in *Injector) States() []RuleState {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	return in.states()
}

// states lists the states of the rules; in.mu is held.
func (in *Injector) states() []RuleState {
	all := in.idle()
	states := make([]RuleState, len(in.rules))
	for i, a := range in.rules {
		states[i] = RuleState{Rule: a.Rule, Reason: all}
		if all == "" {
			states[i].Reason = a.idle()
		}
		if a.until > 0 {
			states[i].Expires = in.born.Add(a.until)
		}
	}
	return states
}

// idle is the reason why no rule of the injector can be injected; empty: some can.
func (in *Injector) idle() string {
	switch state := in.state.Load(); {
	case state&stateClosed != 0:
		return "the injector was closed by its host"
	case state&stateDisarmed != 0:
		return "the injector is disarmed"
	case in.safeguards == nil:
		return ""
	case in.killed():
		return "the kill switch was thrown"
	case in.safeguards.invalid != nil:
		return "the safeguards are invalid: " + in.safeguards.invalid.Error()
	}
	g := in.safeguards
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Budget > 0 && g.delivered >= uint64(g.Budget) {
		return fmt.Sprintf("the safeguards' budget of %d faults is used up", g.Budget)
	}
	return ""
}

// idle is the reason why the rule alone cannot be injected; empty: it can.
func (a *liveRule) idle() string {
	if a.barred {
		return "the safeguards allow none of its targets"
	}
	if a.Limit > 0 {
		a.deliveries.mu.Lock()
		defer a.deliveries.mu.Unlock()
		if uint64(a.deliveries.delivered) >= uint64(a.Limit) {
			return fmt.Sprintf("its limit of %d deliveries is used up", a.Limit)
		}
	}
	return ""
}

// over reports whether the rule was removed or has expired; false for nil.
func (a *liveRule) over() bool {
	return a != nil && (a.first().ended.Load() || a.until > 0 && a.left() <= 0)
}

// left is the time until a rule with a time limit expires.
func (a *liveRule) left() time.Duration { return a.until - time.Since(a.in.born) }

// capWait shortens a wait that goes on past the rule's expiry, and reports whether it
// did. So there is one timer: two that fire at one moment would race.
func (a *liveRule) capWait(d time.Duration) (time.Duration, bool) {
	if a.until == 0 {
		return d, false
	}
	if left := a.left(); d < 0 || left <= d {
		return max(left, 1), true
	}
	return d, false
}

// inForce reports whether the rule is still in force when it is about to be injected.
// If it has expired, inForce drops it.
func (a *liveRule) inForce() bool {
	if !a.over() {
		return true
	}
	if a.until > 0 {
		a.in.mu.Lock()
		defer a.in.mu.Unlock()
		a.in.dropExpired()
	}
	return false
}

// dropExpired removes the rules that have expired; in.mu is held. It does nothing
// before the earliest expiry.
func (in *Injector) dropExpired() {
	if in.soonest == 0 || time.Since(in.born) < in.soonest {
		return
	}
	in.soonest = 0
	var left []*liveRule
	for _, a := range in.rules {
		if a.until > 0 && a.over() {
			in.endLife(a)
			continue
		}
		left = append(left, a)
		in.expires(a.until)
	}
	if len(left) < len(in.rules) {
		in.setRules(left)
		in.dropGroups()
	}
}

// expires notes when a rule expires; 0: never. in.mu is held.
func (in *Injector) expires(until time.Duration) {
	if until > 0 && (in.soonest == 0 || until < in.soonest) {
		in.soonest = until
	}
}

// removeAt removes the i-th rule and reports whether there is one. in.mu is held.
func (in *Injector) removeAt(i int) bool {
	if i < 0 {
		return false
	}
	former := in.rules[i]
	in.endLife(former)
	in.rules, in.places = slices.Delete(in.rules, i, i+1), nil
	in.eachSite(func(s *site) { s.rebind(former, nil) })
	in.dropGroups()
	return true
}

// endLife ends the waits of a rule and its part in its group; in.mu is held.
func (in *Injector) endLife(a *liveRule) {
	in.groups.leave(a.planRule)
	in.endWaits(a)
}

// endWaits ends the waits of a rule and of those that it replaced; in.mu is held.
func (in *Injector) endWaits(a *liveRule) {
	a.first().ended.Store(true)
	for w, of := range in.waiters {
		if of == a.first() {
			close(w)
			delete(in.waiters, w)
		}
	}
}

// dropGroups drops the groups that have no rule left; in.mu is held. If such a group
// gets a rule again, it counts from 0.
func (in *Injector) dropGroups() {
	left := make(map[string]bool)
	for _, a := range in.rules {
		left[a.Group] = true
	}
	in.points.drop(func(s *site) bool { return s.kind == groupSite && !left[s.target] })
}
