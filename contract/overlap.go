package contract

import (
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lint"
)

// overlap is a pair of calls of which a rule that counts matched one, and could have
// matched the other.
type overlap struct {
	rule           string
	matched, other chaos.Event
}

// countingRules are the names of the rules whose triggers count calls.
func countingRules(plan *chaos.Plan) (names []string) {
	for _, r := range plan.Rules() {
		if r.When != nil && lint.Counts(r.When) {
			names = append(names, r.Name)
		}
	}
	return names
}

// overlaps looks for calls that overlapped where a rule counted them.
func (s *compiledScenario) overlaps(in *chaos.Injector) (found []overlap) {
	for _, rule := range s.counting {
		if matched, other, ok := in.Overlap(rule); ok {
			found = append(found, overlap{rule, matched, other})
		}
	}
	return found
}

// addOverlaps counts the runs with such calls. r is the cell of the run.
func (t tally) addOverlaps(found []overlap, c Cell) {
	for i := range found {
		rule := t[found[i].rule]
		if rule.overlaps++; rule.overlaps == 1 {
			rule.overlap, rule.overlapIn = found[i], c
		}
	}
}

// warnOfOverlaps says where a run may not repeat.
func (c *collector) warnOfOverlaps() {
	for _, s := range c.engine.scenarios {
		for _, name := range s.counting {
			t := c.tallies[s][name]
			if t.overlaps == 0 {
				continue
			}
			o := &t.overlap
			lane := ""
			if o.matched.Lane != "" {
				lane = fmt.Sprintf(" of lane %q", o.matched.Lane)
			}
			c.warn(fmt.Sprintf("Rule %s of scenario %s may act on other calls in the next run: it counts calls, and in %s some%s overlapped. In %v it "+
				"matched call %d of %s, which overlapped with call %d of %s. Give each strand of calls a lane (chaos.WithLane), or use a trigger that does not count.",
				name, s.Name, runsText(t.overlaps), lane, t.overlapIn,
				o.matched.Ordinal+1, o.matched.Target, o.other.Ordinal+1, o.other.Target))
		}
	}
}

func runsText(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
