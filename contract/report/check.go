package report

import (
	"errors"
	"fmt"
	"math"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

// check returns every problem that prevents a report from being shown: values
// without a name or a meaning. The engine writes none of them.
func check(r *contract.Report) error {
	if r == nil {
		return &FieldError{Field: "report", Value: "nil", Allowed: "a report"}
	}
	var errs []error
	refuse := func(field string, value any, allowed string) {
		errs = append(errs, &FieldError{Field: field, Value: value, Allowed: allowed})
	}
	if r.Score.Verdict > scoring.Fail {
		refuse("score.verdict", r.Score.Verdict, "inconclusive, pass, fail")
	}
	for i, s := range r.Score.Severities {
		if s.Severity.Weight() == 0 {
			refuse(fmt.Sprintf("score.severities[%d].severity", i), s.Severity, "low, medium, high, critical")
		}
	}
	for _, n := range numbers(r.Score) {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			refuse("score", n, "finite numbers")
			break
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Severity.Weight() == 0 {
			refuse(fmt.Sprintf("cells[%d].severity", i), c.Severity, "low, medium, high, critical")
		}
		if c.State > contract.Undelivered {
			refuse(fmt.Sprintf("cells[%d].state", i), c.State, "not run, held, broken, inconclusive, undelivered")
		}
	}
	return errors.Join(errs...)
}

func numbers(s scoring.ContractScore) []float64 {
	all := []float64{s.Value, s.Interval.Low, s.Interval.High, s.Interval.Level}
	for _, v := range s.Severities {
		all = append(all, v.Interval.Low, v.Interval.High, v.Interval.Level)
	}
	return all
}
