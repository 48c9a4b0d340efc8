package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
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

// alike puts the cells together that have one key, in the order of the report; "": it is left out.
func alike(r *contract.Report, key func(mark, *contract.CellReport) string) (all [][]*contract.CellReport) {
	places := map[string]int{}
	for i := range r.Cells {
		c := &r.Cells[i]
		k := key(markOf(c), c)
		if k == "" {
			continue
		}
		at, known := places[k]
		if !known {
			at, all = len(all), append(all, nil)
			places[k] = at
		}
		all[at] = append(all[at], c)
	}
	return all
}

// broken groups the broken cells: those of scenarios without faults first, then the
// most severe, and otherwise in the order of the matrix. Reasons that differ only in their
// numbers are one.
func broken(r *contract.Report, g *grid) (all []*group) {
	promised := decisionsOf(r)
	for _, cells := range alike(r, func(m mark, c *contract.CellReport) string {
		if !m.broken() {
			return ""
		}
		return fmt.Sprintf("%d %q %s", m, c.Cell.Invariant, text.WithoutNumbers(c.Why))
	}) {
		b := &group{mark: markOf(cells[0])}
		for _, c := range cells {
			b.add(c, g)
		}
		b.choose()
		b.kept = promised.kept(b.cell)
		all = append(all, b)
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

// An undecidedGroup holds the cells that ran and were not decided for the same reason, without
// those whose invariant broke.
type undecidedGroup []*contract.CellReport

// undecided groups them. Reasons that differ only in their numbers are one.
func undecided(r *contract.Report) (all []undecidedGroup) {
	for _, cells := range alike(r, func(m mark, c *contract.CellReport) string {
		if m != markInconclusive && m != markUndelivered {
			return ""
		}
		return fmt.Sprint(m, text.WithoutNumbers(c.Why))
	}) {
		all = append(all, cells)
	}
	return all
}

// names are those that the cells have, each once.
func (u undecidedGroup) names(of func(contract.Cell) string) (names []string) {
	for _, c := range u {
		if name := of(c.Cell); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (u undecidedGroup) scenarios() []string {
	return u.names(func(c contract.Cell) string { return c.Scenario })
}

func (u undecidedGroup) invariants() []string {
	return u.names(func(c contract.Cell) string { return c.Invariant })
}

// outcome says after the name of the first scenario where else the cells are, how many they are,
// what became of them, and why.
func (u undecidedGroup) outcome() string {
	where, m, why := "", markOf(u[0]), cmp.Or(u[0].Why, noReason)
	if others := len(u.scenarios()) - 1; others > 0 {
		where = " and " + text.Plural(others, "other scenario")
	}
	if u[0].Why == "" && m == markUndelivered {
		why = "no fault was delivered"
	}
	return fmt.Sprintf("%s: %s %s: %s", where, text.Plural(len(u), "cell"), m.short(), why)
}

// maxFaults bounds the lines of a broken cell for its faults.
const maxFaults = 8

// A rankedFault is one line about equal faults of a cell.
type rankedFault struct {
	event       *chaos.Event  // the first of them
	calls       []uint64      // their numbers from 1, as in [when.Nth]
	least, most time.Duration // that they waited
	weighty     bool          // the work was done, or it is the last one
	text        string
}

// rankedFaults describes the faults delivered in a cell, equal ones on one line. First
// are those whose call did its work, and the last that the run met, then the others. Both are
// in the order of the calls.
func rankedFaults(c *contract.CellReport) []*rankedFault {
	o := c.Evidence
	var all []*rankedFault
	var last *rankedFault
	byText := make(map[string]*rankedFault)
	for i := range o.Events {
		e := &o.Events[i]
		if e.Rule == "" || !e.Delivered {
			continue
		}
		key := faultLine(e, "", "")
		f := byText[key]
		if f == nil {
			f = &rankedFault{event: e, least: e.Spent, most: e.Spent}
			byText[key] = f
			all = append(all, f)
		}
		f.calls = append(f.calls, e.Ordinal+1)
		f.least, f.most = min(f.least, e.Spent), max(f.most, e.Spent)
		f.weighty = f.weighty || e.Effect == chaos.EffectDone
		last = f
	}
	for _, f := range all {
		f.text = f.line()
		f.weighty = f.weighty || f == last
	}
	slices.SortStableFunc(all, func(a, b *rankedFault) int { return -compareBool(a.weighty, b.weighty) })
	return all
}

func (f *rankedFault) line() string {
	calls, waited := "call ", ""
	if len(f.calls) > 1 {
		calls = "calls "
		slices.Sort(f.calls)
	}
	switch {
	case f.least < f.most:
		waited = fmt.Sprintf("%v to %v", f.least, f.most)
	case f.most > 0:
		waited = f.most.String()
	}
	return faultLine(f.event, calls+numbered(f.calls), waited)
}

// faults describes the faults delivered in the group's cell, one line each, at most so many. A
// last line counts the faults that were left out.
func (b *group) faults(most int) []string {
	c := b.cell
	if c.Evidence == nil && c.Delivered == 0 && c.Layer != "" {
		return []string{ownFaults(c)}
	}
	if c.Evidence == nil {
		return []string{sawFaults(c, "") + "; the evidence was not kept"}
	}
	var lines []string
	if original := c.Evidence.Original; original != nil {
		lines = append(lines, "the prompt was rewritten; it was: "+cmp.Or(*original, "(empty)"))
	}
	left := 0
	for i, f := range rankedFaults(c) {
		if i < most {
			lines = append(lines, f.text)
		} else {
			left += len(f.calls)
		}
	}
	switch {
	case left > 0:
		lines = append(lines, fmt.Sprintf("… and %d more", left))
	case len(lines) == 0 && c.Delivered > 0: // the evidence is one prompt of several
		lines = append(lines, "none in this answer; "+sawFaults(c, " of the cell"))
	case len(lines) == 0 && c.Layer != "":
		lines = append(lines, ownFaults(c))
	case len(lines) == 0:
		lines = append(lines, "none was delivered")
	}
	if dropped := c.Evidence.Dropped; dropped > 0 {
		lines = append(lines, text.Plural(dropped, "event")+" did not fit the log")
	}
	return lines
}

// ownFaults says that the scenario breaks something without rules.
func ownFaults(c *contract.CellReport) string {
	return fmt.Sprintf("those that the scenario has by itself, in the layer %q", document.Clip(string(c.Layer), 60))
}

// sawFaults counts the calls with a fault and the prompts that were rewritten.
func sawFaults(c *contract.CellReport, of string) string {
	var parts []string
	if calls := c.Delivered - c.Rewritten; calls > 0 || c.Rewritten == 0 {
		parts = append(parts, text.Plural(calls, "call")+of+" saw a fault")
	}
	if c.Rewritten > 0 {
		parts = append(parts,
			text.Plural(c.Rewritten, "prompt")+of+text.Noun(c.Rewritten, " was", " were")+" rewritten")
	}
	return strings.Join(parts, ", ")
}

// maxChanges bounds the changed values in one line.
const maxChanges = 3

// faultLine describes in one line the fault of a call, or of several equal ones.
// waited is how long they waited; "" for not at all.
func faultLine(e *chaos.Event, calls, waited string) string {
	var b strings.Builder
	b.WriteString(e.Target + ", " + calls)
	if e.Lane != "" {
		fmt.Fprintf(&b, " in lane %s", e.Lane)
	}
	fmt.Fprintf(&b, ": %s (rule %s", e.Fault, e.Rule)
	for _, also := range e.Also {
		fmt.Fprintf(&b, ", with %s", also)
	}
	b.WriteString(")")
	if waited != "" {
		b.WriteString(", waited " + waited)
	}
	for i, c := range e.Changes {
		if i == maxChanges {
			fmt.Fprintf(&b, ", and %s", text.Plural(len(e.Changes)-i, "more change"))
			break
		}
		fmt.Fprintf(&b, ", %s%s became %s", changedPath(c), document.Clip(string(c.Before), 40),
			document.Clip(string(c.After), 40))
	}
	if e.Outcome == chaos.OutcomeOpen {
		b.WriteString(", the call was still open when its cell ended")
	}
	if e.Err != "" {
		fmt.Fprintf(&b, ", the caller got: %s", e.Err)
		if e.Effect == chaos.EffectDone {
			b.WriteString("; the work was done")
		}
	}
	return b.String()
}

func changedPath(c chaos.Change) string {
	if c.Path == "" {
		return ""
	}
	return c.Path + ": "
}

// rulesText describes briefly what rules did to a call; empty if nothing.
func rulesText(e *chaos.Event) string {
	var parts []string
	if e.Rule != "" {
		parts = append(parts, e.Fault+" by "+e.Rule)
		if !e.Delivered {
			parts[0] += ", not delivered"
		}
	}
	for _, list := range []struct {
		what  string
		rules []string
	}{{"with ", e.Also}, {"without effect: ", e.Idle}, {"masked: ", e.Masked}, {"held back: ", e.HeldBack}} {
		if len(list.rules) > 0 {
			parts = append(parts, list.what+strings.Join(list.rules, ", "))
		}
	}
	if e.Note != "" {
		parts = append(parts, e.Note)
	}
	return strings.Join(parts, "; ")
}
