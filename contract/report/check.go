package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// check returns every problem that prevents a report from being shown: values without a
// name. The engine writes none of them.
func check(r *contract.Report) error {
	if r == nil {
		return fields.Wrong("report", fielderror.Found("nil"), "a report")
	}
	errs := fields.List()
	verdict := func(field string, v scoring.Verdict) {
		errs.Demand(v <= scoring.Fail, field, v, "inconclusive, pass, fail")
	}
	severity := func(s contract.Severity, field string, at ...any) {
		if s.Weight() == 0 {
			errs.Wrong(fmt.Sprintf(field, at...)+".severity", s, "low, medium, high, critical")
		}
	}
	verdict("score.verdict", r.Score.Verdict)
	if r.Overall != nil {
		verdict("overall.verdict", r.Overall.Verdict)
	}
	for i, s := range r.Score.Severities {
		severity(s.Severity, "score.severities[%d]", i)
	}
	for i := range r.Fields {
		severity(r.Fields[i].Severity, "fields[%d]", i)
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		severity(c.Severity, "cells[%d]", i)
		if c.State > contract.Undelivered {
			errs.Wrong(fmt.Sprintf("cells[%d].state", i), c.State, "not run, held, broken, inconclusive, undelivered")
		}
	}
	for i, d := range r.Defects {
		severity(d.Severity, "defects[%d]", i)
		for k, b := range d.Breaks {
			severity(b.Severity, "defects[%d].breaks[%d]", i, k)
		}
	}
	return errs.Err()
}

// A FieldError is one problem of a report or of options, such as "cells[3].state" or
// "TextOptions.Width". Functions that find several join them.
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

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return slices.Clip(s)
}
