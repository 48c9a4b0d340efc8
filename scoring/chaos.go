package scoring

import "encoding/json"

// A ChaosScore is what faults did to an agent: the weighted share of the cells under rules
// that held, without those that break also in calm.
//
// The calm twin of a cell is the cell of the same invariant, trial and prompts in a scenario
// in which nothing is broken. A cell whose calm twin ran and did not hold says nothing about
// faults, and is left out.
type ChaosScore struct {
	// Value is from 0 to 100, rounded as [ContractScore].Value: 100 × the summed
	// [Severity.Weight] of the held cells ÷ that of the decided ones. It has a meaning only
	// when Decided is above 0. Otherwise JSON leaves it out.
	Value float64 `json:"value"`
	// Total counts the cells under rules: Decided + Inconclusive + Undelivered + NotRun +
	// CalmBroken + CalmUndecided. Passed counts the decided cells that held.
	Passed       int `json:"passed"`
	Decided      int `json:"decided"`
	Total        int `json:"total"`
	Inconclusive int `json:"inconclusive"`
	Undelivered  int `json:"undelivered"` // no fault of a rule was delivered
	NotRun       int `json:"notRun"`
	// CalmBroken and CalmUndecided count the cells that were decided, and are left out
	// because their calm twin broke or was not decided.
	CalmBroken    int `json:"calmBroken"`
	CalmUndecided int `json:"calmUndecided"`
	// Interval is the 95 % interval of Passed/Decided by scenario, unweighted, as that of
	// [ContractScore]. It is zero, and absent in JSON, when no cell was decided.
	Interval Interval `json:"interval,omitzero"`
}

// Chaos scores the cells under rules, without those whose calm twin did not hold; these are
// given by their numbers. Cells and options are as [Contract] takes them. The score has no value if no
// cell was decided, which is no error: the counts say why.
//
// Errors: a [*FieldError] for each contradiction, all joined.
func Chaos(cells []Cell, calmBroken, calmUndecided int, o *ContractOptions) (ChaosScore, error) {
	errs := fields.List()
	checkCells(errs, cells)
	errs.Demand(calmBroken >= 0 && calmBroken <= maxCount, "calmBroken", calmBroken, "0 to 1000000000")
	errs.Demand(calmUndecided >= 0 && calmUndecided <= maxCount, "calmUndecided", calmUndecided, "0 to 1000000000")
	if err := errs.Err(); err != nil {
		return ChaosScore{}, err
	}
	t := tally(cells, o != nil && o.SharedObservations)
	return ChaosScore{Value: t.Value, Passed: t.Passed, Decided: t.Decided,
		Total: t.Total + calmBroken + calmUndecided, Inconclusive: t.Inconclusive, Undelivered: t.Undelivered,
		NotRun: t.NotRun, CalmBroken: calmBroken, CalmUndecided: calmUndecided, Interval: t.Interval}, nil
}

// MarshalJSON writes the score as JSON; without a decided cell the value is left out.
func (s ChaosScore) MarshalJSON() ([]byte, error) {
	type plain ChaosScore
	return json.Marshal(struct {
		Value *float64 `json:"value,omitempty"`
		plain
	}{partOf(s.Value, s.Decided), plain(s)})
}
