package contract

import (
	"bufio"
	"bytes"
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
	path  string
	file  *os.File // that has the lines
	head  *runHead
	fold  *fold                // of the head; nothing is added to it
	lines []fileLine           // of the units that are known
	at    map[unitKey]int      // in lines; none with Sequential
	cells map[Cell]*CellReport // with Sequential: those that were not handed out
}

// openResumed reads the file of RunOptions.Resume and checks it as far as that needs no world.
func (e *engine) openResumed() (err error) {
	if e.o.Resume == "" {
		return nil
	}
	r := &resumed{path: e.o.Resume, at: map[unitKey]int{}, cells: map[Cell]*CellReport{}}
	if r.file, err = os.Open(r.path); err != nil {
		return fields.Because("RunOptions.Resume", nil, err, "a run file")
	}
	e.resumed = r
	if err = r.index(); err == nil {
		err = e.checkResumed(r.head)
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
	lines := &runLines{from: bufio.NewReader(r.file)}
	for {
		object, err := lines.unit()
		if err != nil {
			return err
		}
		if r.head == nil {
			r.head = lines.head
			r.fold = newFold(r.head, func(string) {})
		}
		if object == nil {
			return nil
		}
		if err := r.take(object, fileLine{from: lines.at, length: lines.next - lines.at}); err != nil {
			return lines.here(err)
		}
	}
}

func (r *resumed) take(object []byte, at fileLine) error {
	u, err := r.unit(object)
	if err != nil {
		return err
	}
	at.unitKey = u.unitKey
	if r.head.Sequential {
		for _, c := range u.cells {
			if c != nil && r.cells[c.Cell] != nil {
				return fields.Wrong("unit", c.Cell.String(), "each cell once")
			}
			if c.ran() {
				r.cells[c.Cell] = c
			}
		}
		return nil
	}
	if _, twice := r.at[at.unitKey]; twice {
		return fields.Wrong("unit", fmt.Sprint(r.head.Scenarios[at.scenario].Name, "/", at.trial), "each unit once")
	}
	if u.complete(r.fold) {
		r.at[at.unitKey] = len(r.lines)
		r.lines = append(r.lines, at)
	}
	return nil
}

// unit decodes a line.
func (r *resumed) unit(object []byte) (*unit, error) {
	line, key, err := r.fold.readUnit(object)
	if err != nil {
		return nil, err
	}
	u := &unit{unitKey: key, cells: make([]*CellReport, len(r.head.Invariants))}
	return u, r.fold.readCells(line, u, false)
}

// complete reports whether a unit has all its cells, and none that another run might decide: that a
// filter left out, or a cancelled run did.
func (u *unit) complete(f *fold) bool {
	for k, c := range u.cells {
		if f.scenarios[u.scenario].fields[k] != nil && !c.ran() {
			return false
		}
	}
	return true
}

// checkResumed checks that a run file is of this matrix and this program.
func (e *engine) checkResumed(h *runHead) error {
	p := fields.List()
	p.Demand(h.Facts && h.Cells, "resume.facts", fielderror.Found("a file without evidence, such as a baseline"), "that of a run")
	p.Demand(h.Sequential == e.o.Sequential, "resume.sequential", h.Sequential, fmt.Sprint(e.o.Sequential, ", that of the run"))
	build := e.build()
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
	old := r.head
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
	line, err := r.read(at)
	if err != nil {
		return nil, err
	}
	object, err := withoutSum(line)
	if err != nil {
		return nil, err
	}
	u, err := r.unit(object)
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
		known := r.cells[j.cell(p)]
		if known == nil {
			return nil
		}
		all = append(all, *known)
		all[len(all)-1].Rerun = rerunLine(r.head.Rerun, known)
	}
	for i := range all {
		delete(r.cells, all[i].Cell)
	}
	return all
}

func (r *resumed) read(at fileLine) ([]byte, error) {
	line := make([]byte, at.length, at.length+1)
	if _, err := r.file.ReadAt(line, at.from); err != nil {
		return nil, fmt.Errorf("contract: run file: read: %w", err)
	}
	if !bytes.HasSuffix(line, []byte("\n")) { // it was cut there
		line = append(line, '\n')
	}
	return line, nil
}

// copyTo writes what is known behind what was written before. From then on it is read there.
func (r *resumed) copyTo(w io.Writer, at int64, encoder *unitEncoder) error {
	if r.head.Sequential { // a line may have cells that must be run again
		all := newUnits(len(r.head.Invariants))
		for _, c := range r.cells {
			s := r.fold.byName[c.Cell.Scenario]
			k := slices.IndexFunc(r.head.Invariants, func(inv headInvariant) bool {
				return inv.Name == c.Cell.Invariant
			})
			all.of(s.index, c.Cell.Trial).cells[k] = c
		}
		return encoder.write(w, all.inOrder())
	}
	for i := range r.lines {
		line, err := r.read(r.lines[i])
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
		r.lines[i].from, r.lines[i].length = at, int64(len(line))
		at += int64(len(line))
	}
	return nil
}
