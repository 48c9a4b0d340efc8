package report

import (
	"io"

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
	if o == nil {
		o = new(TextOptions)
	}
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
	p.group(&group{cell: c, mark: markOf(c), trials: []int{c.Cell.Trial}, ran: 1})
	return written(p.Flush())
}
