package scoring

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
)

// judge returns the verdict of valid cells and its reason. Neither depends on the
// order of the cells.
func judge(cells []Cell, s ContractScore, o ContractOptions) (Verdict, string) {
	if why := whyFail(cells); why != "" {
		return Fail, why
	}
	if s.NotRun == s.Total {
		return Inconclusive, fmt.Sprintf("none of the %s ran", text.Plural(s.Total, "cell"))
	}
	var why []string
	if s.NotRun > 0 {
		why = append(why, partWhy(cells, s))
	}
	if s.Decided == 0 {
		why = append(why, "no cell was decided")
	}
	undecided, undelivered := silentScenarios(cells)
	if s.Decided > 0 && len(undecided) > 0 { // whatever is allowed: nothing is known of them
		why = append(why, "no cell was decided in "+describeScenarios(undecided))
	}
	if len(undelivered) > 0 {
		why = append(why, "no fault was delivered in "+describeScenarios(undelivered))
	}
	if s.Inconclusive > o.AllowInconclusive {
		why = append(why,
			fmt.Sprintf("%s inconclusive, allowed %d", text.Plural(s.Inconclusive, "cell"), o.AllowInconclusive))
	}
	if len(why) > 0 {
		return Inconclusive, strings.Join(why, "; ")
	}
	return Pass, fmt.Sprintf("no critical invariant broke; %s of %s held", text.Number(s.Passed),
		text.Plural(s.Decided, "decided cell"))
}

// partWhy says what broke in a part of the cells: the others may break anything, so it is no pass.
func partWhy(cells []Cell, s ContractScore) string {
	what := "nothing broke"
	if slices.ContainsFunc(cells, func(c Cell) bool { return c.State == CellBroken || c.Violated }) {
		what = "no critical invariant broke"
	}
	return fmt.Sprintf("%s in %s of %s", what, text.Number(s.Total-s.NotRun), text.Plural(s.Total, "cell"))
}

// whyFail names the first broken critical cell in the order of names, and counts
// the others.
func whyFail(cells []Cell) string {
	var worst Cell
	n := 0
	for _, c := range cells {
		if !c.failsVerdict() {
			continue
		}
		if n == 0 || byName(c, worst) < 0 {
			worst = c
		}
		n += c.count()
	}
	if n == 0 {
		return ""
	}
	why := fmt.Sprintf("critical invariant %q broke in scenario %q", worst.Invariant, worst.Scenario)
	if n > 1 {
		why += ", and " + text.Plural(n-1, "more critical cell")
	}
	return why
}

func byName(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Invariant, b.Invariant))
}

// silentScenarios returns, sorted, two lists of scenarios that ran with rules. The first are those
// all of whose cells were inconclusive, or undelivered where that is not allowed, and not all of
// them without a delivery. The second are the others that delivered no fault in any cell, and do
// not set AllowUndelivered.
func silentScenarios(cells []Cell) (undecided, undelivered []string) {
	type scenario struct{ decided, delivered, undelivered bool }
	ran := make(map[string]scenario)
	for _, c := range cells {
		if c.State == CellNotRun || !c.HasRules {
			continue
		}
		s := ran[c.Scenario]
		s.decided = s.decided || c.State != CellInconclusive && (c.State != CellUndelivered || c.AllowUndelivered)
		s.delivered = s.delivered || c.Delivered > 0 || c.AllowUndelivered
		s.undelivered = s.undelivered || c.State == CellUndelivered
		ran[c.Scenario] = s
	}
	for _, name := range slices.Sorted(maps.Keys(ran)) {
		switch s := ran[name]; {
		case !s.decided && (s.delivered || !s.undelivered):
			undecided = append(undecided, name)
		case !s.delivered:
			undelivered = append(undelivered, name)
		}
	}
	return undecided, undelivered
}

// describeScenarios names up to three scenarios, for one line of a report.
func describeScenarios(names []string) string {
	const shown = 3
	quoted := make([]string, 0, shown)
	for _, name := range names[:min(shown, len(names))] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	list := strings.Join(quoted, ", ")
	if more := len(names) - shown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if len(names) == 1 {
		return "scenario " + list
	}
	return "scenarios " + list
}
