package contract

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A resumed is the run file from which a run goes on. Of a nil one nothing is known.
type resumed struct {
	path   string
	file   *os.File // that has the lines
	reader *runReader
	lines  []fileLine        // of the units that are known
	at     map[unitKey]int   // in lines; none with Sequential
	cells  map[Cell]knownOne // with Sequential: those that were not handed out
	line   int               // that is being read
}

// A knownOne is a cell of a sequential run, which needs all of them at the end anyway.
type knownOne struct {
	report *CellReport
	line   int // in lines
}

// openResumed reads the file of RunOptions.Resume and checks it as far as that needs no world.
func (e *engine) openResumed() (err error) {
	if e.o.Resume == "" {
		return nil
	}
	r := &resumed{path: e.o.Resume, reader: new(runReader), at: map[unitKey]int{}, cells: map[Cell]knownOne{}}
	if r.file, err = os.Open(r.path); err != nil {
		return fields.Because("RunOptions.Resume", r.path, err, "a run file")
	}
	e.resumed = r
	if err = r.index(); err == nil {
		err = e.checkResumed(r.reader.head)
	}
	if own, ok := errors.AsType[*FieldError](err); ok && own.Line > 0 {
		own.File = r.path
	}
	return err
}

func (r *resumed) close() {
	if r != nil && r.file != nil {
		r.file.Close() //nolint:errcheck // it was only read
		r.file = nil
	}
}

// index reads all lines, and keeps where the units are that need not be run again. A last line that
// was cut is dropped.
func (r *resumed) index() error {
	in := bufio.NewReader(r.file)
	from, ended := int64(0), false
	for r.line = 1; ; r.line++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("contract: run file: read: %w", err)
		}
		torn := err == io.EOF
		if torn && len(line) == 0 {
			break
		}
		if ended {
			return fields.Wrong("", fielderror.Found("more after the end"), "the end as the last line").At(r.line, 1)
		}
		object, err := withoutSum(line)
		if err != nil && torn && r.line > 1 {
			break
		}
		if ended, err = r.take(line, object, err, fileLine{from: from, length: int64(len(line))}); err != nil {
			if own, ok := errors.AsType[*FieldError](err); ok && own.Line == 0 {
				err = own.At(r.line, 1)
			}
			return err
		}
		from += int64(len(line))
	}
	if r.reader.head == nil {
		return fields.Wrong("RunOptions.Resume", fielderror.Found("empty"), "a run file")
	}
	return nil
}

func (r *resumed) take(line, object []byte, unsound error, at fileLine) (ended bool, err error) {
	switch {
	case r.reader.head == nil:
		return false, r.reader.take(line)
	case unsound != nil:
		return false, unsound
	case bytes.HasPrefix(object, []byte(`{"end":`)):
		return true, nil
	}
	u := new(runUnit)
	if err := decodeStrictly(object, u); err != nil {
		return false, err
	}
	cells, err := r.unit(u)
	if err != nil {
		return false, err
	}
	at.unitKey = cells.unitKey
	if r.reader.head.Sequential {
		return false, r.takeCells(cells, at)
	}
	if _, twice := r.at[at.unitKey]; twice {
		return false, fields.Wrong("unit", u.Unit, "each unit once")
	}
	if cells.complete(r.reader.fold) {
		r.at[at.unitKey] = len(r.lines)
		r.lines = append(r.lines, at)
	}
	return false, nil
}

// unit decodes a line.
func (r *resumed) unit(line *runUnit) (*unit, error) {
	s, trial, err := r.reader.place(line)
	if err != nil {
		return nil, err
	}
	u := &unit{unitKey: unitKey{s.index, trial}, cells: make([]*CellReport, len(r.reader.head.Invariants))}
	return u, r.reader.takeCells(line, s, u)
}

func (r *resumed) takeCells(u *unit, at fileLine) error {
	for _, c := range u.cells {
		if c == nil || !c.final() {
			continue
		}
		if _, twice := r.cells[c.Cell]; twice {
			return fields.Wrong("unit", c.Cell.String(), "each cell once")
		}
		r.cells[c.Cell] = knownOne{c, len(r.lines)}
	}
	r.lines = append(r.lines, at)
	return nil
}

