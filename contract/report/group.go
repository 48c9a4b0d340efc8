package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
)

const noReason = "no reason was given"

// A group holds the broken cells of one invariant that broke for the same reason. It
// is shown with the evidence of one of them; the other scenarios get a line each.
type group struct {
	kept   string               // how the promised rate of the cell is kept; "": none is
	cell   *contract.CellReport // the one that is shown
	mark   mark
	places []*brokenPlace // by scenario; the first is that of the shown cell
}

// A brokenPlace holds the trials of one scenario that are in a group.
type brokenPlace struct {
	scenario string
	cell     *contract.CellReport // the first of them with evidence, else the first
	trials   []int
	ran      int // trials of the field that were run
}

// isCalm reports whether the cell broke in a scenario in which nothing was broken: in
// one with rules, a cell without a delivered fault is undelivered.
func isCalm(c *contract.CellReport) bool {
	return c.State == contract.Broken && c.Delivered == 0 && c.Layer == ""
}

// calm reports whether the agent breaks this without faults; a broken trial of a rate that was
// not rejected says nothing of the kind.
func (b *group) calm() bool { return isCalm(b.cell) && b.kept == "" }

// broken groups the broken cells: those of scenarios without faults first, then the
// most severe, and otherwise in the order of the matrix. Reasons that differ only in their
// numbers are one.
func broken(r *contract.Report, g *grid) []*group {
	type key struct {
		invariant string
		mark
		why string
	}
	var all []*group
	byKey := make(map[key]*group)
	for i := range r.Cells {
		c := &r.Cells[i]
		m := markOf(c)
		if !m.broken() {
			continue
		}
		k := key{c.Cell.Invariant, m, text.WithoutNumbers(c.Why)}
		b := byKey[k]
		if b == nil {
			b = &group{mark: m}
			byKey[k] = b
			all = append(all, b)
		}
		b.add(c, g)
	}
	kept := ratesKept(r)
	for _, b := range all {
		b.choose()
		b.kept = kept[place{b.cell.Cell.Scenario, b.cell.Cell.Invariant}]
	}
	slices.SortStableFunc(all, func(a, b *group) int {
		return cmp.Or(-compareBool(a.calm(), b.calm()), cmp.Compare(b.cell.Severity, a.cell.Severity))
	})
	return all
}

func compareBool(a, b bool) int { return oneIf(a) - oneIf(b) }

func (b *group) add(c *contract.CellReport, g *grid) {
	at := len(b.places) - 1 // cells are in the order of scenarios
	if at < 0 || b.places[at].scenario != c.Cell.Scenario {
		at = slices.IndexFunc(b.places, func(p *brokenPlace) bool { return p.scenario == c.Cell.Scenario })
	}
	if at < 0 {
		at = len(b.places)
		ran := g.fields[place{c.Cell.Scenario, c.Cell.Invariant}].ran()
		b.places = append(b.places, &brokenPlace{scenario: c.Cell.Scenario, cell: c, ran: ran})
	}
	p := b.places[at]
	if p.cell.Evidence == nil && c.Evidence != nil {
		p.cell = c
	}
	p.trials = append(p.trials, c.Cell.Trial)
}

// choose decides which cell is shown: one of a scenario without faults, else the
// first with evidence.
func (b *group) choose() {
	rank := func(p *brokenPlace) int { return 2*oneIf(!isCalm(p.cell)) + oneIf(p.cell.Evidence == nil) }
	slices.SortStableFunc(b.places, func(p, q *brokenPlace) int { return cmp.Compare(rank(p), rank(q)) })
	b.cell = b.places[0].cell
}

// outcome describes the group, such as "broken in 3 of 5 trials (1, 3, 4)".
func (b *group) outcome() string {
	how := "broken" + b.places[0].among()
	if b.mark == markUnprovoked {
		how += ", although no fault was delivered"
	}
	if b.kept != "" {
		how += ", " + b.kept
	}
	return how
}

// among describes the trials, such as " in 3 of 5 trials (1, 3, 4)"; "" for the only
// one.
func (p *brokenPlace) among() string {
	switch n := len(p.trials); {
	case p.ran <= 1:
		return ""
	case n >= p.ran:
		return fmt.Sprintf(" in all %d trials", n)
	default:
		return fmt.Sprintf(" in %d of %d trials (%s)", n, p.ran, numbered(p.trials))
	}
}

// also has a line for each other scenario in which the invariant broke for the same
// reason, with the fault that matters most there.
func (b *group) also() []string {
	var lines []string
	for _, p := range b.places[1:] {
		line := p.scenario + p.among()
		if p.cell.Evidence != nil {
			if ranked := rankedFaults(p.cell); len(ranked) > 0 {
				line += ": " + ranked[0].text
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func (b *group) why() string { return cmp.Or(b.cell.Why, noReason) }

// numbered formats numbers, three and more in a row as a range. Of many it shows the
// first.
func numbered[T uint64 | int](n []T) string {
	const most = 12 // parts
	var parts []string
	for i := 0; i < len(n); {
		if left := len(n) - i; len(parts) == most && left > 1 {
			parts = append(parts, fmt.Sprintf("… and %d more", left))
			break
		}
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, fmt.Sprintf("%d to %d", n[i], n[j]))
			i = j + 1
			continue
		}
		parts = append(parts, fmt.Sprint(n[i]))
		i++
	}
	return strings.Join(parts, ", ")
}

// An undecidedGroup holds the cells that were undecided for the same reason.
type undecidedGroup struct {
	scenarios  []string
	mark       mark
	why        string
	cells      int
	invariants []string
}

// undecided groups the cells that ran and were not decided, without those whose
// invariant broke. Reasons that differ only in their numbers are one.
func undecided(r *contract.Report) []*undecidedGroup {
	type key struct {
		mark
		why string
	}
	var all []*undecidedGroup
	byKey := make(map[key]*undecidedGroup)
	for i := range r.Cells {
		c := &r.Cells[i]
		m := markOf(c)
		if m != markInconclusive && m != markUndelivered {
			continue
		}
		k := key{m, text.WithoutNumbers(c.Why)}
		u := byKey[k]
		if u == nil {
			u = &undecidedGroup{mark: m, why: c.Why}
			byKey[k] = u
			all = append(all, u)
		}
		u.cells++
		if !slices.Contains(u.scenarios, c.Cell.Scenario) {
			u.scenarios = append(u.scenarios, c.Cell.Scenario)
		}
		if !slices.Contains(u.invariants, c.Cell.Invariant) {
			u.invariants = append(u.invariants, c.Cell.Invariant)
		}
	}
	return all
}

// outcome says after the name of the first scenario where else the cells are, how many they are,
// and what became of them.
func (u *undecidedGroup) outcome() string {
	where := ""
	if others := len(u.scenarios) - 1; others > 0 {
		where = " and " + text.Plural(others, "other scenario")
	}
	return fmt.Sprintf("%s: %s %s", where, text.Plural(u.cells, "cell"), u.mark.short())
}

func (u *undecidedGroup) reason() string {
	if u.why == "" && u.mark == markUndelivered {
		return "no fault was delivered"
	}
	return cmp.Or(u.why, noReason)
}
