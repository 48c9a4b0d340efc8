package contract

import (
	"time"

	"github.com/shakedown-go/shakedown/scoring"
)

// CellState is the outcome of a cell; see [scoring.CellState].
type CellState = scoring.CellState

// The outcomes of a cell.
const (
	NotRun       = scoring.CellNotRun
	Held         = scoring.CellHeld
	Broken       = scoring.CellBroken
	Inconclusive = scoring.CellInconclusive
	Undelivered  = scoring.CellUndelivered
)

// A CellReport is the result of one cell.
type CellReport struct {
	Cell     Cell      `json:"cell"`
	Severity Severity  `json:"severity"`
	State    CellState `json:"state"`
	// Violated reports whether the invariant broke. It is true with Broken, and
	// with Undelivered if the invariant broke although no fault was delivered.
	Violated bool `json:"broke,omitempty"`
	// Why is the reason why the state is not Held, for people.
	Why string `json:"why,omitempty"`
	// Delivered counts the calls on which a fault was delivered, Undelivered those
	// on which one was injected without effect. For a broken cell both count up to
	// the prompt that broke it.
	Delivered   int `json:"delivered"`
	Undelivered int `json:"undelivered,omitempty"`
	// Absorbed reports whether faults were delivered only to calls that other
	// calls made, and none is known to have reached the agent itself: no call
	// around them passed on the error, the wait or the unchanged result.
	Absorbed bool `json:"absorbed,omitempty"`
	// Undecided reports whether the cell is inconclusive because its check
	// returned [ErrUndecided]; Why has the reason. In other inconclusive cells
	// something was missing or failed before the check, or the check did not return.
	Undecided bool `json:"undecided,omitempty"`
	// Elapsed is how long the agent took for its answers, in the cell's own
	// time: virtual in a bubble. With ShareObservations it is that of the shared
	// answers.
	Elapsed time.Duration `json:"elapsedNs,omitempty"`
	// LateCalls counts the calls that the agent made between the end of its cell
	// and this report.
	LateCalls int `json:"lateCalls,omitempty"`
	// Abandoned reports whether user code did not end and its goroutine was left behind.
	Abandoned bool `json:"abandoned,omitempty"`
	// Evidence is the observation that decided, or the last one; nil if the
	// [KeepPolicy] does not retain it.
	Evidence *Observation `json:"evidence,omitempty"`
	// Rerun is the command line that repeats the cell, of [Harness.Rerun].
	Rerun string `json:"rerun,omitempty"`

	dropped   int
	warnings  []string
	cancelled bool
	events    []*Observation // those whose faults are still to be counted
	overlaps  []overlap
	hosts     []string // see chosenPorts
}

func (r *CellReport) warn(text string) {
	if text != "" {
		r.warnings = append(r.warnings, text)
	}
}

// A Report is the result of a matrix: its cells in the order of the matrix, the
// score and the verdict.
type Report struct {
	Name string `json:"name,omitempty"`
	Seed uint64 `json:"seed,string"`
	// Cells are empty with KeepCounts.
	Cells []CellReport `json:"cells"`
	// Counts are the cells as the score counts them. Equal cells are one entry with
	// their number, in the order of their first. With KeepCounts this is all that
	// is retained of the cells.
	Counts []scoring.Cell `json:"counts,omitempty"`
	// Faults has, for every rule of every scenario, how often its fault was
	// delivered. A rule whose fault never was has tested nothing.
	Faults []FaultCount `json:"faults,omitempty"`
	// Score has the verdict, the value, and the counts.
	Score scoring.ContractScore `json:"score"`
	// Scenarios and Invariants are the names in order, for tables.
	Scenarios  []string `json:"scenarios"`
	Invariants []string `json:"invariants"`
	Trials     int      `json:"trials"`
	// SharedObservations reports whether all invariants of a scenario and trial
	// judged the same observations; see [Matrix.ShareObservations].
	SharedObservations bool `json:"shared,omitempty"`
	// StateProbed reports whether the state probe was made.
	StateProbed bool `json:"probed,omitempty"`
	// CalmRuns counts the runs of the agent without faults that are not cells: those
	// for baselines and those of the state probe.
	CalmRuns int `json:"calmRuns,omitempty"`
	// Filtered reports whether [Harness.Around] left out some cells.
	Filtered bool `json:"filtered,omitempty"`
	// Cancelled reports whether the context ended before all cells had run. The
	// verdict is then Fail if a critical invariant broke before, else Inconclusive.
	Cancelled bool `json:"cancelled,omitempty"`
	// AllowInconclusive is that of the [RunOptions]: the score and the verdict
	// follow from it and Counts.
	AllowInconclusive int `json:"allowInconclusive,omitempty"`
	// Warnings are sentences about the run as a whole. Among them are the findings of
	// package chaos/lint, and the rules that match no call because the agent makes too
	// few.
	Warnings []string `json:"warnings,omitempty"`
	// Dropped counts the events that did not fit the logs of the cells.
	Dropped int `json:"dropped,omitempty"`
	// Abandoned counts the cells whose user code was left behind.
	Abandoned int `json:"abandoned,omitempty"`
	// Absorbed and Undecided count the cells with these fields; see [CellReport].
	Absorbed  int `json:"absorbed,omitempty"`
	Undecided int `json:"undecided,omitempty"`
}

// A FaultCount counts the faults of one rule over the whole matrix. A run that
// several invariants judged, with [Matrix.ShareObservations], counts once.
type FaultCount struct {
	Scenario string `json:"scenario"`
	Rule     string `json:"rule"`   // its name, or the one that its plan gave it
	Target   string `json:"target"` // its glob
	Fault    string `json:"fault"`  // the kind; empty if the fault does not declare it and was never injected
	// Cells is the number of runs of the agent in which the fault was delivered.
	// Delivered is the number of calls on which it was, and Undelivered the number
	// of calls on which it was injected without effect.
	Cells       int `json:"cells"`
	Delivered   int `json:"delivered"`
	Undelivered int `json:"undelivered"`
}
