package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
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
	calls          map[[2]string][3]int // of a target and a kind, by try
	tries          bool                 // some fault was delivered on a later try
	more           int                  // targets that were left out
}

func newCoverGrid(r *contract.Report) *coverGrid {
	g := &coverGrid{calls: map[[2]string][3]int{}}
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
		tries := g.calls[key]
		tries[c.Try-1] += c.Delivered
		g.calls[key] = tries
		g.tries = g.tries || c.Try > 1
		kinds[c.Fault] = true
	}
	g.kinds = slices.Sorted(maps.Keys(kinds))
	g.more = max(0, len(g.targets)-maxCovered)
	g.targets = g.targets[:len(g.targets)-g.more]
	return g
}

// at returns a field of the table: the calls, by try if some are later ones.
func (g *coverGrid) at(target, kind string) string {
	tries, reached := g.calls[[2]string{target, kind}]
	switch {
	case !reached:
		return empty
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
			why = "it failed: " + clip(g.Failed, whyInFact)
		}
		names = append(names, fmt.Sprintf("%s (%s)", clip(g.Goal, nameInFact), why))
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
			uncalled = append(uncalled, clip(c.Target, nameInFact))
		default:
			spared = append(spared, clip(c.Target, nameInFact))
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

// coverage writes the table of the delivered faults.
func (p *printer) coverage(r *contract.Report) {
	g := newCoverGrid(r)
	if len(g.targets) == 0 {
		return
	}
	p.gap()
	p.line(p.paint("1", "DELIVERED FAULTS"))
	p.line()
	first := column{head: []string{"target"}}
	for _, target := range g.targets {
		first.cells = append(first.cells, entryOf(clip(target, maxName)))
	}
	columns := make([]column, 0, len(g.kinds))
	for _, kind := range g.kinds {
		c := column{head: foldName(clip(kind, maxName))}
		for _, target := range g.targets {
			c.cells = append(c.cells, entryOf(g.at(target, kind)))
		}
		columns = append(columns, c)
	}
	p.split(first, columns)
	for _, line := range wrap(g.legend(), p.width, 3) {
		p.line(p.paint("2", line))
	}
}

func entryOf(s string) entry { return entry{s, width(s)} }

// markdownCoverage is the same table, folded; "" if there is none.
func markdownCoverage(r *contract.Report) string {
	g := newCoverGrid(r)
	if len(g.targets) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<details>\n<summary>delivered faults by target and kind</summary>\n\n| |")
	for _, kind := range g.kinds {
		fmt.Fprintf(&b, " %s |", codeName(kind))
	}
	b.WriteString("\n|:--|" + strings.Repeat("--:|", len(g.kinds)) + "\n")
	for _, target := range g.targets {
		fmt.Fprintf(&b, "| %s |", prose(clip(target, 2*maxName)))
		for _, kind := range g.kinds {
			fmt.Fprintf(&b, " %s |", g.at(target, kind))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n<sub>%s</sub>\n\n</details>\n\n", g.legend())
	return b.String()
}

// A htmlCoverage is that table in the page; without kinds there is none.
type htmlCoverage struct {
	Kinds  []string
	Rows   []htmlRow
	Legend string
}

func newHTMLCoverage(r *contract.Report) htmlCoverage {
	g := newCoverGrid(r)
	out := htmlCoverage{Legend: g.legend()}
	for _, kind := range g.kinds {
		out.Kinds = append(out.Kinds, clip(kind, 2*maxName))
	}
	for _, target := range g.targets {
		row := htmlRow{Name: cmp.Or(clip(target, maxValue), empty)}
		for _, kind := range g.kinds {
			row.Fields = append(row.Fields, htmlField{Signs: g.at(target, kind)})
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
