package report

import (
	"fmt"
	"math"
	"regexp"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// coverage checks the counts of delivered faults against each other.
func (p problems) coverage(r *contract.Report) {
	seen := make(map[contract.CoverCount]bool, len(r.Coverage))
	for i, c := range r.Coverage {
		at := func(field string) string { return fmt.Sprintf("coverage[%d].%s", i, field) }
		key := contract.CoverCount{Target: c.Target, Fault: c.Fault, Try: c.Try}
		if seen[key] {
			p.Wrong(at("target"), fielderror.Found(clip(c.Target, 60)+" a second time"),
				"each target with a kind and a try once")
		}
		seen[key] = true
		if reached := c.Fault != ""; reached != (c.Delivered > 0) || c.Delivered < 0 {
			p.Wrong(at("delivered"), c.Delivered, "a call or more with a fault, and 0 without one")
		} else if reached != (c.Try > 0) || c.Try < 0 || c.Try > 3 {
			p.Wrong(at("try"), c.Try, "1 to 3 with a fault, and 0 without one")
		}
		if c.Uncalled && c.Fault != "" {
			p.Wrong(at("uncalled"), true, "false, because a fault was delivered on calls")
		}
	}
}

// goals checks the counts of the goals.
func (p problems) goals(r *contract.Report) {
	scenarios, seen := setOf(r.Scenarios), map[string]bool{}
	for i, g := range r.Goals {
		at := func(field string) string { return fmt.Sprintf("goals[%d].%s", i, field) }
		if seen[g.Goal] {
			p.Wrong(at("goal"), fielderror.Found(clip(g.Goal, 60)+" a second time"), "each goal once")
		}
		seen[g.Goal] = true
		for k, s := range g.Scenarios {
			if !scenarios[s] {
				p.Wrong(at(fmt.Sprintf("scenarios[%d]", k)), s, "one of scenarios")
			}
		}
		if g.Cells < 0 || g.Cells > g.Of {
			p.Wrong(at("cells"), g.Cells, fmt.Sprintf("0 to the %d of of", g.Of))
		}
	}
}

var idPattern = regexp.MustCompile(`^[0-9a-f]{8}$`)

// defects checks the defects against the cells.
func (p problems) defects(r *contract.Report) {
	if r.SearchRuns < 0 || r.SearchElapsed < 0 {
		p.Wrong("searchRuns and searchElapsedNs", found("%d and %d", r.SearchRuns, r.SearchElapsed), "0 or more")
	}
	switch r.Repeatable {
	case "", "yes", "no":
	default:
		p.Wrong("repeatable", r.Repeatable, "yes, no, or none")
	}
	broke := make(map[contract.Cell]bool, len(r.Cells))
	for i := range r.Cells {
		broke[r.Cells[i].Cell] = r.Cells[i].Violated
	}
	invariants := setOf(r.Invariants)
	for i := range r.Defects {
		d := &r.Defects[i]
		at := func(field string) string { return fmt.Sprintf("defects[%d].%s", i, field) }
		if d.Broke < 0 || d.Broke > d.Runs {
			p.Wrong(at("broke"), d.Broke, fmt.Sprintf("0 to the %d of runs", d.Runs))
		}
		for k, c := range d.Deliveries {
			if c.Attempt < 1 {
				p.Wrong(at(fmt.Sprintf("deliveries[%d].attempt", k)), c.Attempt, "1 or more")
			}
		}
		for k, b := range d.Breaks {
			in := func(field string) string { return at(fmt.Sprintf("breaks[%d].%s", k, field)) }
			if !invariants[b.Invariant] {
				p.Wrong(in("invariant"), b.Invariant, "one of invariants")
			}
			if b.ID != "" && !idPattern.MatchString(b.ID) {
				p.Wrong(in("id"), b.ID, "8 hexadecimal digits")
			}
			for n, c := range b.Cells {
				if c.Invariant != b.Invariant || !broke[c] {
					p.Wrong(in(fmt.Sprintf("cells[%d]", n)), c.String(), "a broken cell of the invariant")
				}
			}
		}
	}
}

// missedGoals are those that make a verdict inconclusive.
func missedGoals(r *contract.Report) (missed []*contract.GoalCount) {
	for i := range r.Goals {
		if g := &r.Goals[i]; !r.Filtered && !r.Cancelled && !g.Reached() {
			missed = append(missed, g)
		}
	}
	return missed
}

// severities compares the severities of fields with those of the cells, which the score
// weighs.
func (p problems) severities(of []contract.Field, counts []scoring.Cell) {
	severity := make(map[place]contract.Severity, len(of))
	for _, c := range counts {
		severity[place{c.Scenario, c.Invariant}] = c.Severity
	}
	for i, f := range of {
		if s, ok := severity[place{f.Scenario, f.Invariant}]; ok && s != f.Severity {
			p.Wrong(fmt.Sprintf("fields[%d].severity", i), f.Severity, fmt.Sprintf("%v, as the cells say", s))
		}
	}
}

// fields compares fields, and the numbers that follow from them, with those computed from the
// cells.
func (p problems) fields(is, want *contract.Report) {
	if len(is.Fields) != len(want.Fields) {
		p.Wrong("fields", found("a list of %d", len(is.Fields)), fmt.Sprintf("%d, as the cells say", len(want.Fields)))
		return
	}
	for i, f := range is.Fields {
		w, at := want.Fields[i], fmt.Sprintf("fields[%d]", i)
		p.interval(at+".interval", f.Interval, w.Interval)
		if math.Abs(f.Standing.Trials-w.Standing.Trials) > tolerance*math.Max(1, w.Standing.Trials) {
			p.Wrong(at+".standing.trials", f.Standing.Trials, fmt.Sprintf("%v, as the cells say", w.Standing.Trials))
		}
		if f.AtLeast != w.AtLeast {
			p.Wrong(at+".atLeast", f.AtLeast, notARate)
			continue
		}
		if f.Poor != w.Poor {
			p.Wrong(at+".poor", f.Poor, fmt.Sprintf("%v with atLeast %v", w.Poor, f.AtLeast))
		}
		f.Interval, f.Standing.Trials, f.Poor = w.Interval, w.Standing.Trials, w.Poor
		if f != w {
			p.Wrong(at, found("%s", clip(f.String(), 120)), clip(w.String(), 120)+", as the cells say")
		}
	}
	if is.Saved != want.Saved {
		p.Wrong("saved", is.Saved, fmt.Sprintf("%d, as the cells say", want.Saved))
	}
	p.byScenario(is.ByScenario, want.ByScenario)
}

func (p problems) byScenario(is, want *stats.ClusteredShare) {
	if is == nil || want == nil {
		if is != want {
			p.Wrong("byScenario", found("there: %t", is != nil),
				fmt.Sprintf("there: %t, as the cells say", want != nil))
		}
		return
	}
	p.interval("byScenario.interval", is.Interval, want.Interval)
	near := func(a, b float64) bool { return math.Abs(a-b) <= tolerance*math.Max(1, math.Abs(b)) }
	if is.Clusters != want.Clusters || is.Trials != want.Trials || !near(is.Value, want.Value) ||
		!near(is.Effective, want.Effective) || !near(is.DesignEffect, want.DesignEffect) {
		p.Wrong("byScenario", found("%+v", *is), fmt.Sprintf("%+v, as the cells say", *want))
	}
}
