package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/text"
)

// since is a comparison with an earlier report, by field. nil: there is none.
type since struct {
	*compare.Comparison
	fields map[place]*compare.Field
}

func sinceOf(c *compare.Comparison) *since {
	s := &since{c, map[place]*compare.Field{}}
	for i := range c.Fields {
		f := &c.Fields[i]
		s.fields[place{f.Scenario, f.Invariant}] = f
	}
	return s
}

// field is that of a cell; nil: it is not compared.
func (s *since) field(c *contract.CellReport) *compare.Field {
	if s == nil {
		return nil
	}
	return s.fields[place{c.Cell.Scenario, c.Cell.Invariant}]
}

func (s *since) standing(c *contract.CellReport) string {
	if f := s.field(c); f != nil {
		return f.Standing()
	}
	return ""
}

// line says how the field of a cell stands beside the earlier report.
func (s *since) line(c *contract.CellReport) string {
	f := s.field(c)
	switch {
	case s == nil:
		return ""
	case f == nil:
		return "not compared: the earlier report lacks it, or its scenario or prompts changed"
	case f.Standing() == "":
		return s.Line(f)
	}
	return f.Standing() + ": " + s.Line(f)
}

// changes has the fields that broke on a side, the newly broken ones first, and what else is to be
// known of the comparison.
func (v *view) changes() *document.Section {
	s := &document.Section{Name: "changes"}
	if v.since == nil {
		return s
	}
	s.Head, s.Most = "SINCE THE EARLIER RUN", 5*mostOnPage
	links := v.links()
	counts := map[string]int{}
	for _, standing := range []string{compare.NewlyBroken, compare.StillBroken, compare.Mended} {
		for i := range v.since.Fields {
			f := &v.since.Fields[i]
			if f.Standing() != standing {
				continue
			}
			counts[standing]++
			m := markBroken
			if standing == compare.Mended {
				m = markHeld
			}
			at := place{f.Scenario, f.Invariant}
			s.Items = append(s.Items, document.Item{Sign: new(m.sign()), Names: []string{f.Scenario, f.Invariant}, Link: links[at],
				Text: fmt.Sprintf(" (%v): %s: %s", f.Severity, standing, v.since.Line(f)),
				Tags: document.Tags{State: m.sign().Class, Scenario: f.Scenario, Severity: f.Severity.String(), Since: standing}})
		}
		s.Intro += fmt.Sprintf("%s %s, ", text.Number(counts[standing]), standing)
	}
	s.Intro = strings.TrimSuffix(s.Intro, ", ")
	for _, note := range slices.Concat(v.since.Matrices, v.since.Notes()) {
		s.Facts = append(s.Facts, fact("compared", note))
	}
	return s
}
