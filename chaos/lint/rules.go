package lint

import (
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
)

// target looks for a target that matches no injection point.
func (l *linter) target(r *rule) {
	if r.glob != nil && len(l.Targets) > 0 && !slices.ContainsFunc(l.Targets, r.glob.Match) {
		l.report(r, UnknownTarget, Error, "the target %q matches no known injection point", r.Target)
	}
}

// trigger looks for triggers that match nothing, or other calls than they seem
// to.
func (l *linter) trigger(r *rule) {
	if r.never {
		l.report(r, Never, Error, "the trigger matches no call")
	}
	for _, t := range r.when.all() {
		if t.kind == "exactly" && !r.never {
			l.unreachable(r, t)
		}
	}
}

func (l *linter) unreachable(r *rule, t trigger) {
	for i, c := range t.calls {
		switch {
		case r.could(c):
		case r.Group != "" && c.Key != 0:
			l.report(r, Unreachable, Warning, "calls[%d] has a key, and in a group no call has one", i)
		default:
			l.report(r, Unreachable, Warning, "calls[%d] is a call to %q, which the target %q does not match", i,
				c.Target, r.Target)
		}
	}
}

// shadow looks for a rule that decides in this one's place on all its calls.
func (l *linter) shadow(i int) {
	r := l.rules[i]
	if r.phase == chaos.PhaseBefore || r.glob == nil {
		return
	}
	var hiding []*rule
	for k, other := range l.rules {
		if k != i && other.always && other.glob != nil && other.hides(r, k < i) {
			hiding = append(hiding, other)
		}
	}
	for _, other := range hiding {
		if other.Target == r.Target || other.Target == "*" || r.literal() && other.glob.Match(r.Target) {
			l.report(r, Shadowed, Error, "rule %q decides every call that this one matches", other.Name)
			return
		}
	}
	if reached := l.reached(r); len(reached) > 0 && !slices.ContainsFunc(reached, func(target string) bool {
		return !slices.ContainsFunc(hiding, func(other *rule) bool { return other.glob.Match(target) })
	}) {
		l.report(r, Shadowed, Error, "other rules decide every call to the known targets of this one")
	}
}

// literal reports whether the rule's target is one name.
func (r *rule) literal() bool { return !strings.ContainsAny(r.Target, `*?[{\`) }

// hides reports whether a rule that matches every call leaves nothing for
// another one. Of the faults in the callee's place the first one decides. A
// fault that never lets the call through leaves no result to change or to lose.
func (r *rule) hides(other *rule, earlier bool) bool {
	switch {
	case r.phase != chaos.PhaseInstead:
		return false
	case other.phase == chaos.PhaseInstead:
		return earlier
	}
	return slices.Contains([]string{"error", "resource_exhaustion", "network_partition", "timeout", "lost_request",
		"hang", "panic",
		"auth_expired", "disk_full", "delegation_rejected"}, r.fault.Kind)
}

// reached are the known targets that a rule matches.
func (l *linter) reached(r *rule) (targets []string) {
	for _, target := range l.Targets {
		if r.glob.Match(target) {
			targets = append(targets, target)
		}
	}
	return targets
}
