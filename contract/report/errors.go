package report

import (
	"fmt"
	"math"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

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
