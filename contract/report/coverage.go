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
	delivered      map[[2]string]int // calls of a target, by kind
	more           int               // targets that were left out
}

func newCoverGrid(r *contract.Report) *coverGrid {
	g := &coverGrid{delivered: map[[2]string]int{}}
	targets, kinds := map[string]bool{}, map[string]bool{}
	for _, c := range r.Coverage {
		if c.Fault == "" {
			continue
		}
		if !targets[c.Target] {
			targets[c.Target] = true
			g.targets = append(g.targets, c.Target)
		}
		g.delivered[[2]string{c.Target, c.Fault}] += c.Delivered
		kinds[c.Fault] = true
	}
	g.kinds = slices.Sorted(maps.Keys(kinds))
	g.more = max(0, len(g.targets)-maxCovered)
	g.targets = g.targets[:len(g.targets)-g.more]
	return g
}

func (g *coverGrid) calls(target, kind string) string {
	if n, reached := g.delivered[[2]string{target, kind}]; reached {
		return text.Number(n)
	}
	return document.Empty
}

func (g *coverGrid) legend() string {
	s := "calls on which a fault was delivered, by target and kind"
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

func listed(names []string) string {
	if more := len(names) - maxNoTargets; more > 0 {
		names = append(names[:maxNoTargets:maxNoTargets], "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ")
}
