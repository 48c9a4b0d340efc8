package chaos

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/glob"
)

// Safeguards bound what an injector may do to a running process, whatever its rules
// say. The zero value bounds nothing. Each injector counts for itself. A rule that
// is injected into a call is one fault; an undelivered fault counts for nothing.
//
// If a safeguard holds a fault back, the call goes on as if the rule had not
// matched. [Injector.HeldBack] counts it. If the call leaves an event,
// [Event].HeldBack names the rule and [Event].Note the safeguard.
//
// Safeguards cost nothing on calls that no rule matches. The exception is Share,
// which counts the calls to targets that have rules.
type Safeguards struct {
	_ struct{}
	// Kill is the kill switch. Once it is closed, nothing is injected from the next
	// call on, and injected waits end as with [Injector.Disarm]. It cannot be
	// undone. Any number of injectors may share it; the Done channel of a context is
	// one. nil: no switch. For calls in a testing/synctest bubble it is made in that
	// bubble.
	Kill <-chan struct{}
	// Budget is the number of faults that may be delivered in all; 0: no limit.
	Budget int
	// Share is the largest fraction of the eligible calls that may get a fault, from
	// 0 to 1: at 0.1 the tenth eligible call is the first that may. Calls to targets
	// that have a rule are eligible, and so are the requests of
	// [Injector.InjectNow]. 0: no limit.
	Share float64
	// Rate is the number of faults a second, by the injector's clock. It is a token
	// bucket that holds one second's worth, at least one fault, and is full at
	// first. 0: no limit.
	Rate float64
	// Concurrent is the number of faults that may be acting on calls under way at
	// one time; 0: no limit.
	Concurrent int
	// Targets are globs over the injection points that may get faults, by either of
	// their names if they have two ([WrapOptions]); empty: all. [Injector.Register]
	// refuses a rule that could reach none of them. A rule that reaches others too
	// is injected only at these.
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
	refuse(s.Share >= 0 && s.Share <= 1, "Share", s.Share, "a share from 0 to 1; 0: no limit")
	refuse(s.Rate >= 0 && !math.IsInf(s.Rate, 1), "Rate", s.Rate, "a number of faults a second, or 0 for no limit")
	refuse(s.Concurrent >= 0, "Concurrent", s.Concurrent, "a number of faults, or 0 for no limit")
	for i, target := range s.Targets {
		_, err := glob.Compile(target)
		refuse(err == nil, fmt.Sprintf("Targets[%d]", i), fmt.Sprintf("%q", target), "a glob over names of injection points, such as \"orders.*\"")
	}
	return errors.Join(problems...)
}

// HeldBack counts the faults that [Safeguards] held back, by the name of the
// safeguard in lower case, such as "budget". "invalid" counts those held back
// because Check refuses the safeguards. The map is empty without safeguards.
func (in *Injector) HeldBack() map[string]uint64 {
	held := make(map[string]uint64)
	if in.safeguards == nil {
		return held
	}
	in.safeguards.mu.Lock()
	defer in.safeguards.mu.Unlock()
	for by, n := range in.safeguards.held {
		if n > 0 {
			held[safeguardNames[by]] = n
		}
	}
	return held
}

// allows reports whether the safeguards allow faults at a target.
func (in *Injector) allows(target string) bool {
	return in.safeguards == nil || len(in.safeguards.Targets) == 0 ||
		slices.ContainsFunc(in.safeguards.allowed, func(g *glob.Glob) bool { return g.Match(target) })
}

// bars reports whether a rule could reach none of the allowed targets.
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
