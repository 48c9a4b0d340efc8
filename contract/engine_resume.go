package contract

import (
	"fmt"
	"io"
	"slices"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A resumed is the run file from which a run goes on. Of a nil one nothing is known.
type resumed struct {
	*part
	at    map[unitKey]int      // in units; none with Sequential
	cells map[Cell]*CellReport // with Sequential: those that were not handed out
}

// openResumed reads the file of RunOptions.Resume and checks it as far as that needs no world.
func (e *engine) openResumed() error {
	if e.o.Resume == "" {
		return nil
	}
	p, err := openPart(e.o.Resume)
	if err != nil {
		return fields.Because("RunOptions.Resume", nil, err, "")
	}
	e.resumed = &resumed{part: p, at: map[unitKey]int{}, cells: map[Cell]*CellReport{}}
	if err = p.index(e.checkResumed); err == nil {
		err = e.resumed.take()
	}
	return p.named(err)
}

func (r *resumed) close() {
	if r != nil {
		r.part.close()
	}
}

// take reads all units, and keeps which need not be run again.
func (r *resumed) take() error {
	known := []fileLine(nil)
	for i := 0; i < len(r.units); {
		u, _, next, err := r.unit(i)
		if err != nil {
			return err
		}
		switch {
		case r.head.Sequential:
			for _, c := range u.cells {
				if c.ran() {
					r.cells[c.Cell] = c
				}
			}
		case u.complete(r.fold):
			r.at[u.unitKey] = len(known)
			known = append(known, r.units[i])
		}
		i = next
	}
	r.units = known
	return nil
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
	own := e.bareHead()
	h.checkSame(p, "resume", own, running)
	if !h.buildIsKnown() || !own.buildIsKnown() {
		e.warn(fmt.Sprintf("Nothing shows that the units of %s are of the program that runs now: a build is unknown. "+
			"RunOptions.Build or SHAKEDOWN_BUILD names it.", e.o.Resume))
	}
	return p.Err()
}

// fits checks what only the worlds show, and reads the units with the head of the new run.
func (r *resumed) fits(h *runHead) error {
	if r == nil {
		return nil
	}
	p := fields.List()
	r.head.checkAsks(p, "resume", h, running)
	r.head.Rerun = h.Rerun
	h.Probed = r.head.Probed
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
	u, _, _, err := r.unit(r.at[unitKey{scenario, trial}])
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
	for i := range r.units {
		line, err := r.line(r.units[i])
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
		r.units[i].from, r.units[i].length = at, int64(len(line))
		at += int64(len(line))
	}
	return nil
}
