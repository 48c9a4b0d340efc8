package scoring

import (
	"fmt"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A Cell is the outcome of one invariant in one scenario, of one trial. Several
// cells may have the same two names. The zero value is refused: names and severity
// are required.
type Cell struct {
	Scenario  string    `json:"scenario"`  // required
	Invariant string    `json:"invariant"` // required
	Severity  Severity  `json:"severity"`  // the invariant's; required
	State     CellState `json:"state"`

	// Violated reports that the invariant of a CellUndelivered cell broke although
	// no fault was delivered. Such a cell stays out of the score, which measures
	// resilience, but a critical one still fails the verdict. CellBroken implies
	// it; with any other state it is an error.
	Violated bool `json:"broken,omitempty"`

	// Delivered is the number of faults that were delivered in the cell, 0 or more.
	// A held or broken cell of a scenario with rules needs at least one: without it
	// the cell is CellUndelivered, and calling it anything else is an error.
	Delivered int `json:"delivered"`

	// HasRules reports whether the scenario has faults to deliver. All cells of a
	// scenario agree on it and on AllowUndelivered.
	HasRules bool `json:"hasRules"`

	// AllowUndelivered accepts a scenario that delivered no fault in any cell: it
	// does not make the verdict Inconclusive. Its undelivered cells still stay out
	// of both counts of the score.
	AllowUndelivered bool `json:"allowUndelivered,omitempty"`

	// Count is the number of equal cells that this one stands for, 1 to 1e9; 0 is
	// 1. With it a large matrix is scored without a list of its cells. Delivered is
	// that of one of them.
	Count int `json:"count,omitempty"`
}

// maxCount keeps the sums of every matrix that can be run far from an overflow.
const maxCount = 1e9

// count is the number of cells that c stands for.
func (c Cell) count() int { return max(c.Count, 1) }

// decided reports whether the cell counts in the score.
func (c Cell) decided() bool { return c.State == CellHeld || c.State == CellBroken }

// failsVerdict reports whether the cell alone makes the verdict Fail.
func (c Cell) failsVerdict() bool {
	return c.Severity == Critical && (c.State == CellBroken || c.Violated)
}

// checkCells adds every problem of the cells.
func checkCells(errs *fielderror.List, cells []Cell) {
	for i, c := range cells {
		errs.Add(c.check(i))
	}
}

// check returns every problem of the cell at index i.
func (c Cell) check(i int) error {
	field := func(name string) string { return fmt.Sprintf("cells[%d].%s", i, name) }
	errs := fields.List()
	if c.Scenario == "" {
		errs.Wrong(field("scenario"), fielderror.Found("empty"), "a name")
	}
	if c.Invariant == "" {
		errs.Wrong(field("invariant"), fielderror.Found("empty"), "a name")
	}
	if c.Severity.Weight() == 0 {
		errs.Wrong(field("severity"), c.Severity, severities.Allowed())
	}
	if c.State > CellUndelivered {
		errs.Wrong(field("state"), c.State, cellStates.Allowed())
	}
	if c.Violated && c.State != CellBroken && c.State != CellUndelivered {
		errs.Wrong(field("broken"), fielderror.Found("true with state "+c.State.String()),
			"true with state broken or undelivered")
	}
	if c.Delivered < 0 {
		errs.Wrong(field("delivered"), c.Delivered, "0 or more")
	}
	if c.Count < 0 || c.Count > maxCount {
		errs.Wrong(field("count"), c.Count, "1 to 1000000000, or 0 for 1")
	}
	errs.Add(c.checkDelivery(field))
	return errs.Err()
}

// checkDelivery refuses a state that contradicts what was delivered: a cell without
// a delivered fault must not count as one that held under it.
func (c Cell) checkDelivery(field func(string) string) error {
	switch {
	case c.decided() && c.HasRules && c.Delivered == 0:
		return fields.Wrong(field("state"), fielderror.Found(c.State.String()+" with rules and none delivered"),
			"undelivered, or delivered of 1 or more")
	case c.State == CellUndelivered && !c.HasRules:
		return fields.Wrong(field("state"), fielderror.Found("undelivered without rules"),
			"undelivered where the scenario has rules")
	case c.State == CellUndelivered && c.Delivered > 0:
		return fields.Wrong(field("state"), fielderror.Found(fmt.Sprintf("undelivered with %d delivered", c.Delivered)),
			"undelivered with delivered of 0")
	}
	return nil
}
