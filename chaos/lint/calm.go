package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
)

// calm looks for a rule that matches no call of the runs without faults. A run with
// faults is the same up to its first match. If another rule may match, its fault may
// lead to calls that no calm run has, such as retries.
func (l *linter) calm(i int) {
	r := l.rules[i]
	if len(l.Calm) == 0 || r.glob == nil || r.never || l.mayMatch(r) {
		return
	}
	most := 0
	for _, n := range l.counts(r) {
		most = max(most, n)
	}
	calls := "the agent makes no call to " + r.Target
	if most > 0 {
		calls = fmt.Sprintf("the agent calls %s %s at most", r.Target, times(most))
	}
	if slices.ContainsFunc(l.rules, l.mayMatch) {
		l.report(r, Unmatched, Warning,
			"can match only if the faults of other rules lead to more calls: without them %s", calls)
		return
	}
	l.report(r, Unmatched, Warning, "can never match: %s", calls)
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// strand is a lane of a run.
type strand struct{ cell, lane string }

// counts returns how many calls to the rule's targets each strand has.
func (l *linter) counts(r *rule) map[strand]int {
	n := map[strand]int{}
	for _, e := range l.Calm {
		if r.glob.Match(e.Target) {
			n[strand{e.Cell, e.Lane}]++
		}
	}
	return n
}

// mayMatch reports whether the trigger may match a call of the calm runs. One that
// draws, or that goes by the clock, may: the times of a run are not those of another.
func (l *linter) mayMatch(r *rule) bool {
	if r.glob == nil || r.never {
		return false
	}
	clock := slices.ContainsFunc(r.when.all(), func(t trigger) bool { return len(t.times) > 0 })
	opaque := r.When == nil || clock || !r.when.settled(true)
	group := map[strand]uint64{}
	calls := slices.SortedStableFunc(slices.Values(l.Calm),
		func(a, b chaos.Event) int { return cmp.Compare(a.Call, b.Call) })
	for _, e := range calls {
		c := chaos.Call{Cell: e.Cell, Lane: e.Lane, Target: e.Target, Key: e.Key, Occurrence: e.Occurrence,
			Ordinal: e.Ordinal, Turn: e.Turn}
		if r.Group != "" {
			if !l.inGroup(r.Group, e.Target) {
				continue
			}
			at := strand{e.Cell, e.Lane}
			c.Key, c.Occurrence, c.Ordinal = 0, group[at], group[at]
			group[at]++
		}
		if r.glob.Match(e.Target) && (opaque || r.When.Match(c)) {
			return true
		}
	}
	return false
}

// inGroup reports whether a rule of the group has the target.
func (l *linter) inGroup(group, target string) bool {
	return slices.ContainsFunc(l.rules,
		func(r *rule) bool { return r.Group == group && r.glob != nil && r.glob.Match(target) })
}
