package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

const (
	maxSentence = 400 // columns of a sentence
	maxPlaces   = 12  // names of scenarios of a defect
	maxBreak    = 40  // columns of the name of an invariant
)

// explained says which defect explains a cell, by its number from 1.
func explained(r *contract.Report) map[contract.Cell]int {
	numbers := map[contract.Cell]int{}
	for i := range r.Defects {
		if d := &r.Defects[i]; solved(d) {
			for _, b := range d.Breaks {
				for _, c := range b.Cells {
					numbers[c] = i + 1
				}
			}
		}
	}
	return numbers
}

// solved reports whether a defect explains its cells: they broke again, and were searched.
func solved(d *contract.Defect) bool {
	return len(d.Deliveries) > 0 || d.Difference == "" && !d.Cut
}

// defectsHead counts the broken cells and the defects behind them.
func defectsHead(r *contract.Report) string {
	cells, critical, defects := 0, 0, 0
	for i := range r.Defects {
		defects += oneIf(solved(&r.Defects[i]))
		for _, b := range r.Defects[i].Breaks {
			cells += len(b.Cells)
			if b.Severity == scoring.Critical {
				critical += len(b.Cells)
			}
		}
	}
	s := text.Plural(cells, "broken cell")
	if critical > 0 {
		s += fmt.Sprintf(", %s of them critical,", text.Number(critical))
	}
	s += " " + text.Noun(cells, "is", "are")
	if defects > 0 && defects < cells { // two causes of one effect may count as one
		s += " at least"
	}
	s += " " + text.Plural(defects, "defect")
	if rest := len(r.Defects) - defects; rest > 0 {
		s += fmt.Sprintf(" and %s that no faults explain", text.Noun(rest, "1 entry", text.Number(rest)+" entries"))
	}
	s += fmt.Sprintf(" (%s", text.Plural(r.SearchRuns, "further run"))
	if r.SearchElapsed > 0 {
		s += fmt.Sprintf(", %v", r.SearchElapsed.Round(10*time.Millisecond))
	}
	return s + ")"
}

// invariantNames are the invariants that a defect breaks, each once, with the targets where these
// are not the sentence's: "one-refund, no-internals (also at customers.get)".
func invariantNames(d *contract.Defect) string {
	var order []string
	others := map[string][]string{}
	plain := map[string]bool{}
	for _, b := range d.Breaks {
		if _, known := others[b.Invariant]; !known {
			order, others[b.Invariant] = append(order, b.Invariant), nil
		}
		if len(b.At) == 0 {
			plain[b.Invariant] = true
		} else {
			others[b.Invariant] = append(others[b.Invariant], strings.Join(b.At, ", "))
		}
	}
	for i, invariant := range order {
		order[i] = invariant
		if at := others[invariant]; len(at) > 0 {
			also := map[bool]string{true: "also at ", false: "at "}[plain[invariant]]
			order[i] += " (" + also + text.Some(at, maxPlaces) + ")"
		}
	}
	return strings.Join(order, ", ")
}

func scenariosOf(d *contract.Defect) string {
	var names []string
	for _, b := range d.Breaks {
		for _, c := range b.Cells {
			if !slices.Contains(names, c.Scenario) {
				names = append(names, c.Scenario)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return text.Some(names, maxPlaces)
}

// factsOf are the facts of a defect, with what is open about it.
func factsOf(d *contract.Defect) []string {
	var all []string
	if d.Difference != "" {
		all = append(all, "two runs under the same faults differ first at "+d.Difference)
	}
	all = append(all, d.Facts...)
	if d.Rate != nil {
		all = append(all, fmt.Sprintf("breaks in %s of the runs (%s)", percent(float64(d.Broke)/float64(d.Runs)),
			intervalText(*d.Rate, kindAnyTime)))
	}
	if d.Unconfirmed {
		all = append(all, "unconfirmed: it did not break often enough to be sure")
	}
	if d.Cut && len(d.Deliveries) > 0 {
		all = append(all, "the search was cut: fewer or milder faults may be enough")
	}
	return all
}

// breakLines has a line for each thing that a defect breaks, in columns.
func breakLines(d *contract.Defect) []string {
	names := 0
	for _, b := range d.Breaks {
		names = max(names, len(b.Invariant))
	}
	var lines []string
	for _, b := range d.Breaks {
		line := fmt.Sprintf("%-*s  %-8v  ", min(names, maxBreak), b.Invariant, b.Severity)
		if len(b.Cells) > 0 {
			line += text.Plural(len(b.Cells), "cell") + "  "
		}
		if len(b.At) > 0 {
			line += "at " + strings.Join(b.At, ", ") + ": "
		}
		lines = append(lines, strings.TrimRight(line+b.Why, " "))
	}
	return lines
}

// defectOf is the defect of a cell with its number, in one line; "" if it has none.
func defectOf(r *contract.Report, numbers map[contract.Cell]int, c contract.Cell) string {
	n := numbers[c]
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d: %s", n, document.Clip(r.Defects[n-1].Sentence, maxSentence))
}

func defectLine(r *contract.Report, d *contract.Defect) string {
	line := fmt.Sprintf("%v: %s → %s", d.Severity, document.Clip(d.Sentence, maxSentence), invariantNames(d))
	if facts := factsOf(d); len(facts) > 0 {
		line += "; " + strings.Join(facts, "; ")
	}
	if cure := cureOf(r, d.Cure); cure.Text != "" {
		line += "; " + cure.Label + " " + cure.Text
	}
	return line
}
