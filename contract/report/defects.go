package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

const (
	maxSentence = 400 // columns of a sentence
	maxPlaces   = 12  // names of scenarios of a defect
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
		defects += one(solved(&r.Defects[i]))
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

// whyOf is the reason of what a defect breaks, with the targets where these are not the sentence's.
func whyOf(b *contract.Break) string {
	if len(b.At) == 0 {
		return clean(b.Why)
	}
	return "at " + clean(strings.Join(b.At, ", ")) + ": " + clean(b.Why)
}

// invariantNames are the invariants that a defect breaks, each once, with the targets where these
// are not the sentence's: "one-refund, no-internals (also at customers.get)".
func invariantNames(d *contract.Defect, name func(string) string) string {
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
			others[b.Invariant] = append(others[b.Invariant], name(strings.Join(b.At, ", ")))
		}
	}
	for i, invariant := range order {
		order[i] = name(invariant)
		if at := others[invariant]; len(at) > 0 {
			also := map[bool]string{true: "also at ", false: "at "}[plain[invariant]]
			order[i] += " (" + also + text.Some(at, maxPlaces) + ")"
		}
	}
	return strings.Join(order, ", ")
}

// scenariosOf are the scenarios in which the cells of a defect broke.
func scenariosOf(d *contract.Defect) string {
	var names []string
	for _, b := range d.Breaks {
		for _, c := range b.Cells {
			if !slices.Contains(names, c.Scenario) {
				names = append(names, c.Scenario)
			}
		}
	}
	for i := range names {
		names[i] = clean(names[i])
	}
	return text.Some(names, maxPlaces)
}

// factsOf are the facts of a defect, with what is open about it.
func factsOf(d *contract.Defect) []string {
	var all []string
	if d.Difference != "" {
		all = append(all, "two runs under the same faults differ first at "+clean(d.Difference))
	}
	for _, f := range d.Facts {
		all = append(all, clean(f))
	}
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

// defects writes the defects of a report.
func (p *printer) defects(r *contract.Report) {
	if len(r.Defects) == 0 {
		return
	}
	p.gap()
	for i, line := range wrap(defectsHead(r), p.width-9, 3) {
		p.line([]string{p.paint("1", "DEFECTS"), "       "}[min(i, 1)] + "  " + line)
	}
	if r.SearchStopped != "" {
		for _, line := range wrap("The search is not complete: "+r.SearchStopped+".", p.width-9, 3) {
			p.line("         " + line)
		}
	}
	for i := range r.Defects {
		p.line()
		p.defect(i+1, &r.Defects[i])
	}
}

func (p *printer) defect(number int, d *contract.Defect) {
	head := fmt.Sprintf("%d %-8v", number, d.Severity)
	margin := strings.Repeat(" ", len(head)+2)
	for i, line := range wrap(clip(d.Sentence, maxSentence), p.width-len(margin), 4) {
		p.line([]string{p.paint("1", head) + "  ", margin}[min(i, 1)] + line)
	}
	names := 0
	for _, b := range d.Breaks {
		names = max(names, width(clip(b.Invariant, maxName)))
	}
	for _, b := range d.Breaks {
		name := clip(b.Invariant, maxName)
		line := fmt.Sprintf("%s%s%s  %-8v  ", margin, name, strings.Repeat(" ", names-width(name)), b.Severity)
		if len(b.Cells) > 0 {
			line += text.Plural(len(b.Cells), "cell") + "  "
		}
		p.line(strings.TrimRight(clip(line+whyOf(&b), p.width), " "))
	}
	room := p.width - labelWidth - 2*len(indent)
	if facts := factsOf(d); len(facts) > 0 {
		p.labelled(indent, "facts", wrap(strings.Join(facts, "; "), room, 8))
	}
	if in := scenariosOf(d); in != "none" {
		p.labelled(indent, "in", wrap(in, room, 3))
	}
	if d.Rerun != "" {
		p.labelled(indent, "rerun", []string{clean(d.Rerun)})
	}
}

// withoutExplained are the groups whose cells not all have a defect.
func withoutExplained(r *contract.Report, groups []*group) (rest []*group) {
	numbers := explained(r)
	for _, b := range groups {
		if slices.ContainsFunc(b.places, func(p *brokenPlace) bool {
			return slices.ContainsFunc(p.trials, func(trial int) bool {
				c := p.cell.Cell
				c.Trial = trial
				return numbers[c] == 0
			})
		}) {
			rest = append(rest, b)
		}
	}
	return rest
}

// markdownDefects has a line for each defect.
func markdownDefects(r *contract.Report) (parts []string) {
	if len(r.Defects) == 0 {
		return nil
	}
	head := prose(defectsHead(r)) + "\n"
	if r.SearchStopped != "" {
		head += prose("The search is not complete: "+clip(r.SearchStopped, 300)+".") + "\n"
	}
	parts = append(parts, "**defects** "+head+"\n")
	for i := range r.Defects {
		d := &r.Defects[i]
		line := fmt.Sprintf("%d. **%v** %s → %s", i+1, d.Severity, prose(clip(d.Sentence, maxSentence)),
			invariantNames(d, codeName))
		if facts := factsOf(d); len(facts) > 0 {
			line += "; " + prose(clip(strings.Join(facts, "; "), 600))
		}
		parts = append(parts, line+"\n")
	}
	return append(parts, "\n")
}

// defectOf is the defect of a cell in one line; "" if it has none.
func defectOf(r *contract.Report, numbers map[contract.Cell]int, c contract.Cell) string {
	n := numbers[c]
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("defect %d: %s", n, clip(r.Defects[n-1].Sentence, maxSentence))
}

// defectLine is a defect in one line.
func defectLine(d *contract.Defect) string {
	line := fmt.Sprintf("%v: %s → %s", d.Severity, clip(d.Sentence, maxSentence), invariantNames(d, clean))
	if facts := factsOf(d); len(facts) > 0 {
		line += "; " + strings.Join(facts, "; ")
	}
	return line
}

// A htmlDefect is a defect of the page.
type htmlDefect struct {
	ID, Number, Severity, Sentence string
	Breaks                         []htmlBreak
	Facts                          []string
	In, Rerun                      string
}

type htmlBreak struct{ Invariant, Severity, Cells, Why string }

func htmlDefects(r *contract.Report) (all []htmlDefect) {
	for i := range r.Defects {
		d := &r.Defects[i]
		h := htmlDefect{ID: fmt.Sprintf("defect-%d", i+1), Number: fmt.Sprint(i + 1), Severity: d.Severity.String(),
			Sentence: clip(d.Sentence, maxSentence), Facts: factsOf(d), In: scenariosOf(d), Rerun: clean(d.Rerun)}
		for _, b := range d.Breaks {
			h.Breaks = append(h.Breaks, htmlBreak{clean(b.Invariant), b.Severity.String(),
				text.Plural(len(b.Cells), "cell"), clip(whyOf(&b), maxValue)})
		}
		all = append(all, h)
	}
	return all
}