// complete reports whether a unit has all its cells, and none that another run might decide: that a
// filter left out, or a cancelled run did.
func (u *unit) complete(f *fold) bool {
	for k, c := range u.cells {
		if f.scenarios[u.scenario].fields[k] != nil && (c == nil || !c.final()) {
			return false
		}
	}
	return true
}

func (r *CellReport) final() bool {
	return (r.State != NotRun || r.DoesNotApply) && (r.notes == nil || !r.notes.Cancelled)
}

// checkResumed checks that a run file is of this matrix and this program.
func (e *engine) checkResumed(h *runHead) error {
	p := fields.List()
	p.Demand(h.Facts && h.Cells, "resume.facts", fielderror.Found("a file without evidence, such as a baseline"), "that of a run")
	p.Demand(h.Sequential == e.o.Sequential, "resume.sequential", h.Sequential, fmt.Sprint(e.o.Sequential, ", that of the run"))
	build := cmp.Or(e.o.Build, buildHash())
	h.checkSame(p, "resume", e.m.fingerprint(e.scenarios), build)
	if h.Build == "" || h.Build == unknownBuild || build == unknownBuild {
		e.warn(fmt.Sprintf("Nothing shows that the units of %s are of the program that runs now: a build is unknown. "+
			"RunOptions.Build names it.", e.o.Resume))
	}
	return p.Err()
}

// fits checks what only the worlds show, and reads the units with the head of the new run.
func (r *resumed) fits(h *runHead) error {
	if r == nil {
		return nil
	}
	old := r.reader.head
	p := fields.List()
	p.Demand(maps.Equal(h.Tools, old.Tools), "resume.tools", fielderror.Found("other ones"), "the tools of the worlds")
	p.Demand(bytes.Equal(h.asked(), old.asked()), "resume", fielderror.Found("of a matrix that asks something else"), "that of the matrix")
	old.Rerun = h.Rerun
	h.Probed = old.Probed
	return p.Err()
}

// has reports whether a unit need not be run. That of a sequential run is asked for cell by cell.
func (r *resumed) has(scenario, trial int) bool {
	if r == nil {
		return false
	}
	_, has := r.at[unitKey{scenario, trial}]
	return has
}

// reports are the cells of a unit that need not be run.
func (r *resumed) reports(scenario, trial int) ([]CellReport, error) {
	at := r.lines[r.at[unitKey{scenario, trial}]]
	line := make([]byte, at.length)
	if _, err := r.file.ReadAt(line, at.from); err != nil {
		return nil, fmt.Errorf("contract: run file: read: %w", err)
	}
	object, err := withoutSum(line)
	if err != nil {
		return nil, err
	}
	decoded := new(runUnit)
	if err := decodeStrictly(object, decoded); err != nil {
		return nil, err
	}
	u, err := r.unit(decoded)
	if err != nil {
		return nil, err
	}
	var all []CellReport
	for _, c := range u.cells {
		if c != nil {
			all = append(all, *c)
		}
	}
	return all, nil
}

// give hands out the cells of a job of a sequential run, once; nil: not all are known.
func (r *resumed) give(j job) (all []CellReport) {
	if r == nil {
		return nil
	}
	for _, p := range j.invariants {
		known, ok := r.cells[j.cell(p)]
		if !ok {
			return nil
		}
		all = append(all, *known.report)
		all[len(all)-1].Rerun = rerunLine(r.reader.head.Rerun, known.report)
	}
	for i := range all {
		delete(r.cells, all[i].Cell)
	}
	return all
}

// copyTo copies the lines of the units that are known, behind what was written before. From then on
// they are read there.
func (r *resumed) copyTo(w io.Writer, at int64) (end int64, err error) {
	slices.SortFunc(r.lines, func(a, b fileLine) int { return cmp.Compare(a.from, b.from) })
	for i := range r.lines {
		l := &r.lines[i]
		if _, err := io.Copy(w, io.NewSectionReader(r.file, l.from, l.length)); err != nil {
			return 0, err
		}
		l.from, at = at, at+l.length
	}
	return at, nil
}
