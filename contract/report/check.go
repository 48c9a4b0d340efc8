package report

import (
	"fmt"
	"math"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// check returns every problem that prevents a report from being shown: values
// without a name or a meaning. The engine writes none of them.
func check(r *contract.Report) error {
	if r == nil {
		return fields.Wrong("report", fielderror.Found("nil"), "a report")
	}
	errs := fields.List()
	if r.Score.Verdict > scoring.Fail {
		errs.Wrong("score.verdict", r.Score.Verdict, "inconclusive, pass, fail")
	}
	for i, s := range r.Score.Severities {
		if s.Severity.Weight() == 0 {
			errs.Wrong(fmt.Sprintf("score.severities[%d].severity", i), s.Severity, "low, medium, high, critical")
		}
	}
	for _, n := range numbers(r.Score) {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			errs.Wrong("score", n, "finite numbers")
			break
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Severity.Weight() == 0 {
			errs.Wrong(fmt.Sprintf("cells[%d].severity", i), c.Severity, "low, medium, high, critical")
		}
		if c.State > contract.Undelivered {
			errs.Wrong(fmt.Sprintf("cells[%d].state", i), c.State, "not run, held, broken, inconclusive, undelivered")
		}
	}
	return errs.Err()
}

func numbers(s scoring.ContractScore) []float64 {
	all := []float64{s.Value, s.Interval.Low, s.Interval.High, s.Interval.Level}
	for _, v := range s.Severities {
		all = append(all, v.Interval.Low, v.Interval.High, v.Interval.Level)
	}
	return all
}
