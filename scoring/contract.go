package scoring

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
)

// A ContractScore is the result of a matrix.
type ContractScore struct {
	// Value is the contract score, from 0 to 100, rounded to two decimals: 100 ×
	// the summed [Severity.Weight] of the held cells ÷ that of the decided cells.
	// It has a meaning only when Decided is above 0. Otherwise JSON leaves it out,
	// because an unknown score is not a score of 0.
	Value float64 `json:"value"`

	Verdict Verdict `json:"verdict"`
	// Why is the reason for the verdict, as a phrase without a full stop. That of a
	// Pass begins with the number of cells it is about, if some were not run.
	Why string `json:"why"`

	// Total counts all cells given: Decided + Inconclusive + Undelivered + NotRun.
	// Passed counts the decided cells that held.
	Passed       int `json:"passed"`
	Decided      int `json:"decided"`
	Total        int `json:"total"`
	Inconclusive int `json:"inconclusive"`
	Undelivered  int `json:"undelivered"`
	NotRun       int `json:"notRun"`

	// Interval is the 95 % interval of Passed/Decided by scenario: cells of one scenario
	// share prompts and rules, so they are alike. It is the exact one of Clopper and
	// Pearson at the number of independent cells that would say as much, as Clustered of
	// package stats computes it. Where one scenario was decided each cell counts as a draw
	// of its own, which trials of a deterministic agent are not. It is unweighted, and so
	// not an interval of Value. It says nothing about scenarios and invariants that the
	// matrix does not have. It is zero, and absent in JSON, when no cell was decided.
	Interval Interval `json:"interval,omitzero"`

	// Severities has one entry for each severity that occurs among the cells,
	// Critical first.
	Severities []SeverityScore `json:"severities,omitempty"`
}

// A SeverityScore counts the cells of one severity: of Total cells, Decided were
// decided, and Passed of those held. Interval is that of Passed/Decided, as in
// [ContractScore]. It is zero, and absent in JSON, when none was decided.
type SeverityScore struct {
	Severity Severity `json:"severity"`
	Passed   int      `json:"passed"`
	Decided  int      `json:"decided"`
	Total    int      `json:"total"`
	Interval Interval `json:"interval,omitzero"`
}

// ContractOptions are the settings of [Contract], [Chaos] and [Replay].
type ContractOptions struct {
	_ struct{}

	// AllowInconclusive is the number of CellInconclusive cells that do not yet
	// make the verdict Inconclusive. A negative one is an error.
	AllowInconclusive int
	// SharedObservations says that all invariants of a trial judged one answer: intervals then
	// count no more draws than answers.
	SharedObservations bool
}

// Contract scores the cells and gives the verdict. One inconclusive cell more than is allowed makes a
// verdict that is not Fail Inconclusive. The order of the cells does not matter.
//
// The verdict is Fail when a critical invariant broke, also in an undelivered cell.
// Else it is Inconclusive in four cases: no cell was decided; no cell of a scenario with
// rules was, whatever is allowed; a scenario with rules delivered no fault in any of its
// cells, and does not set AllowUndelivered; or more cells were inconclusive than allowed.
// Else it is Pass. Cells that were
// not run do not count.
//
// The value is 100×passed÷total, of integers with one division. The result is
// rounded to two decimals, half to even on its exact binary value: 0.125 gives
// 0.12, 0.375 gives 0.38. 2.675, in binary slightly less, gives 2.67.
//
// Errors: a [*FieldError] for each contradiction in the cells, all joined;
// [ErrNoCells]; [ErrNoneRan] and [ErrNoDecidedCell]. With the last two the verdict
// and the counts of the score are set; with the others the score is zero.
//
// nil options mean the zero value. A negative option is a [*FieldError] too.
func Contract(cells []Cell, options *ContractOptions) (ContractScore, error) {
	o := *cmp.Or(options, new(ContractOptions))
	if err := checkContract(cells, o); err != nil {
		return ContractScore{}, err
	}
	s := tally(cells, o.SharedObservations)
	s.Verdict, s.Why = judge(cells, s, o)
	switch {
	case s.NotRun == s.Total:
		return s, ErrNoneRan
	case s.Decided == 0:
		return s, ErrNoDecidedCell
	}
	return s, nil
}

