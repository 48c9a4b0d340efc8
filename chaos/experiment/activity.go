package experiment

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A task is an activity at its place in a run.
type task struct {
	*Activity
	kind    Kind
	timeout time.Duration
	judge   bool       // the tolerance counts
	steady  bool       // without a tolerance the output must be true
	began   func()     // called before the activity is
	undo    func(Undo) // receives the undo of a Start, also a late one
}

// execute runs one activity and records the result. err is the unredacted error of
// the result.
func (r *run) execute(ctx context.Context, t task) (rec ActivityResult, err error) {
	rec = ActivityResult{Activity: r.info(t.Activity, t.kind), Status: ActivitySucceeded, Output: r.secrets.json(nil)}
	err = r.wait(ctx, t.PauseBefore)
	rec.Start = time.Now().UTC()
	if err == nil {
		err = r.perform(ctx, t, &rec)
	}
	rec.End = time.Now().UTC()
	rec.Duration = rec.End.Sub(rec.Start).Seconds()
	if err != nil {
		rec.Status, rec.Exception = ActivityFailed, r.secrets.text(err.Error())
	}
	_ = r.wait(ctx, t.PauseAfter) // the next step reports the end of the context
	return rec, err
}

// perform calls the activity, judges its output, and puts it into the result.
func (r *run) perform(ctx context.Context, t task, rec *ActivityResult) error {
	if t.began != nil {
		t.began()
	}
	timeout := cmp.Or(t.Timeout, t.timeout)
	result, err, abandoned := protect(ctx, timeout, t.call, func(late started) { t.push(late.undo) })
	t.push(result.undo)
	rec.Abandoned = abandoned
	if err != nil {
		return err
	}
	rec.Output = r.secrets.json(result.output)
	if t.judge && (t.Tolerance != nil || t.steady) {
		held, err := r.holds(ctx, t, result.output)
		if err != nil {
			return fmt.Errorf("tolerance: %w", err)
		}
		rec.ToleranceMet = &held
	}
	return nil
}

// holds judges an output.
func (r *run) holds(ctx context.Context, t task, output any) (bool, error) {
	if t.Tolerance == nil {
		return output == any(true), nil
	}
	held, err, _ := protect(ctx, cmp.Or(t.Timeout, t.timeout), func(ctx context.Context) (bool, error) {
		return t.Tolerance.Holds(ctx, output)
	}, nil)
	return held, err
}

// started is what a Start returned.
type started struct {
	output any
	undo   Undo
}

func (t task) call(ctx context.Context) (s started, err error) {
	if t.Start == nil {
		s.output, err = t.Run(ctx)
		return s, err
	}
	s.output, s.undo, err = t.Start(ctx)
	return s, err
}

func (t task) push(undo Undo) {
	if undo != nil && t.undo != nil {
		t.undo(undo)
	}
}

// wait pauses for d, or until the context ends.
func (r *run) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return usercode.Sound(context.Cause(ctx))
	}
}
