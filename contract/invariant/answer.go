package invariant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/contract"
)

// NotEmpty holds when the answer has visible text. White space,
// control characters and characters without width do not count.
func NotEmpty(id string, severity contract.Severity) contract.Invariant {
	d := newDraft("NotEmpty", id, severity)
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if blank(o.Response) {
			return fmt.Errorf("the answer is empty: %s", quote(o.Response))
		}
		return nil
	})
}

// Completes holds when the agent returned without an error: no time-out, no
// panic, no hang. It does not look at the answer, which may be empty; that is [NotEmpty].
func Completes(id string, severity contract.Severity) contract.Invariant {
	d := newDraft("Completes", id, severity)
	d.JudgesErrors = true
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if o.Err == nil {
			return nil
		}
		if unfinished(o.Err) {
			return fmt.Errorf("the agent did not return: %w", o.Err)
		}
		return fmt.Errorf("the agent returned an error: %w", o.Err)
	})
}

func unfinished(err error) bool {
	var panicked *contract.PanicError
	return errors.Is(err, contract.ErrTimeout) || errors.Is(err, contract.ErrHung) ||
		errors.Is(err, contract.ErrFailNow) || errors.As(err, &panicked)
}

// Within holds when the answer took at most limit, in the cell's own time: virtual
// in a bubble. An error breaks it, however fast it came.
func Within(id string, severity contract.Severity, limit time.Duration) contract.Invariant {
	d := newDraft("Within", id, severity)
	d.demand(limit > 0, "limit", limit, "a duration above 0")
	return d.judge(func(_ context.Context, o *contract.Observation) error {
		if o.Elapsed > limit {
			return fmt.Errorf("the answer took %v, %v longer than the %v allowed", o.Elapsed, o.Elapsed-limit, limit)
		}
		return nil
	})
}
