package contract

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shakedown-go/shakedown/internal/glob"
	"github.com/shakedown-go/shakedown/internal/text"
)

// What follows from the cells: whoever has them, of whatever runs, says the same.

const maxWarnings = 100

func (f *fold) warn(said string) {
	if len(f.warnings) < maxWarnings {
		f.warnings = append(f.warnings, said)
	}
}

// giveWarnings gives the report its warnings: those of its run, and those that follow from the cells. It is called
// once.
func (f *fold) giveWarnings(ofRun []string) {
	r := f.report
	f.warnOfFailures()
	f.warnOfOverlaps()
	if !r.Cancelled && !r.IsPart() && !r.Sequential && r.Dropped == 0 { // else others may have called it
		f.warnOfUnmetTargets()
	}
	if f.coverage.full {
		f.warn(fmt.Sprintf("The coverage has the first %d combinations of target, fault and try. "+
			"Names with numbers in them make many targets.", maxCover))
	}
	n := min(len(f.warnings), max(0, maxWarnings-len(ofRun)))
	r.Warnings, r.ofCells = slices.Concat(ofRun, f.warnings[:n]), [2]int{len(ofRun), len(ofRun) + n}
}

// maxFailure bounds what a warning says of an agent's error, in bytes.
const maxFailure = 200

// warnOfFailures says where an agent that does not work keeps invariants that look at effects alone.
func (f *fold) warnOfFailures() {
	for _, s := range f.scenarios {
		if s.failed > 0 && s.failed == s.tried {
			f.warn(fmt.Sprintf("The agent answered with an error in every run of scenario %s, where nothing was broken; an agent that does nothing keeps each invariant over effects. First %s",
				s.Name, s.why))
		}
	}
}

// warnOfOverlaps says where a run may not repeat.
func (f *fold) warnOfOverlaps() {
	for _, s := range f.scenarios {
		for i := range s.rules {
			t := &s.rules[i]
			if t.overlaps == 0 {
				continue
			}
			o := &t.overlap
			lane := ""
			if o.Lane != "" {
				lane = fmt.Sprintf(" of lane %q", o.Lane)
			}
			f.warn(fmt.Sprintf("Rule %s of scenario %s may act on other calls in the next run: it counts calls, and in %s some%s overlapped. In %v it "+
				"matched call %d of %s, which overlapped with call %d of %s. Give each strand of calls a lane (chaos.WithLane), or use a trigger that does not count.",
				t.Rule, s.Name, text.Plural(t.overlaps, "run"), lane, t.overlapIn,
				o.Call+1, o.Target, o.OtherCall+1, o.Other))
		}
	}
}

// An unmetRule is a rule whose target is the name of nothing that was known before the runs.
type unmetRule struct {
	scenario *foldScenario
	rule     headRule
	target   *glob.Glob
}

// meet takes the names of the points that a run in some worlds called.
func (f *fold) meet(worlds int, points []string) {
	if len(f.unmet) == 0 {
		return
	}
	if f.called[worlds] == nil {
		f.called[worlds] = map[string]bool{}
	}
	for _, name := range points {
		f.unmet = slices.DeleteFunc(f.unmet, func(u unmetRule) bool {
			return u.scenario.Worlds == worlds && u.target.Match(name)
		})
		if len(f.called[worlds]) < maxNames {
			f.called[worlds][name] = true
		}
	}
}

func (f *fold) warnOfUnmetTargets() {
	for _, u := range f.unmet {
		names := slices.Sorted(maps.Keys(f.called[u.scenario.Worlds]))
		if u.rule.Nearest != "" {
			names = append(names, u.rule.Nearest)
		}
		nearest := ""
		if name := text.Nearest(u.rule.Target, names); name != "" {
			nearest = fmt.Sprintf("; the nearest name is %q", name)
		}
		f.warn(fmt.Sprintf("Rule %s of scenario %s: the target %q matches no tool, no declared point and no point that any run called%s.",
			u.rule.Name, u.scenario.Name, u.rule.Target, nearest))
	}
}
