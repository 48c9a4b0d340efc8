package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
)

const (
	maxCureTools  = 6 // tools of a habit
	maxCurePlaces = 40
)

// cureOf is the detail of a defect that says what would mend it; empty if that was not searched for.
func cureOf(r *contract.Report, c *contract.Cure) document.Detail {
	if c == nil {
		return document.Detail{}
	}
	label := "mended by"
	if len(c.Habits) == 0 {
		label = "habits"
	}
	return document.Detail{Label: label, Text: cureText(r, c)}
}

// cureText says what mends defects, or what comes nearest.
func cureText(r *contract.Report, c *contract.Cure) string {
	unit := "cell"
	if c.Random {
		unit = "run"
	}
	if len(c.Habits) == 0 {
		s := c.Why
		if len(c.Nearest) > 0 {
			s += fmt.Sprintf(" (holds %s of %s with %s)", text.Number(c.Held), text.Plural(c.Cells, unit), habitsText(r, c.Nearest))
		}
		return s
	}
	s := fmt.Sprintf("%s (%s of %s; %s", habitsText(r, c.Habits), text.Number(c.Held), text.Plural(c.Cells, unit), costText(c.Cost))
	if calm := costText(c.Calm); calm != costText(contract.CureCost{}) {
		s += "; without faults " + calm
	}
	if !c.Random && c.Usual < c.Cells {
		s += fmt.Sprintf("; in %s of %s the agent answers as without faults", text.Number(c.Usual), text.Number(c.Cells))
	}
	if c.Cut {
		s += "; fewer may do: the search was cut"
	}
	if c.Fewer > 0 {
		s += fmt.Sprintf("; in %s there are fewer calls to fail", text.Number(c.Fewer))
	}
	return s + ")"
}

// habitsText names habits and where they act.
func habitsText(r *contract.Report, all []contract.CureHabit) string {
	parts := make([]string, len(all))
	for i, h := range all {
		parts[i] = h.Does
		on := 0
		for _, tool := range h.Tools { // a scenario may have worlds with others
			if _, listed := r.Tools[tool]; listed {
				on++
			}
		}
		switch n := len(h.Tools); {
		case n > 1 && n == on && n == len(r.Tools):
			parts[i] += " on all tools"
		case n > 0:
			parts[i] += " on " + text.Some(h.Tools, maxCureTools)
		}
	}
	return strings.Join(parts, "; ")
}

// costText is what habits add to a run: "+1.5 calls, +0.2 s".
func costText(c contract.CureCost) string {
	calls := added(c.Calls)
	return fmt.Sprintf("%s %s, %s s", calls, text.Noun(map[bool]int{true: 1}[calls == "+1" || calls == "-1"], "call", "calls"),
		added(c.Time.Seconds()))
}

// added is a number to one digit after the point, with its sign.
func added(v float64) string {
	v = math.Round(v*10) / 10
	if v == 0 {
		v = 0 // and not -0
	}
	return fmt.Sprintf("%+g", v)
}

// cureTable has the cells of a defect before and under habits, for a page.
func cureTable(r *contract.Report, c *contract.Cure) *document.Table {
	if c == nil || len(c.Places) == 0 {
		return nil
	}
	under := c.Habits
	if len(under) == 0 {
		under = c.Nearest
	}
	t := &document.Table{Corner: "scenario", Heads: heads("invariant", "before", "under habits"),
		Caption: "Its cells before, and with " + habitsText(r, under)}
	for _, p := range c.Places[:min(maxCurePlaces, len(c.Places))] {
		after := text.Number(p.Held) + " held"
		if p.Held < p.Cells {
			after += ", " + text.Number(p.Cells-p.Held) + " did not"
		}
		row := document.Row{Name: p.Scenario}
		for _, s := range []string{p.Invariant, text.Number(p.Cells) + " broken", after} {
			row.Cells = append(row.Cells, document.Cell{Text: s})
		}
		t.Rows = append(t.Rows, row)
	}
	if more := len(c.Places) - len(t.Rows); more > 0 {
		t.Hints = []string{fmt.Sprintf("… and %d more.", more)}
	}
	return t
}

// cureHead says what mends all defects together, and what the search for that left out.
func cureHead(r *contract.Report) string {
	s := r.CureSearch
	if s == nil {
		return ""
	}
	var parts []string
	if c := r.Cure; c != nil {
		head := cureText(r, c)
		if len(c.Habits) > 0 {
			head = fmt.Sprintf("%d of %s mended by %s: %s; what held still holds in %s", c.Defects, text.Plural(len(r.Defects), "defect"),
				text.Plural(len(c.Habits), "habit"), head, text.Plural(c.Kept, "run"))
		}
		parts = append(parts, head+".")
	} else {
		parts = append(parts, "No habit here mends any.")
	}
	took := ""
	if s.Elapsed > 0 {
		took = fmt.Sprintf(", %v", s.Elapsed.Round(10*time.Millisecond))
	}
	parts = append(parts, fmt.Sprintf("(%s%s.)", text.Plural(s.Runs, "further run"), took))
	if s.Stopped != "" {
		parts = append(parts, "The search for habits is not complete: "+s.Stopped+".")
	}
	if len(s.Abstained) > 0 {
		parts = append(parts, "Not tried: "+strings.Join(s.Abstained, "; ")+".")
	}
	return text.Sentences(parts...)
}
