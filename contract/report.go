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

// A CellReport is what became of one cell.
type CellReport struct {
	Cell     Cell      `json:"cell"`
	Severity Severity  `json:"severity"`
	State    CellState `json:"state"`
	// Broke says that the invariant broke: always with Broken, and with
	// Undelivered when it broke although no fault struck.
	Violated bool `json:"broke,omitempty"`
	// Why says in words why the state is not held.
	Why string `json:"why,omitempty"`
	// Delivered counts the calls on which a fault was delivered, Undelivered
	// those on which one struck without effect; of a broken cell up to the
	// prompt that broke it.
	Delivered   int `json:"delivered"`
	Undelivered int `json:"undelivered,omitempty"`
	// Absorbed says that faults were delivered to calls that other calls made,
	// and none is known to have come to the agent itself: no call around them
	// passed on the error, the wait or the unchanged result.
	Absorbed bool `json:"absorbed,omitempty"`
	// Undecided says of an inconclusive cell that its check was asked and could
	// not tell ([ErrUndecided]). Why has its reason. Otherwise something was
	// missing or failed before the check, or the check did not return.
	Undecided bool `json:"undecided,omitempty"`
	// Elapsed is how long the agent took for its answers, in the cell's own
	// time: virtual in a bubble. With Share it is that of the shared answers.
	Elapsed time.Duration `json:"elapsedNs,omitempty"`
	// LateCalls counts the calls the agent made after its cell had ended, as
	// far as they came before this report.
	LateCalls int `json:"lateCalls,omitempty"`
	// Abandoned says that the agent did not end and its goroutine was left behind.
	Abandoned bool `json:"abandoned,omitempty"`
	// Evidence is the observation that decided, if the [KeepPolicy] retains it.
	Evidence *Observation `json:"evidence,omitempty"`
	// Rerun is the line that repeats the cell.
	Rerun string `json:"rerun,omitempty"`

	dropped   int
	warnings  []string
	cancelled bool
	events    []*Observation // those whose faults are still to be counted
}

func (r *CellReport) warn(text string) {
	if text != "" {
		r.warnings = append(r.warnings, text)
	}
}

// A Report is what became of a matrix: its cells in the matrix's order, the
// score and the verdict.
type Report struct {
	Name string `json:"name,omitempty"`
	Seed uint64 `json:"seed,string"`
	// Cells are empty with KeepCounts.
	Cells []CellReport `json:"cells"`
	// Counts are the cells as the score counts them, equal ones as one with
	// their number, in the order in which the first of each comes: all that is
	// retained of a matrix too large for a list of its cells.
	Counts []scoring.Cell `json:"counts,omitempty"`
	// Faults tells of every rule of every scenario how often it was delivered:
	// one that never was has tested nothing.
	Faults []FaultCount `json:"faults,omitempty"`
	// Score has the verdict, the value, and the counts.
	Score scoring.ContractScore `json:"score"`
	// Scenarios and Invariants are the names in order, for tables.
	Scenarios  []string `json:"scenarios"`
	Invariants []string `json:"invariants"`
	Trials     int      `json:"trials"`
	// Shared says that all invariants of a scenario and trial judged the same observation.
	SharedObservations bool `json:"shared,omitempty"`
	// Probed says that the two runs of the statefulness probe were made.
	StateProbed bool `json:"probed,omitempty"`
	// Filtered says that some cells were not run because Around left them out.
	Filtered bool `json:"filtered,omitempty"`
	// Cancelled says that the run ended before all cells had run: the verdict is
	// Fail if a critical invariant broke until then, and else Inconclusive.
	Cancelled bool `json:"cancelled,omitempty"`
	// AllowInconclusive is that of the [RunOptions]: the score and the verdict
	// follow from it and Counts.
	AllowInconclusive int `json:"allowInconclusive,omitempty"`
	// Warnings are sentences about the run as a whole.
	Warnings []string `json:"warnings,omitempty"`
	// Dropped counts the events that did not fit the logs of the cells.
	Dropped int `json:"dropped,omitempty"`
	// Abandoned counts the cells whose agent was left behind.
	Abandoned int `json:"abandoned,omitempty"`
	// Absorbed and Undecided count the cells that are: see [CellReport].
	Absorbed  int `json:"absorbed,omitempty"`
	Undecided int `json:"undecided,omitempty"`
}

// A FaultCount is what became of one rule over the whole matrix. Answers that
// several invariants judged, with [Matrix.ShareObservations], count once.
type FaultCount struct {
	Scenario string `json:"scenario"`
	Rule     string `json:"rule"`   // its name, made up if it was not given one
	Target   string `json:"target"` // its glob
	Fault    string `json:"fault"`  // the kind, once it struck
	// Cells is the number of runs of the agent in which it was delivered,
	// Delivered that of calls, Undelivered that of calls on which it struck without effect.
	Cells       int `json:"cells"`
	Delivered   int `json:"delivered"`
	Undelivered int `json:"undelivered"`
}
