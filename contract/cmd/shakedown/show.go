package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/text"
)

// showRun shows a run file, or one of its cells.
func showRun(_ context.Context, c *command) (status int, err error) {
	asText := func(w io.Writer, r shown) error { return report.Text(w, r.Report, nil) }
	all := append(forms(), &form{name: "json", usage: "the head and the end of the file as one JSON object; of a cell, its report",
		write: func(w io.Writer, r shown) error { return report.HeadAndEnd(w, r.Report) }})
	for _, f := range all {
		c.flags.BoolVar(&f.chosen, f.name, false, "print "+f.usage)
	}
	since := c.flags.String("since", "", "with --html: say what changed since the run in `FILE`, an earlier run file")
	operands, err := c.parse(1, 2)
	if err != nil {
		return 0, err
	}
	all = slices.DeleteFunc(all, func(f *form) bool { return !f.chosen })
	if len(all) > 1 || len(all) == 1 && len(operands) == 2 && all[0].name != "json" {
		return 0, fields.Wrong("--"+all[0].name, fielderror.Found("one form too many"), "one form; of a cell, text or --json")
	}
	chosen := append(all, &form{write: asText})[0]
	if *since != "" && (chosen.name != "html" || len(operands) == 2) {
		return 0, fields.Wrong("--since", fielderror.Found("without --html"), "--html beside it, and no cell")
	}
	r, err := readRun(operands[0])
	switch {
	case err != nil:
		return 0, err
	case len(operands) == 2:
		return 0, showCell(c.out, r, operands[0], operands[1], len(all) > 0)
	}
	own := shown{Report: r, name: *since}
	if *since != "" {
		if own.before, err = readRun(*since); err != nil {
			return 0, err
		}
	}
	return 0, chosen.write(c.out, own)
}

// showCell shows the report of a cell.
func showCell(w io.Writer, r *contract.Report, path, cell string, asJSON bool) error {
	var names []string
	for i := range r.Cells {
		own := &r.Cells[i]
		if names = append(names, own.Cell.String()); own.Cell.String() != cell {
			continue
		}
		if asJSON {
			e := json.NewEncoder(w)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			return e.Encode(own)
		}
		return report.CellOf(w, r, own)
	}
	return fields.Wrong("CELL", cell, "SCENARIO/INVARIANT/TRIAL, one of the "+text.Plural(len(names), "cell")+" in "+path+
		text.Meant(cell, names))
}

// compareRuns says how two runs differ.
func compareRuns(_ context.Context, c *command) (status int, err error) {
	operands, err := c.parse(2, 2)
	if err != nil {
		return 0, err
	}
	before, err := readRun(operands[0])
	after, err2 := readRun(operands[1])
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	status, err = printComparison(c.out, before, after, &compare.Options{Before: "in " + operands[0], After: "in " + operands[1]})
	if before.Cancelled || after.Cancelled {
		status = worse(status, inconclusive)
	}
	return status, err
}
