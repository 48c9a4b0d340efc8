package contract

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Units runs single units of a matrix, for what spreads them over machines. A unit is the cells of
// one scenario and trial, and its name is scenario/trial. [Matrix.Units] makes it. Its methods are
// safe for concurrent use.
type Units struct {
	runner  *Runner
	encoder *unitEncoder
	names   []string
	places  map[string]unitKey
}

// Units does what [Matrix.Run] does before its first cell. Of the options, Build, Gather, Harness,
// Keep and Watchdog matter. A sequential run has no units of its own: which trial it makes next
// depends on those before. Errors are a [*FieldError] for it, and those of [Matrix.Run].
func (m *Matrix) Units(ctx context.Context, o *RunOptions) (*Units, error) {
	e, err := newEngine(ctx, m, o, false)
	if err != nil {
		return nil, err
	}
	if e.o.Sequential {
		return nil, fields.Wrong("RunOptions.Sequential", true, "false, for units that are run one by one")
	}
	e.goals, e.goalsLeft = m.Goals, make([]atomic.Bool, len(m.Goals))
	u := &Units{places: map[string]unitKey{}}
	if u.runner, err = e.newRunner(ctx, e.sources...); err != nil {
		return nil, err
	}
	e.prepare(ctx)
	e.makeHead()
	e.head.Build = e.build()
	if err = cmp.Or(ctx.Err(), e.head.check()); err != nil {
		u.Close()
		return nil, err
	}
	u.encoder = &unitEncoder{fold: newFold(e.head)}
	for _, s := range e.scenarios {
		for trial := 1; len(s.invariants) > 0 && trial <= m.trials(); trial++ {
			name := fmt.Sprint(s.Name, "/", trial)
			u.names, u.places[name] = append(u.names, name), unitKey{s.index, trial}
		}
	}
	return u, nil
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

// Head returns the first line of the run file, with an id of the run.
func (u *Units) Head(run string) ([]byte, error) {
	own := *u.encoder.fold.head
	own.Run = run
	return encodeLine(&own)
}

// Check returns a [*FieldError] for each of fingerprint, library and build in which the first line
// of a run file is not that of these units, or else for any other difference.
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

// Undecided returns the line of a unit that cannot be run: its cells are inconclusive, with why as
// their reason.
func (u *Units) Undecided(name, why string) ([]byte, error) {
	return u.line(name, func(j job) (cells []CellReport, err error) {
		for _, p := range j.invariants {
			cells = append(cells, CellReport{Cell: j.cell(p), Severity: p.Severity, State: Inconclusive, Why: why,
				Layer: j.scenario.Layer})
		}
		return cells, nil
	})
}

// line makes the line of a unit of what run returns for its jobs.
func (u *Units) line(name string, run func(job) ([]CellReport, error)) ([]byte, error) {
	e, begun := u.runner.engine, time.Now()
	place, known := u.places[name]
	if !known {
		return nil, fields.Wrong("unit", name, fmt.Sprintf("a scenario of the matrix/a trial from 1 to %d", e.m.trials()))
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

// Close ends what the units share, as [Runner.Close] does.
func (u *Units) Close() { u.runner.Close() }
