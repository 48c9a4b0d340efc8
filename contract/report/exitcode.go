package report

import (
	"context"
	"errors"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// The exit statuses of [ExitCode], from that of a pass on.
const (
	exitPassed = iota
	exitBroke
	exitInconclusive
	exitWrongUse
	exitInfrastructure
)

// ExitCode returns the exit status of a program that ran a matrix, from the report and the error
// that the run returned. docs/ci.md has a program that uses it.
//
//   - 0: the verdict is Pass; also that of a part, such as a filter or a shard leaves, in which nothing
//     broke: see [contract.Report.Partial].
//   - 1: the verdict is Fail, or a cell broke whose severity is at least failOn; 0: any. A broken
//     trial of a promised rate is no such cell. The rate is one when it was rejected.
//   - 2: neither: the verdict is Inconclusive, as that of a run that was cancelled.
//   - 3: the matrix or what was asked of it is wrong: a [*FieldError], or [contract.ErrNothingSelected],
//     or there is neither report nor error. Another run would end alike.
//   - 4: any other error, such as that of a world that could not be made: another run may do better.
//
// What broke comes first: with an error beside such a report the status is 1. The error of a
// context that ended and [scoring.ErrNoneRan] say no more than the report that comes with them. A
// failOn that is no severity is wrong use.
func ExitCode(r *contract.Report, err error, failOn contract.Severity) int {
	switch field := new(FieldError); {
	case failOn > scoring.Critical:
		return exitWrongUse
	case r != nil && (r.Score.Verdict == scoring.Fail || brokeAtLeast(r, failOn)):
		return exitBroke
	case errors.As(err, &field), errors.Is(err, contract.ErrNothingSelected), r == nil && err == nil:
		return exitWrongUse
	case err != nil && (r == nil || !saysTheReport(err)):
		return exitInfrastructure
	case r.Score.Verdict == scoring.Pass, r.Partial():
		return exitPassed
	}
	return exitInconclusive
}

// saysTheReport reports whether an error says only why a run ended early.
func saysTheReport(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, scoring.ErrNoneRan)
}

// brokeAtLeast reports whether a cell broke, or a promised rate was rejected, of at least the
// severity. The fields know of broken cells also where the report does not keep them.
func brokeAtLeast(r *contract.Report, failOn contract.Severity) bool {
	for _, f := range r.Fields {
		broke := f.Held < f.Decided+f.Unprovoked
		if f.AtLeast != 0 && !f.Copies {
			broke = f.Standing.Decision == stats.Rejected
		}
		if broke && f.Severity >= failOn {
			return true
		}
	}
	rates := decisionsOf(r)
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Violated && c.Severity >= failOn && rates.of(c) == nil {
			return true
		}
	}
	return false
}
