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

// standing says how the field of a cell stands beside the earlier report: in a word, and in a sentence.
func (s *since) standing(c *contract.CellReport) (word, line string) {
	if s == nil {
		return "", ""
	}
	f := s.fields[place{c.Cell.Scenario, c.Cell.Invariant}]
	if f == nil {
		return "", "not compared: the earlier report lacks it, or its scenario or prompts changed"
	}
	if word = f.Standing(); word == "" {
		return "", s.Line(f)
	}
	return word, word + ": " + s.Line(f)
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
	var counts []string
	for _, standing := range []string{compare.NewlyBroken, compare.StillBroken, compare.Mended} {
		n := 0
		for i := range v.since.Fields {
			f := &v.since.Fields[i]
			if f.Standing() != standing {
				continue
			}
			n++
			m := markBroken
			if standing == compare.Mended {
				m = markHeld
			}
			s.Items = append(s.Items, document.Item{Sign: new(m.sign()), Names: []string{f.Scenario, f.Invariant},
				Text: fmt.Sprintf(" (%v): %s: %s", f.Severity, standing, v.since.Line(f)),
				Link: links[place{f.Scenario, f.Invariant}], Tags: document.Tags{State: m.sign().Class,
					Scenario: f.Scenario, Severity: f.Severity.String(), Since: standing}})
		}
		counts = append(counts, text.Number(n)+" "+standing)
	}
	s.Intro = strings.Join(counts, ", ")
	for _, note := range slices.Concat(v.since.Matrices, v.since.Notes()) {
		s.Facts = append(s.Facts, fact("compared", note))
	}
	return s
}
