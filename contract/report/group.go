package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
)

const noReason = "no reason was given"

// A group holds the broken trials of one field that broke for the same reason.
type group struct {
	cell   *contract.CellReport // the first of them with evidence, else the first
	mark   mark
	trials []int
	ran    int // trials of the field that were run
}

// broken groups the broken cells, the most severe first and otherwise in the
// order of the matrix.
func broken(r *contract.Report, g *grid) []*group {
	type key struct {
		place
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
		k := key{place{c.Cell.Scenario, c.Cell.Invariant}, m, c.Why}
		b := byKey[k]
		if b == nil {
			b = &group{cell: c, mark: m, ran: g.fields[k.place].ran()}
			byKey[k] = b
			all = append(all, b)
		}
		if b.cell.Evidence == nil && c.Evidence != nil {
			b.cell = c
		}
		b.trials = append(b.trials, c.Cell.Trial)
	}
	slices.SortStableFunc(all, func(a, b *group) int { return cmp.Compare(b.cell.Severity, a.cell.Severity) })
	return all
}

// outcome describes the group, such as "broken in 3 of 5 trials (1, 3, 4)".
func (b *group) outcome() string {
	if !b.mark.broken() { // the group of [Cell]
		return b.mark.short()
	}
	how := "broken"
	switch n := len(b.trials); {
	case b.ran > 1 && n >= b.ran:
		how += fmt.Sprintf(" in all %d trials", n)
	case b.ran > 1:
		how += fmt.Sprintf(" in %d of %d trials (%s)", n, b.ran, numbered(b.trials))
	}
	if b.mark == markUnprovoked {
		how += ", although no fault was delivered"
	}
	return how
}

func (b *group) why() string {
	if b.cell.Why == "" && b.cell.State == contract.Held {
		return "the invariant held"
	}
	return cmp.Or(b.cell.Why, noReason)
}

// numbered formats numbers, three and more in a row as a range.
func numbered(n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		switch {
		case j-i >= 2:
			parts = append(parts, fmt.Sprintf("%d to %d", n[i], n[j]))
		default:
			for _, v := range n[i : j+1] {
				parts = append(parts, strconv.Itoa(v))
			}
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// faults describes the faults delivered in the group's cell, one line each.
func (b *group) faults() []string {
	o := b.cell.Evidence
	if o == nil {
		return []string{text.Plural(b.cell.Delivered, "call") + " saw a fault; the evidence was not kept"}
	}
	var lines []string
	for i := range o.Events {
		if e := &o.Events[i]; e.Rule != "" && e.Delivered {
			lines = append(lines, faultLine(e))
		}
	}
	switch {
	case len(lines) == 0 && b.cell.Delivered > 0: // the evidence is one prompt of several
		lines = append(lines, "none in this answer; "+text.Plural(b.cell.Delivered, "call")+" of the cell saw a fault")
	case len(lines) == 0:
		lines = append(lines, "none was delivered")
	}
	if o.Dropped > 0 {
		lines = append(lines, text.Plural(o.Dropped, "event")+" did not fit the log")
	}
	return lines
}

// first returns the first lines, each cut to a width, and a line with the number of
// the others.
func first(lines []string, most, width int) []string {
	out := make([]string, 0, min(most+1, len(lines)))
	for _, line := range lines[:min(most, len(lines))] {
		out = append(out, clip(line, width))
	}
	if more := len(lines) - most; more > 0 {
		out = append(out, fmt.Sprintf("… and %d more", more))
	}
	return out
}

// An undecidedGroup holds the cells of a scenario that were undecided for the same
// reason.
type undecidedGroup struct {
	scenario   string
	mark       mark
	why        string
	cells      int
	invariants []string
}

// undecided groups the cells that ran and were not decided, without those whose
// invariant broke.
func undecided(r *contract.Report) []*undecidedGroup {
	type key struct {
		scenario string
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
		k := key{c.Cell.Scenario, m, c.Why}
		u := byKey[k]
		if u == nil {
			u = &undecidedGroup{scenario: k.scenario, mark: m, why: c.Why}
			byKey[k] = u
			all = append(all, u)
		}
		u.cells++
		if !slices.Contains(u.invariants, c.Cell.Invariant) {
			u.invariants = append(u.invariants, c.Cell.Invariant)
		}
	}
	return all
}

// reason says why the cells were not decided.
func (u *undecidedGroup) reason() string {
	if u.why == "" && u.mark == markUndelivered {
		return "no fault was delivered"
	}
	return cmp.Or(u.why, noReason)
}
