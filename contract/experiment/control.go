package experiment

import (
	"context"
	"fmt"
	"slices"
)

// A Control is a pair of hooks, called before and after the experiment, each
// verification of the hypothesis, the method, the rollbacks and every activity. Of
// several controls, the first is called first before and last after. Hooks of
// background activities and of checks during the method are called concurrently.
//
// An error of Before prevents the step: an experiment or method is aborted, a
// hypothesis is not verified, an activity has failed. Rollbacks still run. An error
// of After becomes a warning in the journal. Panics and hangs count as errors.
type Control struct {
	_      struct{}
	Name   string // required
	Before func(ctx context.Context, m Moment) error
	After  func(ctx context.Context, m Moment) error
	// Local restricts a control to the experiment, hypothesis or activity that
	// declares it. Otherwise it also covers everything below.
	Local bool
}

// A Moment is the step of a run at which a [Control] is called.
type Moment struct {
	Level Level
	Name  string // of the experiment, hypothesis or activity

	ActivityResult *ActivityResult // the result of the activity; nil before it
	SteadyState    *SteadyState    // the result of the hypothesis; nil before it
	Journal        *Journal        // of the whole run; nil until the experiment is over
}

// A Level is the kind of step that a control is called around.
type Level string

// The levels.
const (
	LevelExperiment Level = "experiment"
	LevelHypothesis Level = "hypothesis"
	LevelMethod     Level = "method"
	LevelRollback   Level = "rollback"
	LevelActivity   Level = "activity"
)

// spreading returns the controls that are not Local, which cover the steps below.
func spreading(controls []Control) []Control {
	return slices.DeleteFunc(slices.Clone(controls), func(c Control) bool { return c.Local })
}

// before calls the hooks in order, and stops at the first error.
func (r *run) before(ctx context.Context, controls []Control, m Moment) error {
	if r.opts.Dry&DryControls != 0 {
		return nil
	}
	for _, c := range controls {
		if err := r.hook(ctx, c, c.Before, m); err != nil {
			return err
		}
	}
	return nil
}

// after calls the hooks in reverse order.
func (r *run) after(ctx context.Context, controls []Control, m Moment) {
	if r.opts.Dry&DryControls != 0 {
		return
	}
	for _, c := range slices.Backward(controls) {
		if err := r.hook(ctx, c, c.After, m); err != nil {
			r.warn("%v", err)
		}
	}
}

func (r *run) hook(ctx context.Context, c Control, fn func(context.Context, Moment) error, m Moment) error {
	if fn == nil {
		return nil
	}
	_, err, _ := protect(r.scoped(ctx), r.opts.Timeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, fn(ctx, m)
	}, nil)
	if err != nil {
		return fmt.Errorf("control %q: %w", c.Name, err)
	}
	return nil
}
