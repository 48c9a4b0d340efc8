package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
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

// newGrid sorts the cells by place, or the counts of a report that did not keep its cells.
func newGrid(r *contract.Report) *grid {
	g := &grid{
		scenarios:  r.Scenarios,
		invariants: r.Invariants,
		severity:   make(map[string]contract.Severity),
		fields:     make(map[place]*field),
		rows:       make(map[string]*reach),
	}
	for i := range r.Cells {
		g.add(&r.Cells[i], 1)
	}
	if len(r.Cells) > 0 {
		return g
	}
	for _, c := range r.Counts {
		g.add(&contract.CellReport{
			Cell:     contract.Cell{Scenario: c.Scenario, Invariant: c.Invariant},
			Severity: c.Severity, State: c.State, Violated: c.Violated, Delivered: c.Delivered,
		}, max(c.Count, 1))
	}
	return g
}

// dropNotRun leaves out scenarios and invariants of which no cell ran, unless none
// ran at all, and says how many.
func (g *grid) dropNotRun() string {
	scenarios, invariants := map[string]bool{}, map[string]bool{} // those of which a cell ran
	for at, f := range g.fields {
		if f.ran() > 0 {
			scenarios[at.scenario], invariants[at.invariant] = true, true
		}
	}
	if len(scenarios) == 0 {
		return ""
	}
	g.used = field{}
	for at, f := range g.fields {
		if scenarios[at.scenario] && invariants[at.invariant] {
			for m, n := range f.count {
				g.used.add(mark(m), n)
			}
		}
	}
	var parts []string
	drop := func(names *[]string, ran map[string]bool, noun string) {
		kept := slices.DeleteFunc(slices.Clone(*names), func(name string) bool { return !ran[name] })
		if left := len(*names) - len(kept); left > 0 {
			parts = append(parts, text.Plural(left, noun))
		}
		*names = kept
	}
	drop(&g.scenarios, scenarios, "scenario")
	drop(&g.invariants, invariants, "invariant")
	if len(parts) == 0 {
		return ""
	}
	return "not in the table, because no cell of theirs ran: " + strings.Join(parts, " and ")
}

func (g *grid) add(c *contract.CellReport, n int) {
	at := place{c.Cell.Scenario, c.Cell.Invariant}
	f := g.fields[at]
	if f == nil {
		f = new(field)
		g.fields[at] = f
	}
	m := markOf(c)
	f.add(m, n)
	g.used.add(m, n)
	g.mixed = g.mixed || f.count[m] < f.cells
	g.severity[c.Cell.Invariant] = c.Severity
	row := g.rows[c.Cell.Scenario]
	if row == nil {
		row = new(reach)
		g.rows[c.Cell.Scenario] = row
	}
	if m != markNotRun { // one whose invariant does not apply shared a run with others, and has its deliveries
		row.ran += n
		if c.Delivered > 0 {
			row.delivered += n
		}
	}
	if c.State == contract.Undelivered {
		row.missed += n
	}
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

// A mark is the outcome of a cell as it is shown. There is one mark more than there
// are states: an invariant that broke without a delivered fault. That says
// something about the agent and nothing about its resilience.
type mark uint8

// The marks, the most urgent first: a field lists them in this order.
const (
	markBroken mark = iota
	markUnprovoked
	markInconclusive
	markUndelivered
	markHeld
	markNotRun
	marks // how many there are
)

// sign returns how the mark is written in each format.
func (m mark) sign() document.Sign {
	return [marks]document.Sign{
		markBroken: {Text: "✗", Emoji: "❌", Meaning: "broken", Class: "broken"},
		markUnprovoked: {Text: "!", Emoji: "❗", Meaning: "broken without a fault",
			Class: "unprovoked"},
		markInconclusive: {Text: "?", Emoji: "❔", Meaning: "inconclusive", Class: "inconclusive"},
		markUndelivered: {Text: "○", Emoji: "⚪", Meaning: "undelivered: no fault was delivered",
			Class: "undelivered"},
		markHeld:   {Text: "✓", Emoji: "✅", Meaning: "held", Class: "held"},
		markNotRun: {Text: "-", Emoji: "➖", Meaning: "not run", Class: "notrun"},
	}[m]
}

func markOf(c *contract.CellReport) mark {
	switch c.State {
	case contract.Held:
		return markHeld
	case contract.Broken:
		return markBroken
	case contract.Inconclusive:
		return markInconclusive
	case contract.Undelivered:
		if c.Violated {
			return markUnprovoked
		}
		return markUndelivered
	}
	return markNotRun
}

func (m mark) broken() bool { return m == markBroken || m == markUnprovoked }

func (m mark) short() string {
	switch m {
	case markUndelivered:
		return "undelivered"
	case markUnprovoked:
		return "broken although no fault was delivered"
	}
	return m.sign().Meaning
}

// A field is all trials of one invariant in one scenario.
type field struct {
	count [marks]int
	cells int
}

func (f *field) add(m mark, n int) {
	f.count[m] += n
	f.cells += n
}

func (f *field) ran() int { return f.cells - f.count[markNotRun] }

func (f *field) marks() (all []document.Mark) {
	for m := range marks {
		if n := f.count[m]; n == f.cells {
			all = append(all, document.Mark{Sign: m.sign()})
		} else if n > 0 {
			all = append(all, document.Mark{Sign: m.sign(), Count: n})
		}
	}
	return all
}

func (f *field) words() string {
	var parts []string
	for m := range marks {
		if n := f.count[m]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+m.short())
		}
	}
	return strings.Join(parts, ", ")
}
