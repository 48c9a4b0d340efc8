package report

import (
	"fmt"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

func check(r *contract.Report) error {
	if r == nil {
		return fields.Wrong("report", fielderror.Found("nil"), "a report")
	}
	return nil
}

// A FieldError is one problem of a report or of options, such as "cells[3].state" or
// "TextOptions.Width". Functions that find several join them.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("report")

func written(err error) error {
	if err != nil {
		return fmt.Errorf("report: write: %w", err)
	}
	return nil
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}
