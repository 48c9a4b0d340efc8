package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	maxCovered   = 60  // targets in the table
	maxNoTargets = 20  // names in a fact
	nameInFact   = 60  // columns of a name in a fact
	whyInFact    = 200 // columns of the reason why a goal failed
)

// A coverGrid is the coverage of a report: targets by kinds of faults.
type coverGrid struct {
	targets, kinds []string
	byTry          map[[2]string][3]int // the calls of a target and a kind
	tries          bool                 // some fault was delivered on a later try
	more           int                  // targets that were left out
}

func newCoverGrid(r *contract.Report) *coverGrid {
	g := &coverGrid{byTry: map[[2]string][3]int{}}
	targets, kinds := map[string]bool{}, map[string]bool{}
	for _, c := range r.Coverage {
		if c.Fault == "" || c.Try < 1 || c.Try > 3 {
			continue
		}
		if !targets[c.Target] {
			targets[c.Target] = true
			g.targets = append(g.targets, c.Target)
		}
		key := [2]string{c.Target, c.Fault}
		tries := g.byTry[key]
		tries[c.Try-1] += c.Delivered
		g.byTry[key] = tries
		g.tries = g.tries || c.Try > 1
		kinds[c.Fault] = true
	}
	g.kinds = slices.Sorted(maps.Keys(kinds))
	g.more = max(0, len(g.targets)-maxCovered)
	g.targets = g.targets[:len(g.targets)-g.more]
	return g
}

// calls is a field of the table: the calls, by try if some are later ones.
func (g *coverGrid) calls(target, kind string) string {
	tries, reached := g.byTry[[2]string{target, kind}]
	switch {
	case !reached:
		return document.Empty
	case !g.tries:
		return text.Number(tries[0])
	}
	return fmt.Sprintf("%d/%d/%d", tries[0], tries[1], tries[2])
}

// legend explains the numbers.
func (g *coverGrid) legend() string {
	s := "calls on which a fault was delivered, by target and kind"
	if g.tries {
		s += "; a/b/c: on a first try, a second one, a later one"
	}
	if g.more > 0 {
		s += "; " + text.Plural(g.more, "more target") + text.Noun(g.more, " is", " are") + " left out"
	}
	return s
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

// goalsText says which goals were reached.
func goalsText(r *contract.Report) string {
	if r.Filtered || r.Cancelled {
		return "not judged, because not all cells ran"
	}
	missed := missedGoals(r)
	s := fmt.Sprintf("%d of %s reached", len(r.Goals)-len(missed), text.Plural(len(r.Goals), "goal"))
	var names []string
	for _, g := range missed {
		why := fmt.Sprintf("in none of %s", text.Plural(g.Of, "run"))
		if g.Failed != "" {
			why = "it failed: " + document.Clip(g.Failed, whyInFact)
		}
		names = append(names, fmt.Sprintf("%s (%s)", document.Clip(g.Goal, nameInFact), why))
	}
	if len(names) == 0 {
		return s
	}
	return s + "; not: " + listed(names)
}

// coverageText says how much of the world met faults.
func coverageText(r *contract.Report) string {
	g := newCoverGrid(r)
	s := fmt.Sprintf("faults of %s on %s", text.Plural(len(g.kinds), "kind"),
		text.Plural(len(g.targets)+g.more, "target"))
	var spared, uncalled []string
	for _, c := range r.Coverage {
		switch {
		case c.Fault != "":
		case c.Uncalled:
			uncalled = append(uncalled, document.Clip(c.Target, nameInFact))
		default:
			spared = append(spared, document.Clip(c.Target, nameInFact))
		}
	}
	if len(spared) > 0 {
		s += "; no fault on " + listed(spared)
	}
	if len(uncalled) > 0 {
		s += "; never called: " + listed(uncalled)
	}
	return s
}

// listed joins names, of which it keeps the first.
func listed(names []string) string {
	if more := len(names) - maxNoTargets; more > 0 {
		names = append(names[:maxNoTargets:maxNoTargets], "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ")
}
