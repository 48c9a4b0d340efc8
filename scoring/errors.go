package scoring

import (
	"errors"
	"fmt"
)

var (
	// ErrNoCells is returned by [Contract] for an empty matrix.
	ErrNoCells = errors.New("scoring: no cells: an empty matrix has neither score nor verdict")

	// ErrNoneRan is returned by [Contract] when every cell is [CellNotRun].
	ErrNoneRan = errors.New("scoring: none of the cells ran")

	// ErrNoDecidedCell is returned by [Contract] when cells ran but none of them
	// held or broke. The returned score then has its verdict and its counts, and
	// no value.
	ErrNoDecidedCell = errors.New("scoring: no decided cell: there is nothing to score")
)

// A FieldError names a part of an input that is not allowed. A function that finds
// several problems returns all of them, joined with [errors.Join].
type FieldError struct {
	Field   string // path of the offending value, such as "cells[3].severity"
	Value   string // what was found there
	Allowed string // what is allowed there
}

// Error names the field, the value and what is allowed.
func (e *FieldError) Error() string {
	return fmt.Sprintf("scoring: %s is %s; allowed: %s", e.Field, e.Value, e.Allowed)
}

func invalid(field string, value any, allowed string) error {
	return &FieldError{Field: field, Value: fmt.Sprint(value), Allowed: allowed}
}
