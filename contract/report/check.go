package report

import (
	"fmt"
	"math"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
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
	checkFinite(errs, "score", append(numbers(r.Score), scoreNumbers(r)...)...)
	if s := r.ByScenario; s != nil {
		checkFinite(errs, "byScenario", s.Value, s.Effective, s.DesignEffect, s.Interval.Low, s.Interval.High,
			s.Interval.Level)
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		at := fmt.Sprintf("fields[%d]", i)
		checkFinite(errs, at, f.AtLeast, f.Poor, f.Standing.Trials, f.Interval.Low, f.Interval.High, f.Interval.Level)
		if f.Severity.Weight() == 0 {
			errs.Wrong(at+".severity", f.Severity, "low, medium, high, critical")
		}
		if f.Standing.Decision > stats.Rejected {
			errs.Wrong(at+".standing.decision", f.Standing.Decision, "open, accepted, rejected")
		}
	}
	if r.Overall != nil && r.Overall.Verdict > scoring.Fail {
		errs.Wrong("overall.verdict", r.Overall.Verdict, "inconclusive, pass, fail")
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
	for i, d := range r.Defects {
		if d.Severity.Weight() == 0 {
			errs.Wrong(fmt.Sprintf("defects[%d].severity", i), d.Severity, "low, medium, high, critical")
		}
		for k, b := range d.Breaks {
			if b.Severity.Weight() == 0 {
				errs.Wrong(fmt.Sprintf("defects[%d].breaks[%d].severity", i, k), b.Severity,
					"low, medium, high, critical")
			}
		}
		if in := d.Rate; in != nil && !(finite(in.Low) && finite(in.High) && finite(in.Level)) {
			errs.Wrong(fmt.Sprintf("defects[%d].rate", i), fielderror.Found(fmt.Sprint(*in)), "finite numbers")
		}
	}
	return errs.Err()
}

func finite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

func checkFinite(errs *fielderror.List, field string, numbers ...float64) {
	for _, n := range numbers {
		if !finite(n) {
			errs.Wrong(field, n, "finite numbers")
			return
		}
	}
}

func numbers(s scoring.ContractScore) []float64 {
	all := []float64{s.Value, s.Interval.Low, s.Interval.High, s.Interval.Level}
	for _, v := range s.Severities {
		all = append(all, v.Interval.Low, v.Interval.High, v.Interval.Level)
	}
	return all
}

// A FieldError is one problem of a report, of options, or of the input of
// [FromJSON], such as "cells[3].state" or "TextOptions.Width". Functions that find
// several join them.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("report")

// limit resolves an option that bounds a number: 0 means the default, a negative
// one means no limit.
func limit(option, byDefault int) int {
	switch {
	case option == 0:
		return byDefault
	case option < 0:
		return math.MaxInt
	}
	return option
}

// written wraps an error of writing a report.
func written(err error) error {
	if err != nil {
		return fmt.Errorf("report: write: %w", err)
	}
	return nil
}
