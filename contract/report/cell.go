package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// Cell writes one cell as [Text] writes a broken one: its state and the reason, its
// prompt, its answer, the delivered faults and the line that reruns it. The option
// MaxBroken has no effect.
//
// Errors: [*FieldError] for a nil cell, an unknown severity and a Width that is not
// allowed, before anything is written; and those of the writer.
func Cell(w io.Writer, c *contract.CellReport, o *TextOptions) error {
	o = cmp.Or(o, new(TextOptions))
	p, err := newPrinter(w, o)
	if err != nil {
		return err
	}
	if c == nil {
		return fields.Wrong("cell", fielderror.Found("nil"), "the report of a cell")
	}
	if c.Severity.Weight() == 0 {
		return fields.Wrong("cell.severity", c.Severity, "low, medium, high, critical")
	}
	p.group(&group{cell: c, mark: markOf(c), places: []*brokenPlace{{cell: c, trials: []int{c.Cell.Trial}, ran: 1}}})
	return written(p.Flush())
}

// Line returns the outcome of one cell and the reason on one line of at most width
// columns, such as "✗ broken (high): the answer does not contain "1042"". A nil cell
// gives "".
func Line(c *contract.CellReport, width int) string {
	if c == nil {
		return ""
	}
	m := markOf(c)
	line := fmt.Sprintf("%s %s (%v)", m.look().sign, m.short(), c.Severity)
	if m != markHeld || c.Why != "" {
		line += ": " + cmp.Or(c.Why, noReason)
	}
	return clip(withoutCommands(regexp.MustCompile(logCommand), clean(line)), width)
}
