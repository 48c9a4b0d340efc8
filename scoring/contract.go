package scoring

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// A ContractScore is the result of a matrix.
type ContractScore struct {
	// Value is the contract score, from 0 to 100: 100 × the summed
	// [Severity.Weight] of the held cells ÷ that of the decided cells, rounded to
	// two decimals. It has a meaning only when Decided is above 0; otherwise JSON
	// leaves it out, because an unknown score is not a score of 0.
	Value float64 `json:"value"`

	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why"` // the reason for the verdict, as a phrase without a full stop

	// Total = Decided + Inconclusive + Undelivered + NotRun counts all cells given,
	// and Passed those of the decided that held.
	Passed       int `json:"passed"`
	Decided      int `json:"decided"`
	Total        int `json:"total"`
	Inconclusive int `json:"inconclusive"`
	Undelivered  int `json:"undelivered"`
	NotRun       int `json:"notRun"`

	// Interval is the 95 % [Wilson] interval of Passed/Decided: unweighted, and so
	// not an interval of Value. It covers the chance in which cells were drawn,
	// as if each were drawn on its own. Cells of one scenario are not independent
	// (they share prompts and weather, and trials of a deterministic agent are mere
	// copies), so the truth is less sure than the interval says; and it says
	// nothing about scenarios and invariants that nobody wrote. Zero, and absent
	// in JSON, when no cell was decided.
	Interval Interval `json:"interval,omitzero"`

	// Severities has one entry for every severity among the cells, Critical first.
	Severities []SeverityScore `json:"severities,omitempty"`
}

// A SeverityScore counts the cells of one severity: Passed of Decided held, of
// Total. Interval is that of the share Passed/Decided, with the meaning it has in
// [ContractScore]; zero, and absent in JSON, when none was decided.
type SeverityScore struct {
	Severity Severity `json:"severity"`
	Passed   int      `json:"passed"`
	Decided  int      `json:"decided"`
	Total    int      `json:"total"`
	Interval Interval `json:"interval,omitzero"`
}

// ContractOptions are the settings of [ContractWith]. The zero value is that of
// [Contract].
type ContractOptions struct {
	_ struct{}

	// AllowInconclusive is how many cells may be CellInconclusive before the
	// verdict is. Negative is an error.
	AllowInconclusive int
}

// Contract scores the cells and gives the verdict; no cell may be inconclusive.
// The order of the cells does not matter.
//
// The verdict is Fail when a critical invariant broke, be it in an undelivered
// cell. Else it is Inconclusive when no cell was decided, when a scenario with
// rules delivered no fault in any of its cells (unless it says
// AllowUndelivered), or when more cells were inconclusive than allowed. Else it
// is Pass. Cells that were not run take no part in it.
//
// The value is 100×passed÷total, computed in integers up to the one division,
// whose result is rounded to two decimals, half to even on its exact binary
// value: 0.125 gives 0.12, 0.375 gives 0.38, and 2.675, in binary a shade less, gives 2.67.
//
// Errors: [*FieldError] for each contradiction in the cells, all joined, with
// the zero score; [ErrNoCells]; and, with a score whose verdict and counts are
// set, [ErrNoneRan] and [ErrNoDecidedCell].
func Contract(cells []Cell) (ContractScore, error) {
	return ContractWith(cells, nil)
}

// ContractWith is [Contract] with options; nil is those of Contract.
func ContractWith(cells []Cell, options *ContractOptions) (ContractScore, error) {
	var o ContractOptions
	if options != nil {
		o = *options
	}
	if err := checkContract(cells, o); err != nil {
		return ContractScore{}, err
	}
	s := tally(cells)
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
	var errs []error
	if o.AllowInconclusive < 0 {
		errs = append(errs, invalid("allowInconclusive", o.AllowInconclusive, "0 or more"))
	}
	if len(cells) == 0 {
		errs = append(errs, ErrNoCells)
	}
	first := make(map[string]int) // scenario to the index of its first cell
	total := 0
	for i, c := range cells {
		errs = append(errs, c.check(i))
		if n := min(c.count(), maxCount); total <= math.MaxInt-n { // an int may have 32 bits
			total += n
		} else {
			errs = append(errs, invalid(fmt.Sprintf("cells[%d].count", i), c.Count, fmt.Sprintf("at most %d cells together", math.MaxInt)))
		}
		j, seen := first[c.Scenario]
		if !seen {
			first[c.Scenario] = i
			continue
		}
		if c.HasRules != cells[j].HasRules {
			errs = append(errs, invalid(fmt.Sprintf("cells[%d].hasRules", i), c.HasRules, sameAs(cells, j)))
		}
		if c.AllowUndelivered != cells[j].AllowUndelivered {
			errs = append(errs, invalid(fmt.Sprintf("cells[%d].allowUndelivered", i), c.AllowUndelivered, sameAs(cells, j)))
		}
	}
	return errors.Join(errs...)
}

func sameAs(cells []Cell, j int) string {
	return fmt.Sprintf("the same as in cells[%d], which is of scenario %q too", j, cells[j].Scenario)
}

// tally counts the cells and computes the value and the intervals.
func tally(cells []Cell) ContractScore {
	var s ContractScore
	var by [Critical + 1]SeverityScore
	var held, decided int64 // summed weights: up to three times the cells
	for _, c := range cells {
		n, count := &by[c.Severity], c.count()
		s.Total += count
		n.Total += count
		switch c.State {
		case CellHeld:
			n.Passed += count
			n.Decided += count
			held += int64(count) * int64(c.Severity.Weight())
			decided += int64(count) * int64(c.Severity.Weight())
		case CellBroken:
			n.Decided += count
			decided += int64(count) * int64(c.Severity.Weight())
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
			n.Severity, n.Interval = sev, shareInterval(n.Passed, n.Decided)
			s.Severities = append(s.Severities, n)
		}
	}
	if s.Decided > 0 {
		s.Value = round2(float64(100*held) / float64(decided))
		s.Interval = shareInterval(s.Passed, s.Decided)
	}
	return s
}

func shareInterval(passed, decided int) Interval {
	if decided == 0 {
		return Interval{}
	}
	return wilson(passed, decided, Level95)
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

// MarshalJSON leaves the value out when no cell was decided.
func (s ContractScore) MarshalJSON() ([]byte, error) {
	type fields ContractScore
	out := struct {
		Value *float64 `json:"value,omitempty"`
		fields
	}{fields: fields(s)}
	if s.Decided > 0 {
		out.Value = &s.Value
	}
	return json.Marshal(out)
}
