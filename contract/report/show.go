package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// A view makes the sections that a report is shown in. Formats differ in their order, and in how
// much of a list they show.
type view struct {
	r      *contract.Report
	g      *grid
	groups []*group // of broken cells
	most   int      // items of a list
	page   bool     // there is room for all calls of a broken cell, and for links
	calm   calmAnswers
	since  *since // nil: nothing to compare with
}

func newView(r *contract.Report, most int) *view {
	v := &view{r: r, g: newGrid(r), most: most}
	v.groups = broken(r, v.g)
	return v
}

// document is the report as a comment or a page.
func (v *view) document() *document.Document {
	return &document.Document{Title: title(v.r), Verdict: verdictOf(v.r), Sections: []*document.Section{
		v.defects(), v.cure(), v.matrix("Scenarios and invariants"), {Facts: facts(v.r)}, v.notes(), v.rates(),
		v.changes(), v.broken(v.groups), v.undecided(), v.kept()}}
}

func verdictOf(r *contract.Report) *document.Verdict {
	m := markInconclusive
	switch r.Score.Verdict {
	case scoring.Pass:
		m = markHeld
	case scoring.Fail:
		m = markBroken
	}
	return &document.Verdict{Sign: m.sign(), Name: verdictName(r), Why: r.Score.Why}
}

// verdictName is the verdict in every form of the report.
func verdictName(r *contract.Report) string {
	if r.Partial() {
		return "PARTIAL"
	}
	return r.Score.Verdict.String()
}

func (v *view) matrix(head string) *document.Section {
	left := v.g.dropNotRun()
	t := &document.Table{Corner: "scenario", Repeat: true, Hints: []string{legendText(v.g)}}
	if left != "" {
		t.Hints = append(t.Hints, left)
	}
	for m := range marks {
		if v.g.used.count[m] > 0 {
			t.Legend = append(t.Legend, m.sign())
		}
	}
	links := v.links()
	for _, name := range v.g.invariants {
		t.Heads = append(t.Heads, document.Head{Name: name, Below: severityName(v.g, name)})
	}
	t.Heads = append(t.Heads, document.Head{Name: "delivered"})
	for _, scenario := range v.g.scenarios {
		row := document.Row{Name: scenario}
		for _, name := range v.g.invariants {
			at := place{scenario, name}
			cell := document.Cell{Link: links[at]}
			if f := v.g.fields[at]; f != nil {
				cell.Marks, cell.Words = f.marks(), f.words()
			}
			row.Cells = append(row.Cells, cell)
		}
		row.Cells = append(row.Cells, document.Cell{Text: v.g.delivered(scenario)})
		t.Rows = append(t.Rows, row)
	}
	return &document.Section{Name: "scenarios and invariants", Head: head, Table: t}
}

// links leads each broken field of a page to its evidence.
func (v *view) links() map[place]string {
	links := map[place]string{}
	if !v.page {
		return links
	}
	for _, b := range v.groups[:min(v.most, len(v.groups))] {
		for _, p := range b.places {
			at := place{p.scenario, b.cell.Cell.Invariant}
			links[at] = cmp.Or(links[at], "#"+b.cell.Cell.String())
		}
	}
	return links
}

// severityName returns a short name, so that a column can be narrow.
func severityName(g *grid, invariant string) string {
	s, ok := g.severity[invariant]
	switch {
	case !ok:
		return document.Empty
	case s == contract.Critical:
		return "crit"
	}
	return s.String()
}

func (v *view) notes() *document.Section {
	s := &document.Section{Name: "notes"}
	for _, note := range notes(v.r) {
		s.Items = append(s.Items, document.Item{Text: note, Lines: 8})
	}
	return s
}

