package chaos

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Register adds a rule, or replaces the one of the same name in its place: its count of
// calls, limit and memory start afresh, the deliveries of its group only if the group has
// no other rule. Calls under way keep the rule that matched them. The error joins every
// problem, each a [*RuleError].
func (in *Injector) Register(r Rule) error {
	_, err := in.RegisterFor(r, 0)
	return err
}

// RegisterFor is [Injector.Register] for a rule that is removed after life, as if by
// [Injector.Remove]; 0: never. Registering the name again replaces the rule and its
// time limit. remove removes this rule, not one that has replaced it, and reports
// whether it was there. No timer and no goroutine is used: an expired rule is dropped from
// the list at the next use of the injector.
func (in *Injector) RegisterFor(r Rule, life time.Duration) (remove func() bool, err error) {
	c, problems := compile(r, 0, nil)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	removes, err := in.register([]*planRule{c}, life, "")
	if err != nil {
		return nil, err
	}
	return removes[0], nil
}

// RegisterPlan registers the rules of a plan for life, as by [Injector.RegisterFor],
// each under prefix, which is not empty, and its own name. The registered rules whose names
// begin with prefix and are not of the plan are removed, so that a plan without rules takes
// a former one back. All of that is one step: a call meets the rules as they were or as
// they are, and after an error nothing has changed.
//
// Draws depend on the seed of the injector and not on that of the plan. remove has, for
// each rule in order, what removes this rule and not one that replaced it.
func (in *Injector) RegisterPlan(prefix string, p *Plan, life time.Duration) (remove []func() bool, err error) {
	if prefix == "" {
		return nil, &RuleError{Field: "prefix", Value: prefix, Allowed: "the beginning of the names of the rules"}
	}
	added := make([]*planRule, len(p.rules))
	for i, c := range p.rules {
		own := *c
		own.setName(prefix + c.Name)
		added[i] = &own
	}
	return in.register(added, life, prefix)
}

// register puts rules in the places of those that have their names, or at the end of the
// list, and removes the others whose names begin with prefix, if that is not empty.
func (in *Injector) register(added []*planRule, life time.Duration, prefix string) (remove []func() bool, err error) {
	var problems []error
	if life < 0 {
		name := prefix
		if name == "" {
			name = added[0].Name
		}
		problems = append(problems,
			&RuleError{Rule: name, Field: "life", Value: life, Allowed: "a duration of 0 or more; 0: no time limit"})
	}
	for i, c := range added {
		if len(in.opts.Targets) > 0 {
			problems = append(problems, indexed(c.checkTargets(in.opts.Targets), i))
		}
		problems = append(problems, indexed(in.checkSafeguards(c), i))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	formers := make(map[string]*liveRule)
	if prefix != "" {
		for _, a := range in.rules {
			if strings.HasPrefix(a.Name, prefix) {
				formers[a.Name] = a
			}
		}
	}
	for _, c := range added {
		if i := in.place(c.Name); i >= 0 {
			formers[c.Name] = in.rules[i]
		}
	}
	for i, c := range added {
		problems = append(problems, indexed(in.groupConflict(c, formers), i))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	for _, a := range in.exchange(formers, added, life) {
		remove = append(remove, func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			return in.removeAt(slices.Index(in.rules, a))
		})
	}
	return remove, nil
}

// groupConflict is the error of a rule whose limit or cool-down differs from that of a
// rule of its group that stays; in.mu is held.
func (in *Injector) groupConflict(c *planRule, formers map[string]*liveRule) error {
	if g := in.groups[c.Group]; g == nil || c.conflict(g.first) == nil {
		return nil
	}
	for _, a := range in.rules {
		if err := c.conflict(a.planRule); err != nil && formers[a.Name] != a {
			return err
		}
	}
	return nil
}

// exchange puts added in the places of those of formers that have their names, or at
// the end of the list, and ends the other formers. in.mu is held.
func (in *Injector) exchange(formers map[string]*liveRule, added []*planRule, life time.Duration) (live []*liveRule) {
	var moved, last []*liveRule      // moved: what stood in the list, or stands now in the place of that
	for _, former := range formers { // first, so that a group of theirs alone starts afresh
		in.leaveGroup(former.planRule)
		moved = append(moved, former)
	}
	for _, c := range added {
		a := &liveRule{}
		a.init(c, in)
		if life > 0 {
			a.until = time.Since(in.born) + life
			in.expires(a.until)
		}
		if former := formers[c.Name]; former != nil {
			a.first = former.first
			moved = append(moved, a)
			in.rules[in.place(c.Name)] = a
			delete(formers, c.Name)
		} else {
			in.places[c.Name] = len(in.rules)
			in.rules = append(in.rules, a)
			last = append(last, a)
		}
		live = append(live, a)
	}
	for _, a := range formers {
		in.endWaits(a)
	}
	if len(formers) > 0 {
		in.rules = slices.DeleteFunc(slices.Clone(in.rules), func(a *liveRule) bool { return formers[a.Name] == a })
		in.places = nil
	}
	in.eachSite(func(s *site) { s.rebind(moved, last) })
	return live
}

// Remove takes a rule away and reports whether there was one of that name. It ends
// the waits of the rule and of the rules that it replaced: those calls go on. With waiters
// in a testing/synctest bubble it must be called from that bubble.
func (in *Injector) Remove(name string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	return in.removeAt(in.place(name))
}

func (in *Injector) removeAt(i int) bool {
	if i >= 0 {
		in.remove(in.rules[i])
	}
	return i >= 0
}

func (in *Injector) remove(rules ...*liveRule) {
	gone := make(map[string]*liveRule, len(rules))
	for _, a := range rules {
		gone[a.Name] = a
	}
	in.exchange(gone, nil, 0)
}

// RemoveAll removes every rule at once and ends all injected waits: those calls go
// through. It returns the rules in their last state. The injector stays armed. With
// waiters in a testing/synctest bubble it must be called from that bubble.
func (in *Injector) RemoveAll() []RuleState {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	states := in.states()
	in.remove(in.rules...)
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

// States returns the rules in the order of [Injector.Rules].
func (in *Injector) States() []RuleState {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.dropExpired()
	return in.states()
}

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
	case in.safeguards.quota.usedUp():
		return fmt.Sprintf("the safeguards' budget of %d faults is used up", in.safeguards.Budget)
	}
	return ""
}

func (a *liveRule) idle() string {
	switch {
	case a.barred:
		return "the safeguards allow none of its targets"
	case a.quota.usedUp():
		return fmt.Sprintf("its limit of %d deliveries is used up", a.Limit)
	}
	return ""
}

// over reports whether the rule was removed or has expired; false for nil.
func (a *liveRule) over() bool {
	return a != nil && (a.first.ended.Load() || a.until > 0 && a.left() <= 0)
}

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
	var gone []*liveRule
	for _, a := range in.rules {
		if a.over() {
			gone = append(gone, a)
		} else {
			in.expires(a.until)
		}
	}
	if len(gone) > 0 {
		in.remove(gone...)
	}
}

func (in *Injector) expires(until time.Duration) {
	if until > 0 && (in.soonest == 0 || until < in.soonest) {
		in.soonest = until
	}
}

func (in *Injector) endWaits(a *liveRule) {
	a.first.ended.Store(true)
	for w, of := range in.waiters {
		if of == a.first {
			close(w)
			delete(in.waiters, w)
		}
	}
}
