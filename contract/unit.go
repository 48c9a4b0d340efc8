package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// Units are the units of a matrix one by one, for what spreads them over machines. A unit is the cells of one scenario
// and trial, and its name is scenario/trial. [Matrix.Units] makes it. Its methods are safe for concurrent use.
type Units struct {
	engine  *engine
	runner  *Runner
	encoder *unitEncoder
	names   []string
	places  map[string]unitKey
	mu      sync.Mutex // guards the lines of the file
}

// Units does what [Matrix.Run] does before its first cell. Of the options, Build, Gather, Harness, Keep and Watchdog
// matter. With File it begins the run file, which has what the file of Resume has; [Units.Add] takes the others, and
// [Units.Report] ends it. A sequential run has no units of its own: which trial it makes next depends on those before.
// Errors are a [*FieldError] for it, and those of [Matrix.Run].
func (m *Matrix) Units(ctx context.Context, o *RunOptions) (*Units, error) {
	e, err := newEngine(ctx, m, o, false)
	if err != nil {
		return nil, err
	}
	if e.o.Sequential {
		return nil, fields.Wrong("RunOptions.Sequential", true, "false, for units that are run one by one")
	}
	e.goals, e.goalsLeft = m.Goals, make([]atomic.Bool, len(m.Goals))
	u := &Units{engine: e, places: map[string]unitKey{}}
	if err := u.open(ctx); err != nil {
		u.Close()
		return nil, err
	}
	for _, s := range e.scenarios {
		for trial := 1; len(s.invariants) > 0 && trial <= m.trials(); trial++ {
			name := fmt.Sprint(s.Name, "/", trial)
			u.names, u.places[name] = append(u.names, name), unitKey{s.index, trial}
		}
	}
	return u, nil
}

func (u *Units) open(ctx context.Context) (err error) {
	e := u.engine
	if err = cmp.Or(e.openResumed(), e.openFile()); err != nil {
		return err
	}
	if u.runner, err = e.newRunner(ctx, e.sources...); err != nil {
		return err
	}
	e.makeHead()
	if err = e.resumed.fits(e.head); err != nil {
		return err
	}
	e.prepare(ctx)
	e.head.Build, e.head.Probed = e.build(), e.head.Probed || e.probed
	u.encoder = &unitEncoder{fold: newFold(e.head)}
	if err = cmp.Or(ctx.Err(), e.head.check()); err != nil {
		return err
	}
	if e.writer, err = e.newFileWriter(u.encoder.fold); e.writer != nil && e.resumed == nil {
		p := &part{name: e.o.File, file: e.writer.file, head: e.head, fold: u.encoder.fold}
		e.resumed = &resumed{part: p, at: map[unitKey]int{}}
	}
	return err
}

// RunUnit runs one unit, such as "lookup-flaky/3", and returns its line of the run file: an activity
// of Temporal or a job of River. The lines of all units after [Units.Head], in any order, are a run
// file without an end. [Units.Run] does the same for several units, with one calm run for all. When
// ctx ends, there is no line.
func (m *Matrix) RunUnit(ctx context.Context, unit string, o *RunOptions) ([]byte, error) {
	u, err := m.Units(ctx, o)
	if err != nil {
		return nil, err
	}
	defer u.Close()
	return u.Run(ctx, unit)
}

// Names returns the names of all units, in the order of the matrix.
func (u *Units) Names() []string { return slices.Clone(u.names) }

// Missing returns the names of those that the run file does not have.
func (u *Units) Missing() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(u.Names(), func(name string) bool {
		at := u.places[name]
		return u.engine.resumed.has(at.scenario, at.trial)
	})
}

// Head returns the first line of the run file, with an id of the run.
func (u *Units) Head(run string) ([]byte, error) {
	own := *u.encoder.fold.head
	own.Run = run
	return encodeLine(&own)
}

// Check returns a [*FieldError] for each member in which the first line of a run file says that it is
// of another matrix, library or build than these units.
func (u *Units) Check(head []byte) error {
	object, err := withoutSum(head)
	other := runHead{Fingerprint: &Fingerprint{}}
	if err = cmp.Or(err, decodeStrictly(object, &other)); err != nil {
		return err
	}
	p := fields.List()
	other.checkSame(p, "head", u.encoder.fold.head, running)
	other.checkAsks(p, "head", u.encoder.fold.head, running)
	return p.Err()
}