func (v *view) defects() *document.Section {
	s := &document.Section{Name: "defects"}
	if len(v.r.Defects) == 0 {
		return s
	}
	s.Head, s.Intro = "DEFECTS", defectsHead(v.r)
	if v.r.SearchStopped != "" {
		s.Intro += ". The search is not complete: " + v.r.SearchStopped + "."
	}
	for i := range v.r.Defects {
		d := &v.r.Defects[i]
		item := document.Item{Lead: fmt.Sprintf("%d %-8v", i+1, d.Severity),
			Text: document.Clip(d.Sentence, maxSentence), Brief: invariantNames(d)}
		item.Details = []document.Detail{{Kind: document.OneLine, List: breakLines(d)},
			{Label: "facts", Text: strings.Join(factsOf(d), "; ")},
			cureOf(v.r, d.Cure),
			{Label: "in", Text: scenariosOf(d)},
			{Label: "rerun", Kind: document.Command, Text: d.Rerun}}
		if v.page {
			item.Table = cureTable(v.r, d.Cure)
		}
		s.Items = append(s.Items, item)
	}
	return s
}

// cure says what mends the defects together.
func (v *view) cure() *document.Section {
	s := &document.Section{Name: "cure", Intro: cureHead(v.r)}
	if s.Intro != "" {
		s.Head = "CURE"
	}
	return s
}

// rates has the fields of which some trials held and some broke, and the promised rates.
func (v *view) rates() *document.Section {
	s := &document.Section{Name: "rates", Head: "RATES", Most: v.most}
	for _, f := range notable(v.r) {
		s.Items = append(s.Items, document.Item{Sign: new(markOfField(v.r, f).sign()),
			Names: []string{f.Scenario, f.Invariant}, Text: fmt.Sprintf(" (%v): %s", f.Severity, standsText(v.r, f))})
	}
	return s
}

// broken has groups of broken cells with their evidence.
func (v *view) broken(groups []*group) *document.Section {
	s := &document.Section{Name: "broken", Head: "BROKEN", Most: v.most}
	numbers := explained(v.r)
	for i, b := range groups {
		lines := maxFaults
		if v.page {
			lines = maxCalls
		}
		item := itemOf(b, lines)
		if v.page && i < v.most {
			v.ofPage(&item, b.cell)
		}
		item.Details = append(item.Details, document.Detail{Label: "defect", Text: defectOf(v.r, numbers, b.cell.Cell)})
		s.Items = append(s.Items, item)
	}
	return s
}

// explained counts the groups that a text does not list, since defects explain them.
func (v *view) explained() *document.Section {
	n := len(v.groups) - len(withoutExplained(v.r, v.groups))
	if n == 0 {
		return new(document.Section)
	}
	return &document.Section{Intro: fmt.Sprintf("The defects above explain %s of broken cells, which %s not listed again.",
		text.Plural(n, "kind"), text.Noun(n, "is", "are"))}
}

// itemOf is a group with its evidence, and so many lines about its faults.
func itemOf(b *group, lines int) document.Item {
	item := document.Item{Sign: new(b.mark.sign()), Names: []string{b.cell.Cell.Scenario, b.cell.Cell.Invariant},
		Text: fmt.Sprintf(" (%v): %s", b.cell.Severity, b.outcome())}
	add := func(d document.Detail) { item.Details = append(item.Details, d) }
	add(document.Detail{Label: "why", Text: b.why()})
	if o := b.cell.Evidence; o != nil {
		answer := o.Response
		if strings.TrimSpace(answer) == "" {
			answer = noAnswer
		}
		add(document.Detail{Label: "prompt", Kind: document.Quote, Text: o.Prompt})
		add(document.Detail{Label: "answer", Kind: document.Quote, Text: answer})
	}
	add(document.Detail{Label: "faults", List: b.faults(lines)})
	add(document.Detail{Label: "also", Kind: document.OneLine, List: b.also()})
	add(document.Detail{Label: "rerun", Kind: document.Command, Text: b.cell.Rerun})
	return item
}

func (v *view) undecided() *document.Section {
	s := &document.Section{Name: "not decided", Head: "NOT DECIDED", Most: v.most}
	for _, u := range undecided(v.r) {
		item := document.Item{Sign: new(markOf(u[0]).sign()), Names: u.scenarios()[:1], Text: u.outcome(),
			Brief: strings.Join(u.invariants(), ", ")}
		item.Tags = v.tags(u[0])
		if len(s.Items) == 0 { // it may be a list of differences: mending it often mends the others
			item.Lines = 24
		}
		s.Items = append(s.Items, item)
	}
	return s
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
