package compare

import (
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
)

// mostRows bounds the table of a comment.
const mostRows = 50

// Markdown is the comparison as a comment on a pull request: what is worse, a table of the
// fields that moved or that could not be compared, how the matrices differ, and what the
// trials could have seen. At most 50 fields have a row, the worse ones first; the others are
// counted.
func (c *Comparison) Markdown() string {
	var b strings.Builder
	all := c.notable()
	rest := max(0, len(all)-mostRows)
	var rows []string
	for _, f := range all[:len(all)-rest] {
		rows = append(rows, rowOf(f).markdown())
	}
	fmt.Fprintf(&b, "**%s.** %s\n", c.verdict(), c.compared())
	if len(rows) > 0 {
		fmt.Fprintf(&b,
			"\n| field | %s | %s | difference | p one-sided | Holm over %s | |\n|---|---|---|---|---|---|---|\n",
			cell(c.Before), cell(c.After), text.Plural(c.Tested, "field"))
		b.WriteString(strings.Join(rows, ""))
	}
	if rest > 0 {
		fmt.Fprintf(&b, "\n%s more moved or could not be compared.\n", text.Plural(rest, "field"))
	}
	if o := c.Overall; o != nil {
		fmt.Fprintf(&b, "\nO%s.\n", strings.TrimPrefix(o.line(), "o"))
	}
	var notes []string
	for _, m := range c.Matrices {
		notes = append(notes, "matrix: "+m)
	}
	notes = append(notes, c.notes(mostNamed)...)
	for _, note := range notes {
		fmt.Fprintf(&b, "\n- %s", cell(note))
	}
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for _, sees := range c.sees() {
		fmt.Fprintf(&b, "\n%s.\n", sees)
	}
	return b.String()
}

// notable are the fields that moved or that could not be compared, the worse ones first.
func (c *Comparison) notable() (all []*Field) {
	for _, regressed := range []bool{true, false} {
		for i := range c.Fields {
			f := &c.Fields[i]
			if f.Regression == regressed && (f.Regression || f.Unclear != "" || f.moved()) {
				all = append(all, f)
			}
		}
	}
	return all
}

func (c *Comparison) verdict() string {
	switch {
	case c.Compared() == 0:
		return "Nothing could be compared"
	case !c.Regressed():
		return "Nothing is worse"
	}
	worse := 0
	for i := range c.Fields {
		if c.Fields[i].Regression {
			worse++
		}
	}
	verdict := "Worse: " + text.Plural(worse, "field")
	if c.Overall != nil && c.Overall.Regression {
		verdict += ", and all fields together"
	}
	return verdict
}

func (c *Comparison) compared() string {
	return fmt.Sprintf("%s of %s compared.", text.Number(c.Compared()), text.Plural(len(c.Fields), "field"))
}

// A row is a field in a table, not escaped.
type row struct {
	Field, Before, After, Difference, P, Adjusted, Note string
	Worse                                               bool
}

func rowOf(f *Field) row {
	r := row{Field: f.Scenario + " / " + f.Invariant, Worse: f.Regression, Note: f.Unclear,
		Before: fmt.Sprintf("%d of %d", f.Before.Held, f.Before.Decided),
		After:  fmt.Sprintf("%d of %d", f.After.Held, f.After.Decided)}
	if f.Test != "" {
		r.P, r.Adjusted = f.Test+" "+pText(f.P.Worse), pText(f.Adjusted)
		if f.Repeats == nil {
			r.Difference = points(f.Difference, ofField)
		}
	}
	if f.Pairs != nil && f.Unclear == "" {
		r.Note = fmt.Sprintf("%d worse, %d better", f.Pairs.Worse, f.Pairs.Better)
	}
	if note := f.unprovoked(); note != "" {
		r.Note = strings.TrimPrefix(r.Note+", "+note, ", ")
	}
	return r
}

func (r row) markdown() string {
	note := cell(r.Note)
	if r.Worse {
		note = strings.TrimPrefix(note+", **worse**", ", ")
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", cell(r.Field), r.Before, r.After, r.Difference, r.P,
		r.Adjusted, note)
}

// cell escapes a name for a cell of a table.
func cell(s string) string {
	var b strings.Builder
	for _, r := range printable(s) {
		if strings.ContainsRune("\\`*_{}[]<>()#|@!&~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
