package chaos

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// Safeguards bound what an injector may do to a running process, whatever its rules
// say. The zero value bounds nothing. Each injector counts for itself. A rule that
// is injected into a call is one fault; an undelivered fault counts for nothing.
//
// If a safeguard holds a fault back, the call goes on as if the rule had not
// matched. If the call leaves an event, [Event].HeldBack names the rule and [Event].Note
// the safeguard.
type Safeguards struct {
	_ struct{}
	// Kill is the kill switch, such as the Done channel of a context. Once it is closed,
	// nothing is injected from the next call on, and injected waits end as with
	// [Injector.Disarm]. It cannot be undone. nil: no switch. For calls in a
	// testing/synctest bubble it is made in that bubble.
	Kill <-chan struct{}
	// Budget is the number of faults that may be delivered in all; 0: no limit.
	Budget int
	// Targets are globs over the injection points that may get faults, by either of
	// their names if they have two ([WrapOptions]); empty: all. [Injector.Register]
	// refuses a rule that could reach none of them.
	Targets []string
}

// Check reports what is wrong with the safeguards, each a [*ParamError], joined.
// [Injector.Register] reports the same, and an injector with such safeguards injects
// nothing. nil is valid and bounds nothing.
func (s *Safeguards) Check() error {
	if s == nil {
		return nil
	}
	var problems []error
	refuse := func(ok bool, field string, value any, allowed string) {
		if !ok {
			problems = append(problems, &ParamError{Kind: "safeguards", Param: field, Value: value, Allowed: allowed})
		}
	}
	refuse(s.Budget >= 0, "Budget", s.Budget, "a number of faults, or 0 for no limit")
	for i, target := range s.Targets {
		_, err := glob.Compile(target)
		refuse(err == nil, fmt.Sprintf("Targets[%d]", i), fmt.Sprintf("%q", target),
			"a glob over names of injection points, such as \"orders.*\"")
	}
	return errors.Join(problems...)
}

func (in *Injector) allows(target string) bool {
	return in.safeguards == nil || len(in.safeguards.Targets) == 0 ||
		slices.ContainsFunc(in.safeguards.allowed, func(g *glob.Glob) bool { return g.Match(target) })
}

func (in *Injector) bars(c *planRule) bool {
	return in.safeguards != nil && len(in.safeguards.Targets) > 0 &&
		!slices.ContainsFunc(in.safeguards.allowed, func(g *glob.Glob) bool { return glob.Meets(g, c.glob) })
}

// checkSafeguards returns an error if the safeguards are invalid, or allow none of
// the rule's targets.
func (in *Injector) checkSafeguards(c *planRule) error {
	switch {
	case in.safeguards == nil:
		return nil
	case in.safeguards.invalid != nil:
		return in.safeguards.invalid
	case in.bars(c):
		return &RuleError{Rule: c.Name, Field: "Target", Value: c.Target,
			Allowed: "a glob that meets the targets of the safeguards: " + strings.Join(in.safeguards.Targets, ", "),
			Err:     errors.New("reaches no allowed target")}
	}
	return nil
}

type safeguardState struct {
	Safeguards
	invalid error // the error of Check
	allowed []*glob.Glob
	quota   *quota // of the budget
}

func newSafeguardState(o *Safeguards) *safeguardState {
	if o == nil {
		return nil
	}
	g := &safeguardState{Safeguards: *o, invalid: o.Check(), quota: &quota{limit: o.Budget}}
	if g.Targets = slices.Clone(o.Targets); g.invalid != nil {
		g.Targets = nil // each fault is then held back as invalid, and counted
	}
	for _, target := range g.Targets {
		if compiled, err := glob.Compile(target); err == nil {
			g.allowed = append(g.allowed, compiled)
		}
	}
	return g
}

func (g *safeguardState) killed() bool {
	select {
	case <-g.Kill: // never of a nil channel
		return true
	default:
		return false
	}
}

func (in *Injector) killSwitch() <-chan struct{} {
	if in.safeguards == nil {
		return nil
	}
	return in.safeguards.Kill
}

func (in *Injector) killed() bool { return in.safeguards != nil && in.safeguards.killed() }

func (x *injection) inactive() bool {
	return x.set.site.in.state.Load()&stateClosed != 0 || x.disarmedOrKilled()
}

// disarmedOrKilled reports whether the injector was killed by its safeguards, or disarmed
// during the call, even if it is armed again by now.
func (x *injection) disarmedOrKilled() bool {
	in := x.set.site.in
	return in.state.Load()&stateDisarmed != 0 || in.killed() || in.disarms.Load() != x.disarms
}

// reserve returns the name of the safeguard that holds one more fault back, else "". The
// fault is then counted as pending until its rule is settled.
func (g *safeguardState) reserve() (heldBy string) {
	switch {
	case g.invalid != nil:
		return "invalid"
	case g.killed():
		return "kill"
	case !g.quota.reserve():
		return "budget"
	}
	return ""
}

// reserve reports whether a rule that matched may be injected. If not, it notes that
// the rule was held back.
func (d *decision) reserve(b *siteRule) bool {
	if !b.reserve() {
		d.noteHeldBack(b, "")
		return false
	}
	if g := b.in.safeguards; g != nil {
		if by := g.reserve(); by != "" {
			b.quota.settle(false)
			d.noteHeldBack(b, by)
			return false
		}
	}
	return true
}

// noteHeldBack notes for the event, if there will be one, that a rule was held back by its
// own limit or cool-down, or by a safeguard.
func (d *decision) noteHeldBack(b *siteRule, by string) {
	if d.lone {
		return
	}
	m := d.detail()
	m.held = append(m.held, b.Name)
	if by != "" {
		m.addNote(fmt.Sprintf("rule %q was held back by the safeguards: %s", b.Name, by))
	}
}
