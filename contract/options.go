package contract

import "time"

// RunOptions are the settings of [Matrix.Run]; nil and the zero value work.
type RunOptions struct {
	_ struct{}
	// Workers is the number of cells that run at once when worlds are fresh; 0:
	// GOMAXPROCS. Cells of a shared world run one at a time.
	Workers int
	// OnCell is called with the report of each cell, one call at a time and in
	// the order of the matrix. nil: not called.
	OnCell func(*CellReport)
	// Harness connects the run to a test framework or another host. The zero
	// value connects it to none.
	Harness Harness
	// Keep selects the observations that the report retains.
	Keep KeepPolicy
	// AllowInconclusive is the number of inconclusive cells that the verdict accepts.
	AllowInconclusive int
	// Watchdog limits the real time of a cell. A cell that exceeds it is
	// inconclusive; if it does not end with its context either, it is left behind.
	// The same limit applies to each check and to each call of OnCell and of the
	// Harness functions. 0: five minutes; a cell in real time then also gets
	// [Matrix.Timeout] for each prompt.
	Watchdog time.Duration
}

// A Harness holds what the host of a run, such as package contracttest, decides
// about each cell: where it runs, whether it runs, and how a person repeats it.
// Each field may be nil. Its functions are called from several goroutines.
type Harness struct {
	_ struct{}
	// Around is called once for each cell and runs it by calling run once, in
	// the bubble that it passes (nil: in real time). It should return after run
	// has returned. A cell for which it does not call run is not run. nil: run(nil).
	Around func(c Cell, run func(Bubble) *CellReport)
	// Calm is the bubble of the runs that are not cells: that of the first world,
	// those for baselines and those of the state probe. nil: real time.
	Calm Bubble
	// Rerun returns the command line that repeats a cell, for
	// [CellReport.Rerun]. nil: no line.
	Rerun func(Cell) string
}

// A Bubble runs a function in virtual time. It calls run once and returns when
// all goroutines of the bubble have ended. It returns an error if they are
// blocked for good, or if one is left when run has returned.
type Bubble func(run func()) error

// A KeepPolicy selects the observations that a report retains.
type KeepPolicy uint8

// The policies. With each of them every cell is counted, and OnCell gets its
// report with the evidence.
const (
	KeepBroken KeepPolicy = iota // of cells that are broken or inconclusive
	KeepAll
	KeepNone
	KeepCounts // not even the reports of cells: memory does not grow with their number
)
