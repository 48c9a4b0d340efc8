package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/experiment"
)

// StopOnErrorRate is a guard that stops the run when the share of failed calls exceeds max, from 0 to
// below 1, and the total of calls is at least calls. count returns both numbers, over a
// period of its choice.
func StopOnErrorRate(max float64, calls int,
	count func(ctx context.Context) (failed, total int, err error)) experiment.Guard {
	return experiment.Guard{Name: "error rate", Check: func(ctx context.Context) error {
		if !(max >= 0 && max < 1) || calls < 0 || count == nil {
			return fmt.Errorf("probe: error rate above %v of %d calls; allowed: from 0 to below 1, of 0 or more, and a function", max, calls)
		}
		failed, total, err := count(ctx)
		if err != nil {
			return err
		}
		if total == 0 || total < calls || float64(failed) <= max*float64(total) {
			return nil
		}
		return fmt.Errorf("%d of %d calls failed, more than %.4g%%", failed, total, 100*max)
	}}
}

// Outcomes counts the events that an injector has kept, for [StopOnErrorRate]: of all
// calls with [chaos.InjectorOptions.RecordAll], else only of those that a rule matched.
func Outcomes(in *chaos.Injector) func(ctx context.Context) (failed, total int, err error) {
	return func(context.Context) (failed, total int, err error) {
		if in == nil {
			return 0, 0, errors.New("probe: the injector is nil")
		}
		for _, e := range in.Events() {
			total++
			if e.Outcome != chaos.OutcomeOK {
				failed++
			}
		}
		return failed, total, nil
	}
}

// StopUnless is a guard that stops the run when the probe fails or misses its tolerance. Without a
// tolerance its output must be true.
func StopUnless(p experiment.Activity) experiment.Guard {
	return experiment.Guard{Name: p.Name, Check: func(ctx context.Context) error {
		if p.Run == nil {
			return errors.New("probe: a probe without Run")
		}
		if p.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, p.Timeout)
			defer cancel()
		}
		output, err := p.Run(ctx)
		if err != nil {
			return err
		}
		held := output == any(true)
		if p.Tolerance != nil {
			if held, err = p.Tolerance.Holds(ctx, output); err != nil {
				return err
			}
		}
		if !held {
			return fmt.Errorf("out of tolerance: %v", output)
		}
		return nil
	}}
}
