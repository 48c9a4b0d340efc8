package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// calm looks for a rule that matches no call of the runs without faults. A run with
// faults is the same up to its first match. If another rule may match, its fault may
// lead to calls that no calm run has, such as retries.
func (l *linter) calm(i int) {
	if l.idle[i] == "" || l.rules[i].never {
		return
	}
	for k, other := range l.rules {
		if l.idle[k] == "" && other.glob != nil && !other.never {
			l.report(l.rules[i], Unmatched, Warning,
				"can match only if the faults of other rules lead to more calls: %s", l.idle[i])
			return
		}
	}
	l.report(l.rules[i], Unmatched, Warning, "can never match: %s", l.idle[i])
}

// Idle explains why a rule cannot match, for each of the rules of a plan: "in 2 calm
// runs the agent called payments.refund once at most". The text is empty if the rule may
// match a call, or if that is not known.
func (c *CalmRuns) Idle(rules []chaos.Rule) []string {
	l := linter{Options: Options{Calm: c}}
	for _, r := range rules {
		l.add(r)
	}
	return l.idleRules()
}

// idleRules is the answer of [CalmRuns.Idle].
func (l *linter) idleRules() []string {
	idle := make([]string, len(l.rules))
	if l.Calm == nil || l.Calm.Runs == 0 {
		return idle
	}
	for i, r := range l.rules {
		if r.glob != nil {
			idle[i] = l.idleRule(r)
		}
	}
	return idle
}

// idleRule explains why a rule cannot match; "" if it may.
func (l *linter) idleRule(r *rule) string {
	most, lanes := 0, false
	for at, n := range l.Calm.strands {
		switch {
		case r.glob.Match(at.target):
			room := l.room(r, at, n)
			if r.mayMatch(at, n.turns, room) {
				return ""
			}
			most, lanes = max(most, room), lanes || at.lane != ""
		case l.Calm.Aliases && !n.tool && !(r.literal() && slices.Contains(l.Calm.Tools, r.Target)):
			return "" // by another name it may be a target of the rule
		}
	}
	return "in " + runs(l.Calm.Runs) + " the agent " + called(r, most, lanes)
}

// room is the number of calls among which the trigger counts those of a strand: its
// own, in a group those of the lane to all targets of the group.
func (l *linter) room(r *rule, at strand, n calls) int {
	if r.Group == "" {
		return n.most
	}
	sum := 0
	for other, n := range l.Calm.strands {
		if other.lane == at.lane && l.inGroup(r.Group, other.target) {
			sum = min(sum+n.most, maxTried) // more are not tried
		}
	}
	return sum
}

// inGroup reports whether a rule of the group has the target.
func (l *linter) inGroup(group, target string) bool {
	return slices.ContainsFunc(l.rules,
		func(r *rule) bool { return r.Group == group && r.glob != nil && r.glob.Match(target) })
}

// mayMatch reports whether the trigger may match one of the first n calls of a strand,
// at one of the turns. One that draws, or that goes by the clock, may: the times of a
// run are not those of another. A call may have any key.
func (r *rule) mayMatch(at strand, turns []int, n int) bool {
	if r.When == nil {
		return true
	}
	if r.never {
		return false
	}
	timed := slices.ContainsFunc(r.when.all(),
		func(t trigger) bool { return len(t.times) > 0 && slices.Max(t.times) > 0 })
	if timed || len(turns) > maxTurns || !r.when.settled(true) {
		return true
	}
	g := grid{int64(n), []time.Duration{0}, turns, r.places(at, n)}
	if g.tooLarge() {
		return true
	}
	some, _ := g.answers(r.When)
	return some
}

// places are calls of a strand such that an exact list answers every other one of the
// first n as one of them: those of the list, and for what no list names one of each
// occurrence, with the key 0 and with a key of its own.
func (r *rule) places(at strand, n int) []chaos.Call {
	places := []chaos.Call{{Lane: at.lane, Target: at.target}}
	other, listed := uint64(1), false
	for _, t := range r.when.all() {
		for _, c := range t.calls {
			listed = true
			other = max(other, c.Key+1)
			if c.Lane == at.lane && c.Target == at.target && c.Occurrence < uint64(n) && r.could(c) {
				places = append(places,
					chaos.Call{Lane: at.lane, Target: at.target, Key: c.Key, Occurrence: c.Occurrence})
			}
		}
	}
	if !listed {
		return places
	}
	for occurrence := range uint64(min(n, maxTried)) {
		places = append(places, chaos.Call{Lane: at.lane, Target: at.target, Occurrence: occurrence})
	}
	if r.Group == "" { // in a group no call has a key
		places = append(places, chaos.Call{Lane: at.lane, Target: at.target, Key: other})
	}
	return places
}

// called says how often the agent called the targets of a rule.
func called(r *rule, most int, lanes bool) string {
	what := r.Target
	switch literal := r.literal(); {
	case most == 0 && literal:
		return "did not call " + what
	case most == 0:
		return "called no target of " + what
	case r.Group != "":
		what = "the targets of group " + r.Group
	case !literal:
		what = "any one target of " + what
	}
	text := "called " + what + " " + times(most) + " at most"
	if lanes {
		text += " in one lane"
	}
	return text
}

func times(n int) string {
	return cmp.Or(map[int]string{1: "once", 2: "twice"}[n], fmt.Sprintf("%d times", n))
}

func runs(n int) string {
	return fmt.Sprintf("%d calm run%s", n, strings.Repeat("s", min(n-1, 1)))
}
