package contract

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring"
)

// lackingWarning begins what a merge says of units that no part has, which a later one knows better.
const lackingWarning = "The merged parts lack "

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
	r.Warnings = m.allWarnings()
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
	}
	if p.whole && r.Mutation == nil && r.Replay == nil && r.Overall == nil {
		r.Mutation, r.Replay, r.Overall = end.Mutation, end.Replay, end.Overall
	}
}

// lacks says which units no part has.
func (m *merger) lacks() string {
	l := &m.lacking
	if m.head.Sequential { // how many trials a field needs is known when it is decided
		return lackingWarning + "units that their runs needed, such as " + firstOf(l.names, len(l.names))
	}
	return fmt.Sprintf("%s%s of %s: %s", lackingWarning, text.Number(l.count), text.Plural(m.fold.units(), "unit"), firstOf(l.names, l.count))
}

func firstOf(names []string, all int) string {
	s := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if all > mostNamed {
		s += fmt.Sprintf(" and %s more", text.Number(all-mostNamed))
	}
	return s
}

// saidInEnds are the warnings of the ends. Some are those of units, which say them again.
func (m *merger) saidInEnds() map[string]bool {
	said := map[string]bool{}
	for _, p := range m.parts {
		if p.end != nil {
			for _, w := range p.end.Warnings {
				said[w] = false
			}
		}
	}
	return said
}

// hear takes warnings of a unit, of whatever part.
func (m *merger) hear(warnings []string) {
	for _, w := range warnings {
		if _, inEnd := m.said[w]; inEnd {
			m.said[w] = true
		}
	}
}

func (m *merger) warn(warning string) {
	if len(m.warnings) < maxWarnings {
		m.warnings = append(m.warnings, warning)
	}
}

// allWarnings are those of the merge, those of the runs as wholes, and those that follow from the units,
// in the order in which one run has them.
func (m *merger) allWarnings() []string {
	ofUnits := m.warnings
	m.warnings = nil
	m.warnOfParts()
	for _, p := range m.parts {
		if p.end == nil {
			continue
		}
		for _, w := range p.end.Warnings {
			ofUnit, first := m.said[w]
			if first && !ofUnit && !strings.Contains(w, overlapWarning) && !strings.HasPrefix(w, lackingWarning) {
				m.warn(w)
			}
			delete(m.said, w)
		}
	}
	for _, w := range slices.Concat(ofUnits, m.overlaps()) {
		m.warn(w)
	}
	if full := fullCoverage(); m.fold.coverage.full && !slices.Contains(m.warnings, full) {
		m.warn(full)
	}
	return m.warnings
}

// overlaps are the warnings of the fold.
func (m *merger) overlaps() (all []string) {
	m.fold.warn = func(w string) { all = append(all, w) }
	m.fold.warnOfOverlaps()
	return all
}

// warnOfParts says what is wrong with the parts, and no error.
func (m *merger) warnOfParts() {
	var unknown, killed []string
	for _, p := range m.parts {
		if p.head.Build == "" || p.head.Build == unknownBuild {
			unknown = append(unknown, filepath.Base(p.name))
		}
		if p.end == nil {
			killed = append(killed, filepath.Base(p.name))
		}
	}
	if len(unknown) > 0 && len(m.parts) > 1 {
		m.warn("It is not known of which build these parts are: " + firstOf(unknown, len(unknown)) + ". RunOptions.Build names it.")
	}
	if m.lacking.count > 0 {
		w := m.lacks() + "."
		if len(killed) > 0 {
			w += " The runs of these parts were killed: " + firstOf(killed, len(killed)) + "."
		}
		m.warn(w)
	}
	if d := &m.differ; d.units > 0 {
		m.warn(fmt.Sprintf("Several parts have other outcomes of %s, such as %s. The result has those of the first part by name, or of the one in which more cells ran.",
			text.Plural(d.units, "unit"), d.first))
	}
	if m.differ.calm != "" {
		m.warn("The parts have other calm runs of " + m.differ.calm + ". Each cell was judged with that of its part.")
	}
}
