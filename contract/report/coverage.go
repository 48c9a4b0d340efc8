package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	maxNoTargets = 20  // names in a fact
	nameInFact   = 60  // columns of a name in a fact
	whyInFact    = 200 // columns of the reason why a goal failed
)

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
	targets, kinds := map[string]bool{}, map[string]bool{}
	var spared, uncalled []string
	for _, c := range r.Coverage {
		switch {
		case c.Fault != "":
			targets[c.Target], kinds[c.Fault] = true, true
		case c.Uncalled:
			uncalled = append(uncalled, document.Clip(c.Target, nameInFact))
		default:
			spared = append(spared, document.Clip(c.Target, nameInFact))
		}
	}
	s := fmt.Sprintf("faults of %s on %s", text.Plural(len(kinds), "kind"), text.Plural(len(targets), "target"))
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
