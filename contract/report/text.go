package report

import (
	"cmp"
	"fmt"
	"io"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
)

const (
	defaultWidth = 100
	minWidth     = 40
	mostBroken   = 20 // broken cells in detail
)

// TextOptions are the settings of [Text]; nil and the zero value work.
type TextOptions struct {
	_ struct{}
	// Width is the largest number of columns of a line, 40 and up; 0: 100. Only
	// lines to be copied, and a single wider table column, exceed it.
	Width int
	// TableLast writes the broken cells first, and the table, the verdict and the
	// numbers at the end, for a log whose end is read first.
	TableLast bool
}

// Text writes the report for a terminal or a log: the table of scenarios and
// invariants, the verdict and its numbers, then the broken cells and the reasons of
// those that were not decided. A broken cell has its prompt, its answer, the
// delivered faults and the line that reruns it. Cells of an invariant that broke for
// the same reason are shown once; the other scenarios have a line each. Cells that a
// defect explains are counted, and the defect is shown; with TableLast it follows them. The
// first 20 are shown, and the rest is counted: [HTML] has more.
//
// What broke without faults comes first, and a note says so: faults say little about an agent that
// fails without them.
//
// The table leaves out scenarios and invariants of which a filter left no cell.
//
// Errors: [*FieldError] for a nil report and for a Width that is not allowed, before anything
// is written; and those of the writer.
func Text(w io.Writer, r *contract.Report, o *TextOptions) error {
	o = cmp.Or(o, new(TextOptions))
	if o.Width != 0 && o.Width < minWidth {
		return fields.Wrong("TextOptions.Width", o.Width, "0, or 40 and up")
	}
	if err := check(r); err != nil {
		return err
	}
	v := newView(r, mostBroken)
	verdict := &document.Section{Verdict: verdictOf(r), Facts: facts(r)}
	matrix := v.matrix(title(r))
	all := []*document.Section{matrix, verdict, v.notes(), v.defects(), v.rates(),
		v.broken(withoutExplained(r, v.groups)), v.explained(), v.undecided()}
	if o.TableLast { // a log has the evidence of every failure
		all = []*document.Section{v.rates(), v.broken(v.groups), v.undecided(), v.defects(), v.notes(), matrix, verdict}
	}
	return written(document.Text(w, all, cmp.Or(o.Width, defaultWidth)))
}

// Line returns the outcome of one cell and the reason on one line of at most width
// columns, such as "✗ broken (high): the answer does not contain "1042"". A nil cell
// gives "".
func Line(c *contract.CellReport, width int) string {
	if c == nil {
		return ""
	}
	m := markOf(c)
	line := fmt.Sprintf("%s %s (%v)", m.sign().Text, m.short(), c.Severity)
	if m != markHeld || c.Why != "" {
		line += ": " + cmp.Or(c.Why, noReason)
	}
	return document.Line(line, width)
}
