package contract

import "github.com/shakedown-go/shakedown/scoring"

// A Defect is one way in which the agent breaks: the fewest faults that break it, what
// they break, and facts. The engine reports broken cells; package contract/search
// finds the defects behind them. A defect changes neither a cell nor the verdict.
type Defect struct {
	// Sentence says which faults break it, such as "orders.get fails twice in a row".
	Sentence string `json:"sentence"`
	// Severity is the greatest of what it breaks.
	Severity Severity `json:"severity"`
	// Deliveries are the fewest faults that break it, in the order of their calls. None: it
	// breaks without any fault, or no set of faults is known, as Difference says.
	Deliveries []Delivery `json:"deliveries,omitempty"`
	// Breaks are the invariants that it breaks, the most severe first.
	Breaks []Break `json:"breaks,omitempty"`
	// Facts are sentences that were read off runs and events, such as "when it only fails,
	// it holds".
	Facts []string `json:"facts,omitempty"`
	// Rerun is the command line that repeats it; empty: there is none.
	Rerun string `json:"rerun,omitempty"`
	// Cut reports whether a budget ended the search for fewer or milder faults.
	Cut bool `json:"cut,omitempty"`
	// Difference is where two runs under the same faults first differed; empty: they did
	// not. Without Deliveries, the cells did not break again.
	Difference string `json:"difference,omitempty"`
	// Broke and Runs are how many runs under these faults broke, of how many, and Rate is
	// the interval of that share. A defect of a repeatable agent has none of them.
	Broke int               `json:"broke,omitempty"`
	Runs  int               `json:"runs,omitempty"`
	Rate  *scoring.Interval `json:"rate,omitempty"`
	// Unconfirmed reports whether these runs did not break often enough to be sure.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
}

// A Break is an invariant that a [Defect] breaks, at its targets. Where these differ, it has an
// entry for each.
type Break struct {
	// ID is that of the file that keeps the defect for this invariant: 8 hexadecimal
	// digits. Empty: it is not kept.
	ID        string   `json:"id,omitempty"`
	Invariant string   `json:"invariant"`
	Severity  Severity `json:"severity"`
	// Why is the reason in the first of its cells.
	Why string `json:"why"`
	// Cells are the broken cells of the report that the defect explains: each met its faults,
	// call by call. None: the matrix has no such cell, as that of a sweep, or those that met the
	// faults met these of another defect too and are counted there.
	Cells []Cell `json:"cells,omitempty"`
	// At names the targets of the faults in these cells, where the sentence names others or a
	// choice of several.
	At []string `json:"at,omitempty"`
}

// A Delivery is one rule whose fault was delivered on one call.
type Delivery struct {
	Rule   string `json:"rule"`
	Fault  string `json:"fault"` // the kind
	Target string `json:"target"`
	Lane   string `json:"lane,omitempty"`
	// Key and Occurrence are the exact coordinates of the call, and Ordinal its number in
	// lane and target, from 0; Attempt is its try, from 1. All are as in [chaos.Event].
	Key        uint64 `json:"key,string"`
	Occurrence uint64 `json:"occurrence,string"`
	Ordinal    uint64 `json:"ordinal,string"`
	Attempt    int    `json:"attempt"`
}

// A GoalCount counts the runs in which a [Goal] was reached.
type GoalCount struct {
	Goal string `json:"goal"`
	// Scenarios are those in whose cells it may be reached; none: all.
	Scenarios []string `json:"scenarios,omitempty"`
	// Cells is the number of runs of the agent in which it was reached, of Of runs. A run
	// that several invariants judged counts once.
	Cells int `json:"cells"`
	Of    int `json:"of"`
	// Failed is how its function failed, as by a panic; empty: it did not.
	Failed string `json:"failed,omitempty"`
}

// A CoverCount counts the calls on which faults were delivered, over the whole matrix.
type CoverCount struct {
	Target string `json:"target"`
	// Fault is the kind. Empty: the target is a tool of a world on which no fault was
	// delivered, in a matrix with rules whose cells all ran.
	Fault string `json:"fault"`
	// Try is that of the calls: 1, 2, or 3 for any later one; 0 without a fault. It is
	// [chaos.WithAttempt]'s, else 1 plus the directly preceding tries that failed. Equal calls
	// that overlap in the cell's own time are one try; it fails if none of them succeeds.
	Try       int `json:"try"`
	Delivered int `json:"delivered"`
	// Uncalled reports whether no cell called the tool.
	Uncalled bool `json:"uncalled,omitempty"`
}
