package report

import (
	"bytes"
	"cmp"
	_ "embed" // for the schema
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/document"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/internal/wholefile"
	"github.com/shakedown-go/shakedown/scoring"
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

// Text writes the report for a terminal or a log: the table of scenarios and invariants, the verdict and its
// numbers, then the broken cells and the reasons of those that were not decided. Cells of an invariant that broke
// for the same reason are shown once; the other scenarios have a line each. Cells that a defect explains are
// counted, and the defect is shown; with TableLast it follows them. The first 20 are shown, and the rest is
// counted: [HTML] has more. What broke without faults comes first. The table leaves out scenarios and invariants
// of which a filter left no cell.
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
	all := []*document.Section{matrix, verdict, v.notes(), v.defects(), v.cure(), v.rates(),
		v.broken(withoutExplained(r, v.groups)), v.explained(), v.undecided()}
	if o.TableLast { // a log has the evidence of every failure
		all = []*document.Section{v.rates(), v.broken(v.groups), v.undecided(), v.defects(), v.cure(),
			v.notes(), matrix, verdict}
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

// CellOf writes one cell with its evidence, as [Text] shows a broken one, with all its faults and a
// picture of its run. Run and answer are shown beside those without faults that the report has kept; r
// may be nil. A nil cell is a [*FieldError].
func CellOf(w io.Writer, r *contract.Report, c *contract.CellReport) error {
	if c == nil {
		return fields.Wrong("cell", fielderror.Found("nil"), "the report of a cell")
	}
	item := cellItem(c, document.Unlimited)
	calmOf(cmp.Or(r, new(contract.Report))).shown(&item, c, maxDrawn, false)
	return written(document.Text(w, []*document.Section{{Items: []document.Item{item}}}, defaultWidth))
}

// maxDrawn bounds the calls of a picture in a text.
const maxDrawn = 40

// cellItem is a cell by itself, with so many lines about its faults.
func cellItem(c *contract.CellReport, lines int) document.Item {
	item := itemOf(&group{cell: c, mark: markOf(c), places: []*brokenPlace{{cell: c}}}, lines)
	item.Names, item.Text = append(item.Names, strconv.Itoa(c.Cell.Trial)), fmt.Sprintf(" (%v): %s", c.Severity, markOf(c).short())
	if c.Why == "" {
		item.Details = item.Details[1:]
	}
	return item
}

// commentBytes is the limit of a GitHub comment.
const commentBytes = 65536

// Markdown writes the report for a comment on a pull request, in GitHub's
// dialect: the verdict, the numbers, the table, and the folded evidence of the first 20
// broken cells. What does not fit into 65,536 bytes is left out, and counted.
//
// Texts of the agent are escaped and put in <pre> elements, so that they format,
// link, mention and embed nothing. Names are put in <code> elements.
func Markdown(w io.Writer, r *contract.Report) error {
	return write(w, r, func() ([]byte, error) { return newView(r, mostBroken).document().Markdown(commentBytes), nil })
}

// Files writes the report in every form to a folder, which it makes if there is none:
// report.txt, report.run.jsonl (the run file), report.xml (JUnit), report.html and report.md.
// Each file is replaced as a whole, so that a reader never sees half of one. The options are
// those of JUnit; nil: the defaults.
//
// Errors: those of the formats and of the file system, all joined. A format that
// fails does not keep the others from being written.
func Files(dir string, r *contract.Report, o *JUnitOptions) error {
	if err := check(r); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("report: files: %w", err)
	}
	var errs []error
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"report.txt", func(w io.Writer) error { return Text(w, r, nil) }},
		{"report.run.jsonl", func(w io.Writer) error { return Write(w, r, nil) }},
		{"report.xml", func(w io.Writer) error { return JUnit(w, r, o) }},
		{"report.html", func(w io.Writer) error { return HTML(w, r) }},
		{"report.md", func(w io.Writer) error { return Markdown(w, r) }},
	} {
		if err := wholefile.WriteFunc(filepath.Join(dir, f.name), f.write); err != nil {
			errs = append(errs, fmt.Errorf("report: files: %s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
}

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a line of a run file, as [Write] writes it.
func Schema() string { return schema }

// WriteOptions are the settings of [Write]; nil and the zero value work.
type WriteOptions struct {
	_ struct{}
	// Stable leaves out what differs between two equal runs: the id of the run, the build, and
	// all times, also virtual ones. Reasons stay as they are, and may name a time.
	Stable bool
	// WithoutEvidence leaves out what an agent was told and said: observations, reasons, lines
	// that repeat a cell, warnings, how goals failed, and of defects all but their sentences
	// and severities. What each run of the agent showed is left out too. So the file is small,
	// and what a report counts of runs is read from its end as it stands.
	WithoutEvidence bool
}

// Write writes the report as a run file: JSON Lines with a head, a line for each unit, and an
// end. A unit is the cells of a scenario and trial. Cells are written in the order of the matrix.
// Errors are those of [contract.Report.WriteRun]: a report that contradicts itself is not written.
//
// Time grows with the cells. Memory is that of the report and of its largest unit.
func Write(w io.Writer, r *contract.Report, o *WriteOptions) error {
	o = cmp.Or(o, new(WriteOptions))
	return r.WriteRun(w, o.Stable, o.WithoutEvidence)
}

// HeadAndEnd writes the first and the last line of the run file of a report as one indented JSON object,
// {"head": …, "end": …}, without their sums: all that is no cell, for people and for jq. Errors
// are those of [Write].
func HeadAndEnd(w io.Writer, r *contract.Report) error {
	var file bytes.Buffer
	if err := Write(&file, r, nil); err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(file.Bytes()), []byte("\n"))
	bare := func(line []byte) string { return string(line[:bytes.LastIndex(line, []byte(`,"sum":"`))]) + "}" }
	var out bytes.Buffer
	err := json.Indent(&out, fmt.Appendf(nil, "{%q:%s,%q:%s}\n", "head", bare(lines[0]), "end", bare(lines[len(lines)-1])), "", "  ")
	if err == nil {
		_, err = w.Write(out.Bytes())
	}
	return written(err)
}

// ReadOptions are the settings of [Read]; nil and the zero value work.
type ReadOptions struct {
	_ struct{}
	// CountsOnly leaves out the cells, as [contract.KeepCounts] does: memory then does not grow
	// with their number, except in a file of a sequential run.
	CountsOnly bool
}

// Read reads a run file to its end: what [Write] wrote, the file of [contract.RunOptions.File],
// or what a run that was killed left of one. Read(Write(r)) equals r in every member but those
// that [contract.Report.ReadRun] names. Its errors are there too.
func Read(rd io.Reader, o *ReadOptions) (*contract.Report, error) {
	r := new(contract.Report)
	if err := r.ReadRun(rd, o != nil && o.CountsOnly); err != nil {
		return nil, err
	}
	return r, nil
}

func check(r *contract.Report) error {
	if r == nil {
		return fields.Wrong("report", fielderror.Found("nil"), "a report")
	}
	return nil
}

// write writes what a report is made into.
func write(w io.Writer, r *contract.Report, made func() ([]byte, error)) error {
	if err := check(r); err != nil {
		return err
	}
	data, err := made()
	if err == nil {
		_, err = w.Write(data)
	}
	return written(err)
}

// A FieldError is one problem of a report or of options, such as "cells[3].state" or
// "TextOptions.Width". Functions that find several join them.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("report")

func written(err error) error {
	if err != nil {
		return fmt.Errorf("report: write: %w", err)
	}
	return nil
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}
