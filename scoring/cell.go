package scoring

import (
	"errors"
	"fmt"
)

// A Cell is the outcome of one invariant in one scenario, of one trial. Several
// cells may bear the same two names.
type Cell struct {
	Scenario  string    `json:"scenario"`  // required
	Invariant string    `json:"invariant"` // required
	Severity  Severity  `json:"severity"`  // the invariant's; required
	State     CellState `json:"state"`

	// Broken says of a CellUndelivered cell that its invariant broke although no
	// fault struck. Such a cell stays out of the score, which measures resilience,
	// but a critical one still fails the verdict. CellBroken implies it; with any
	// other state it is an error.
	Violated bool `json:"broken,omitempty"`

	// Delivered is the number of faults that the cell's agent saw. A held or
	// broken cell of a scenario with rules needs at least one: without it the cell
	// is CellUndelivered, and calling it anything else is an error.
	Delivered int `json:"delivered"`

	// HasRules says that the scenario has faults to deliver. All cells of a
	// scenario agree on it and on AllowUndelivered.
	HasRules bool `json:"hasRules"`

	// AllowUndelivered keeps a scenario none of whose cells saw a fault from
	// making the verdict Inconclusive. That is all it does: an undelivered cell is
	// in neither count of the score all the same.
	AllowUndelivered bool `json:"allowUndelivered,omitempty"`

	// Count is how many equal cells this one stands for, so that a large matrix
	// can be scored without a list of its cells: 1 to 1e9; 0 is 1. Delivered is
	// then that of any of them.
	Count int `json:"count,omitempty"`
}

// maxCount keeps the sums of any matrix one can run far from overflowing.
const maxCount = 1e9

// count is how many cells c stands for.
func (c Cell) count() int { return max(c.Count, 1) }

// decided says whether the cell counts in the score.
func (c Cell) decided() bool { return c.State == CellHeld || c.State == CellBroken }

// failsVerdict says whether the cell alone makes the verdict Fail.
func (c Cell) failsVerdict() bool {
	return c.Severity == Critical && (c.State == CellBroken || c.Violated)
}

// check returns every problem of the cell at index i.
func (c Cell) check(i int) error {
	field := func(name string) string { return fmt.Sprintf("cells[%d].%s", i, name) }
	var errs []error
	if c.Scenario == "" {
		errs = append(errs, invalid(field("scenario"), "empty", "a name"))
	}
	if c.Invariant == "" {
		errs = append(errs, invalid(field("invariant"), "empty", "a name"))
	}
	if c.Severity.Weight() == 0 {
		errs = append(errs, invalid(field("severity"), c.Severity, allowedSeverities))
	}
	if c.State > CellUndelivered {
		errs = append(errs, invalid(field("state"), c.State, allowedStates))
	}
	if c.Violated && c.State != CellBroken && c.State != CellUndelivered {
		errs = append(errs, invalid(field("broken"), "true with state "+c.State.String(), "true with state broken or undelivered"))
	}
	if c.Delivered < 0 {
		errs = append(errs, invalid(field("delivered"), c.Delivered, "0 or more"))
	}
	if c.Count < 0 || c.Count > maxCount {
		errs = append(errs, invalid(field("count"), c.Count, "1 to 1000000000, or 0 for 1"))
	}
	return errors.Join(append(errs, c.checkDelivery(field))...)
}

// checkDelivery refuses a state that contradicts what was delivered: a cell that
// saw no fault must not pass for one that stood it.
func (c Cell) checkDelivery(field func(string) string) error {
	switch {
	case c.decided() && c.HasRules && c.Delivered == 0:
		return invalid(field("state"), c.State.String()+" with rules and none delivered", "undelivered, or delivered of 1 or more")
	case c.State == CellUndelivered && !c.HasRules:
		return invalid(field("state"), "undelivered without rules", "undelivered where the scenario has rules")
	case c.State == CellUndelivered && c.Delivered > 0:
		return invalid(field("state"), fmt.Sprintf("undelivered with %d delivered", c.Delivered), "undelivered with delivered of 0")
	}
	return nil
}