// checkContract returns every problem of the input.
func checkContract(cells []Cell, o ContractOptions) error {
	errs := fields.List()
	errs.Demand(o.AllowInconclusive >= 0, "allowInconclusive", o.AllowInconclusive, "0 or more")
	if len(cells) == 0 {
		errs.Add(ErrNoCells)
	}
	first := make(map[string]int) // scenario to the index of its first cell
	for i, c := range cells {
		errs.Add(c.check(i))
		j, seen := first[c.Scenario]
		if !seen {
			first[c.Scenario] = i
			continue
		}
		if c.HasRules != cells[j].HasRules {
			errs.Wrong(fmt.Sprintf("cells[%d].hasRules", i), c.HasRules, sameAs(cells, j))
		}
		if c.AllowUndelivered != cells[j].AllowUndelivered {
			errs.Wrong(fmt.Sprintf("cells[%d].allowUndelivered", i), c.AllowUndelivered, sameAs(cells, j))
		}
	}
	return errs.Err()
}

func sameAs(cells []Cell, j int) string {
	return fmt.Sprintf("the same as in cells[%d], which is of scenario %q too", j, cells[j].Scenario)
}

// tally counts the cells and computes the value and the intervals.
func tally(cells []Cell, shared bool) ContractScore {
	var s ContractScore
	var by [Critical + 1]SeverityScore
	var held, decided int64 // summed weights: up to three times the cells
	for _, c := range cells {
		n, count := &by[c.Severity], c.count()
		weight := int64(count) * int64(c.Severity.Weight())
		s.Total += count
		n.Total += count
		switch c.State {
		case CellHeld:
			n.Passed += count
			held += weight
			fallthrough
		case CellBroken:
			n.Decided += count
			decided += weight
		case CellInconclusive:
			s.Inconclusive += count
		case CellUndelivered:
			s.Undelivered += count
		case CellNotRun:
			s.NotRun += count
		}
	}
	for sev := Critical; sev >= Low; sev-- {
		n := by[sev]
		s.Passed += n.Passed
		s.Decided += n.Decided
		if n.Total > 0 {
			n.Severity, n.Interval = sev, byScenario(cells, sev, shared)
			s.Severities = append(s.Severities, n)
		}
	}
	if s.Decided > 0 {
		s.Value = round2(float64(100*held) / float64(decided))
		s.Interval = byScenario(cells, 0, shared)
	}
	return s
}

// byScenario is the interval of the decided cells of a severity; 0: of all. If observations are
// shared, there are not more draws than decided cells of one invariant in each scenario.
func byScenario(cells []Cell, severity Severity, shared bool) Interval {
	var c clustered
	var draws int
	of := make(map[[2]string]int) // decided, by scenario and invariant; and the most of a scenario
	for _, cell := range cells {
		if !cell.decided() || severity != 0 && cell.Severity != severity {
			continue
		}
		passed := 0
		if cell.State == CellHeld {
			passed = cell.count()
		}
		c.add(cell.Scenario, passed, cell.count())
		if shared {
			at, most := [2]string{cell.Scenario, cell.Invariant}, [2]string{cell.Scenario}
			of[at] += cell.count()
			draws += max(0, of[at]-of[most])
			of[most] = max(of[most], of[at])
		}
	}
	return c.interval(draws)
}

// round2 rounds to two decimals through the decimal form, because strconv works
// on the exact binary value and breaks ties to even; v×100 would round twice.
func round2(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 2, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// MarshalJSON writes the score as JSON; without a decided cell the value is left
// out.
func (s ContractScore) MarshalJSON() ([]byte, error) {
	type fields ContractScore
	return json.Marshal(struct {
		Value *float64 `json:"value,omitempty"`
		fields
	}{partOf(s.Value, s.Decided), fields(s)})
}
