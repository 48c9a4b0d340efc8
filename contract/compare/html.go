package compare

import (
	"bytes"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"io"
	"math"

	"github.com/shakedown-go/shakedown/internal/text"
)

//go:embed page.html
var page string

// HTML writes the comparison as one page that loads nothing and has no scripts: what is
// worse, the table of [Comparison.Markdown] without a limit, the fields that were not
// compared, and what the trials could have seen.
//
// Errors are those of the writer.
func (c *Comparison) HTML(w io.Writer) error {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return fmt.Errorf("compare: the page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, c.page()); err != nil {
		return fmt.Errorf("compare: the page: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return written(err)
}

type htmlPage struct {
	Verdict, Compared, Before, After, Holm string
	Rows                                   []row
	Notes                                  []string
}

func (c *Comparison) page() htmlPage {
	p := htmlPage{Verdict: c.verdict(), Compared: c.compared(), Before: printable(c.Before), After: printable(c.After),
		Holm: "Holm over " + text.Plural(c.Tested, "field")}
	for _, f := range c.notable() {
		r := rowOf(f)
		r.Field, r.Note = printable(r.Field), printable(r.Note)
		p.Rows = append(p.Rows, r)
	}
	note := func(s string) { p.Notes = append(p.Notes, printable(s)) }
	if o := c.Overall; o != nil {
		note(o.line())
	}
	for _, m := range c.Matrices {
		note("matrix: " + m)
	}
	for _, all := range c.notes(math.MaxInt) {
		note(all)
	}
	for _, sees := range c.sees() {
		note(sees)
	}
	return p
}
