package report

import (
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
)

// A grid holds the cells of a report by scenario and invariant. Every table is made
// from it.
type grid struct {
	scenarios, invariants []string
	severity              map[string]contract.Severity // of an invariant
	fields                map[place]*field
	rows                  map[string]*reach
	used                  field // the marks of all cells
	mixed                 bool  // the trials of some field have different marks
}

type place struct{ scenario, invariant string }

// A reach counts the cells of a scenario: those that ran, those with a delivered
// fault, and those without one.
type reach struct{ ran, delivered, missed int }

// newGrid sorts the cells by place. A cell whose names the report does not
// list gets a row or a column of its own: nothing is left out.
func newGrid(r *contract.Report) *grid {
	g := &grid{
		scenarios:  slices.Clone(r.Scenarios),
		invariants: slices.Clone(r.Invariants),
		severity:   make(map[string]contract.Severity),
		fields:     make(map[place]*field),
		rows:       make(map[string]*reach),
	}
	listed := func(names []string) map[string]bool {
		set := make(map[string]bool, len(names))
		for _, name := range names {
			set[name] = true
		}
		return set
	}
	scenarios, invariants := listed(r.Scenarios), listed(r.Invariants)
	for i := range r.Cells {
		c := &r.Cells[i]
		if !scenarios[c.Cell.Scenario] {
			scenarios[c.Cell.Scenario] = true
			g.scenarios = append(g.scenarios, c.Cell.Scenario)
		}
		if !invariants[c.Cell.Invariant] {
			invariants[c.Cell.Invariant] = true
			g.invariants = append(g.invariants, c.Cell.Invariant)
		}
		g.add(c)
	}
	return g
}

func (g *grid) add(c *contract.CellReport) {
	at := place{c.Cell.Scenario, c.Cell.Invariant}
	f := g.fields[at]
	if f == nil {
		f = new(field)
		g.fields[at] = f
	}
	m := markOf(c)
	f.add(m)
	g.used.add(m)
	g.mixed = g.mixed || f.count[m] < f.cells
	g.severity[c.Cell.Invariant] = c.Severity
	row := g.rows[c.Cell.Scenario]
	if row == nil {
		row = new(reach)
		g.rows[c.Cell.Scenario] = row
	}
	if m != markNotRun {
		row.ran++
	}
	if c.Delivered > 0 {
		row.delivered++
	}
	if c.State == contract.Undelivered {
		row.missed++
	}
}

// at returns the field of a place, or nil where the invariant does not apply.
func (g *grid) at(scenario, invariant string) *field {
	return g.fields[place{scenario, invariant}]
}

// delivered formats the number of cells of a scenario in which a fault was
// delivered, such as "14/15". It is empty if the scenario has no rules.
func (g *grid) delivered(scenario string) string {
	row := g.rows[scenario]
	if row == nil || row.delivered+row.missed == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", row.delivered, row.ran)
}
