package report

import (
	"fmt"
	"math"
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
