package contract

import (
	"context"
	"time"
)

// RunOptions are the settings of [Matrix.Run]; nil and the zero value work.
type RunOptions struct {
	_ struct{}
	// Workers is the number of cells run at once when worlds are fresh; 0:
	// GOMAXPROCS. Cells of a shared world run one at a time.
	Workers int
	// OnCell is called with every cell's report, one at a time and in the order of the matrix.
	OnCell func(*CellReport)
	// Around runs one cell, by calling cell once, in the surroundings it
	// wants, and may leave it out by not calling it. It is called from several
	// goroutines. nil: cell(nil).
	Around func(c Cell, cell func(Bubble) *CellReport)
	// Calm is the bubble for runs that are not cells: that of the first world and
	// those for baselines. nil: none.
	Calm Bubble
	// Rerun makes the line that repeats a cell; nil: none.
	Rerun func(Cell) string
	// Keep says which observations the report retains.
	Keep KeepPolicy
	// AllowInconclusive is the number of inconclusive cells that the verdict forgives.
	AllowInconclusive int
	// Watchdog is the real time after which a cell is given up: reported as
	// inconclusive and, if it does not end with its context, left behind. Checks
	// and the functions of these options have as much. 0: five minutes, and in
	// real time [Matrix.Timeout] for each prompt on top.
	Watchdog time.Duration
}

// A Bubble runs a cell in virtual time: run is called once, and when all its
// goroutines are blocked for good, or one is left at its end, that is the error.
type Bubble func(run func()) error

// A KeepPolicy says which observations a report retains.
type KeepPolicy uint8

// The policies. Whatever is retained, cells are counted, and streamed to OnCell
// with their evidence.
const (
	KeepBroken KeepPolicy = iota // of cells that are broken or inconclusive
	KeepAll
	KeepNone
	KeepCounts // not even the reports of cells: memory does not grow with their number
)

// Run runs the matrix and reports on it. First it makes one world (or takes
// the shared one), lists its tools, and returns all problems of the matrix and
// of its rules' targets, joined, before any agent is called.
//
// User code that panics, hangs, ends its goroutine or ignores its context is
// the result of its own cell. A panic on a goroutine that an agent started
// itself cannot be caught by anybody, and ends the program.
//
// When ctx ends, no further cell is started and Run returns the report so far
// with the context's error; its verdict is not Pass. Other errors: those of
// [Matrix.Validate], of making the first world, and [scoring.ErrNoneRan], with
// a report, when Around left out every cell. A failing verdict is not an error.
func (m *Matrix) Run(ctx context.Context, o *RunOptions) (*Report, error) {
	e, err := newEngine(ctx, m, o)
	if err != nil {
		return nil, err
	}
	e.prepare(ctx)
	return e.runAll(ctx)
}

// RunCell runs one cell of the matrix as Run would: same seed, same faults, and
// a calm run for its baseline before. The statefulness probe is not made. Its
// report retains the observation unless o says KeepNone or KeepCounts;
// OnCell is not called. A cell that the matrix does not have is a
// [*FieldError]. When ctx ends, its error comes with the report so far.
func (m *Matrix) RunCell(ctx context.Context, c Cell, o *RunOptions) (*CellReport, error) {
	e, err := newEngine(ctx, m, o)
	if err != nil {
		return nil, err
	}
	j, err := e.find(c)
	if err != nil {
		return nil, err
	}
	if e.o.Keep < KeepNone {
		e.o.Keep = KeepAll
	}
	w := e.newWorker()
	defer w.end()
	r := w.run(ctx, j)[0]
	r.trim(e.o.Keep)
	if r.cancelled {
		return &r, ctx.Err()
	}
	return &r, nil
}
