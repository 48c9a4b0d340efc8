package scoring

import (
	"errors"

	"github.com/shakedown-go/shakedown/internal/fielderror"
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

// A FieldError names a part of an input that is not allowed. It is the one error
// for this in the packages of Shakedown outside chaos, which export it under the
// same name. A function that finds several problems returns all of them, joined
// with [errors.Join].
//
// Package is the package that refuses the input, such as "scoring"; the message
// begins with it. Field is the path of the value, such as "cells[3].severity",
// and Line and Column its place in a text, 0 where it has none. Value is what was
// found there: the value, a text type of its own where words describe it, or nil
// for nothing. Allowed says what is allowed there. Err is the cause, or nil;
// Unwrap returns it.
type FieldError = fielderror.Error

// fields makes the errors of this package.
const fields = fielderror.Package("scoring")
