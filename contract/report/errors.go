package report

import (
	"errors"
	"fmt"
	"math"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
)

// A FieldError is one problem of a report, of options, or of the input of
// [FromJSON]. Functions that find several join them.
type FieldError struct {
	Field   string // such as "cells[3].state" or "TextOptions.Width"
	Value   any    // what was found there; nil: nothing
	Allowed string // what is allowed there
	Err     error  // the cause, if any
}

// Error names the field, the value and what is allowed.
func (e *FieldError) Error() string {
	s := "report: " + e.Field
	switch {
	case e.Value != nil:
		s += fmt.Sprintf(" is %v", e.Value)
	case e.Err == nil:
		s += " is missing"
	}
	if e.Err != nil {
		s += fmt.Sprintf(": %v", e.Err)
	}
	if e.Allowed != "" {
		s += "; allowed: " + e.Allowed
	}
	return s
}

// Unwrap returns the cause, or nil.
func (e *FieldError) Unwrap() error { return e.Err }

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
