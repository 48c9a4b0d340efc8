package contract

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// finish makes the report. What no unit says is taken from the ends of the parts.
func (m *merger) finish() (*Report, error) {
	if m.head.Sequential {
		m.endScenarios(len(m.fold.scenarios))
	} else {
		m.lacking.until(m.fold, unitKey{len(m.fold.scenarios), 1})
	}
	for _, p := range m.parts {
		if p.end != nil {
			m.fold.seenUnlike(p.end)
		}
	}
	r, err := m.fold.finish(m.lacking.count > 0, nil)
	if err != nil && !saysVerdict(err) {
		return nil, err
	}
	m.fold.giveWarnings(m.ofParts())
	if m.lacking.count > 0 && r.Score.Verdict == scoring.Inconclusive {
		r.Score.Why = m.lacks()
	}
	more := 0
	for _, p := range m.parts {
		if p.end != nil {
			more = max(more, p.end.CalmRuns-len(p.calm))
			r.takeFrom(p)
		}
	}
	r.CalmRuns = more + len(m.calm)
	for _, n := range r.Repeats {
		if r.Repeatable == "yes" && n.Differ != "" { // units of different parts may show it
			r.Repeatable, r.Difference = "no", n.Differ
		}
	}
	return r, nil
}

// takeFrom takes from a part what its units do not say, unless another had it: what a search found, and, of
// a part that lacks no unit, the scores that a caller set.
func (r *Report) takeFrom(p *part) {
	end := p.end
	if r.Repeatable == "" || end.Repeatable == "no" && r.Repeatable != "no" {
		r.Repeatable, r.Difference = end.Repeatable, end.Difference
	}
	if r.SearchRuns == 0 {
		r.Defects, r.SearchRuns = end.Defects, end.SearchRuns
		r.SearchElapsed, r.SearchStopped = end.SearchElapsed, end.SearchStopped
		r.Cure, r.CureSearch = end.Cure, end.CureSearch
	}
	if p.whole && r.Mutation == nil && r.Replay == nil && r.Overall == nil {
		r.Mutation, r.Replay, r.Overall = end.Mutation, end.Replay, end.Overall
	}
}

// lacks says which units no part has.
func (m *merger) lacks() string {
	l := &m.lacking
	if m.head.Sequential { // how many trials a field needs is known when it is decided
		return "The merged parts lack units that their runs needed, such as " + text.Some(l.names, mostNamed)
	}
	return fmt.Sprintf("The merged parts lack %s of %s: %s", text.Number(l.count), text.Plural(m.fold.units(), "unit"),
		text.SomeOf(l.names, mostNamed, l.count))
}

// ofParts are the warnings of the merge and of the runs as wholes. That units are lacking follows from the cells: a
// later merge knows it better.
func (m *merger) ofParts() (all []string) {
	var unknown, killed []string
	for _, p := range m.parts {
		if !p.head.buildIsKnown() {
			unknown = append(unknown, filepath.Base(p.name))
		}
		if p.end == nil {
			killed = append(killed, filepath.Base(p.name))
		}
	}
	if m.lacking.count > 0 {
		lacks := m.lacks() + "."
		if len(killed) > 0 {
			lacks += " The runs of these parts were killed: " + text.Some(killed, mostNamed) + "."
		}
		m.fold.warnings = slices.Insert(m.fold.warnings, 0, lacks)
	}
	if len(unknown) > 0 && len(m.parts) > 1 {
		all = append(all, "It is not known of which build these parts are: "+text.Some(unknown, mostNamed)+". RunOptions.Build or SHAKEDOWN_BUILD names it.")
	}
	if d := &m.differ; d.units > 0 {
		all = append(all, fmt.Sprintf("Several parts have other outcomes of %s, such as %s. The result has those in which more cells ran, or else more broke.",
			text.Plural(d.units, "unit"), d.first))
	}
	if m.differ.calm != "" {
		all = append(all, "The parts have other calm runs of "+m.differ.calm+". Each cell was judged with that of its part.")
	}
	for _, p := range m.parts {
		if p.end == nil {
			continue
		}
		at := p.end.ofCells
		for _, w := range slices.Concat(p.end.Warnings[:at[0]], p.end.Warnings[at[1]:]) {
			if !slices.Contains(all, w) && len(all) < maxWarnings {
				all = append(all, w)
			}
		}
	}
	return all
}