// Run is [Matrix.RunUnit] for one of several units.
func (u *Units) Run(ctx context.Context, name string) ([]byte, error) {
	return u.line(name, func(j job) ([]CellReport, error) { return u.runner.inTurn(ctx, j) })
}

// Add appends the line of a unit to the run file. Errors are a [*FieldError] for a name or a line that is not that of
// the unit, and for a unit that the file has; and those of the file.
func (u *Units) Add(name string, line []byte) error {
	at, err := u.place(name)
	if err == nil {
		_, err = u.read(at, line)
	}
	if err != nil {
		return err
	}
	e := u.engine
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case e.writer == nil:
		return fields.Wrong("RunOptions.File", fielderror.Found("empty"), "the path of the run file")
	case e.resumed.has(at.scenario, at.trial):
		return fields.Wrong("unit", name, "each unit once")
	}
	e.resumed.at[at] = len(e.resumed.units)
	written, err := e.writer.append(at, line, nil)
	e.resumed.units = append(e.resumed.units, written)
	return err
}

// Report ends the run file, and returns the report that [Matrix.Run] makes of these units. Cells of units that are
// missing are inconclusive, with why as their reason; a run that goes on from the file runs them. It is called once.
func (u *Units) Report(ctx context.Context, why string) (*Report, error) {
	for _, name := range u.Missing() {
		line, err := u.line(name, func(j job) (cells []CellReport, err error) {
			for _, p := range j.invariants {
				cells = append(cells, CellReport{Cell: j.cell(p), Severity: p.Severity, State: Inconclusive, Why: why,
					Layer: j.scenario.Layer, notes: &cellNotes{Of: p.index, Lost: true}})
			}
			return cells, nil
		})
		if err = cmp.Or(err, u.Add(name, line)); err != nil {
			return nil, err
		}
	}
	u.engine.lintRules(ctx)
	return u.engine.runAll(ctx)
}

// Same reports whether two lines are of the unit and say the same, apart from times and costs.
func (u *Units) Same(name string, a, b []byte) bool {
	at, err := u.place(name)
	first, wrong := u.read(at, a)
	second, other := u.read(at, b)
	return errors.Join(err, wrong, other) == nil && first.differsFrom(second) < 0
}

func (u *Units) place(name string) (unitKey, error) {
	at, known := u.places[name]
	if !known {
		return at, fields.Wrong("unit", name, fmt.Sprintf("a scenario of the matrix/a trial from 1 to %d", u.engine.m.trials()))
	}
	return at, nil
}

func (u *Units) read(at unitKey, line []byte) (*unit, error) {
	read := &unit{unitKey: at, cells: make([]*CellReport, len(u.engine.m.Invariants))}
	return read, u.encoder.fold.addLine(read, line)
}

// line makes the line of a unit of what run returns for its jobs.
func (u *Units) line(name string, run func(job) ([]CellReport, error)) ([]byte, error) {
	e, begun := u.engine, time.Now()
	place, err := u.place(name)
	if err != nil {
		return nil, err
	}
	made := &unit{unitKey: place, cells: make([]*CellReport, len(e.m.Invariants))}
	for j := range e.firstJobs(e.scenarios[place.scenario]) {
		j.trial = place.trial
		cells, err := run(j)
		if err != nil {
			return nil, err
		}
		for k := range cells {
			cells[k].trim(e.o.Keep)
			made.cells[j.invariants[k].index] = &cells[k]
		}
	}
	made.ms = time.Since(begun).Milliseconds()
	return u.encoder.line(made)
}

// Close ends what the units share, as [Runner.Close] does. A run file that no report ended is that of a killed run.
func (u *Units) Close() {
	if u.runner != nil {
		u.runner.Close()
	}
	u.engine.writer.close()
	u.engine.resumed.close()
	u.engine.file.Close() //nolint:errcheck // of a run that failed; the writer has closed it else
}
