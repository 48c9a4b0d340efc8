package chaos

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// Rails bound what an injector may do to a running process, whatever its rules
// say. The zero value bounds nothing. Each injector has accounts of its own; a
// rule that strikes a call is one fault, and a fault that was not delivered is
// given back to all accounts.
//
// What a rail holds back does not happen: the call goes on as if the rule had
// not been drawn. [Injector.HeldBack] counts it, and where the call leaves an
// event it stands under [Event.HeldBack], with the rail in [Event.Note].
//
// Rails cost nothing on calls that no rule is drawn on, but for Share, which
// counts those that a rule might strike.
type Safeguards struct {
	_ struct{}
	// Kill is the kill switch: once it is closed, nothing is injected from the
	// next call on, and injected waits end as with [Injector.Disarm]. Any
	// number of injectors may share it; the Done channel of a context is one.
	// There is no way back. nil: no switch. For calls in a testing/synctest
	// bubble it is made in that bubble.
	Kill <-chan struct{}
	// Budget is the number of faults that may be delivered in all; 0: no limit.
	Budget int
	// Share is the part of the calls that may be struck, from 0 to 1, of those
	// so far to targets for which there is a rule, and of the requests of
	// [Injector.InjectNow]: at 0.1 the tenth call is the first that may be. 0: no
	// limit.
	Share float64
	// Rate is the number of faults a second, measured by the injector's clock
	// with a token bucket that holds one second's worth, at least one fault,
	// and is full at first. 0: no limit.
	Rate float64
	// Concurrent is the number of faults that may be at work at one time, on
	// calls under way; 0: no limit.
	Concurrent int
	// Targets are globs over the injection points that may be struck, by either
	// of their names where they have two ([WrapOptions]); empty: all. [Injector.Register] refuses a rule that could strike none of them;
	// one that reaches others too strikes only these.
	Targets []string
}

// Check reports what is wrong with the rails, each a [*ParamError], joined.
// [Injector.Register] reports the same, and an injector with such rails
// injects nothing. There is nothing wrong with nil, which bounds nothing.
func (r *Safeguards) Check() error {
	if r == nil {
		return nil
	}
	var problems []error
	refuse := func(ok bool, field string, value any, allowed string) {
		if !ok {
			problems = append(problems, &ParamError{Kind: "rails", Param: field, Value: value, Allowed: allowed})
		}
	}
	refuse(r.Budget >= 0, "Budget", r.Budget, "a number of faults, or 0 for no limit")
	refuse(r.Share >= 0 && r.Share <= 1, "Share", r.Share, "a share from 0 to 1; 0: no limit")
	refuse(r.Rate >= 0 && !math.IsInf(r.Rate, 1), "Rate", r.Rate, "a number of faults a second, or 0 for no limit")
	refuse(r.Concurrent >= 0, "Concurrent", r.Concurrent, "a number of faults, or 0 for no limit")
	for i, target := range r.Targets {
		_, err := glob.Compile(target)
		refuse(err == nil, fmt.Sprintf("Targets[%d]", i), fmt.Sprintf("%q", target), "a glob over names of injection points, such as \"orders.*\"")
	}
	return errors.Join(problems...)
}

// HeldBack counts the faults that [Safeguards] held back, by the rail's name in
// lower case, such as "budget"; "invalid" counts those of rails that Check
// refuses. It is empty without rails.
func (in *Injector) HeldBack() map[string]uint64 {
	held := make(map[string]uint64)
	if in.safeguards == nil {
		return held
	}
	in.safeguards.mu.Lock()
	defer in.safeguards.mu.Unlock()
	for rail, n := range in.safeguards.held {
		if n > 0 {
			held[safeguardNames[rail]] = n
		}
	}
	return held
}

// allows tells whether the rails let a target be struck.
func (in *Injector) allows(target string) bool {
	return in.safeguards == nil || len(in.safeguards.Targets) == 0 ||
		slices.ContainsFunc(in.safeguards.allowed, func(g *glob.Glob) bool { return g.Match(target) })
}

// bars tells whether a rule could strike none of the allowed targets.
func (in *Injector) bars(c *planRule) bool {
	return in.safeguards != nil && len(in.safeguards.Targets) > 0 &&
		!slices.ContainsFunc(in.safeguards.allowed, func(g *glob.Glob) bool { return glob.Meets(g, c.glob) })
}

// checkRails is what Register refuses on behalf of the rails.
func (in *Injector) checkSafeguards(c *planRule) error {
	switch {
	case in.safeguards == nil:
		return nil
	case in.safeguards.invalid != nil:
		return in.safeguards.invalid
	case in.bars(c):
		return &RuleError{Rule: c.Name, Field: "Target", Value: c.Target,
			Allowed: "a glob that meets the targets of the rails: " + strings.Join(in.safeguards.Targets, ", "),
			Err:     errors.New("reaches no allowed target")}
	}
	return nil
}
