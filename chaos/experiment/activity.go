package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
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
	rec = ActivityResult{Status: ActivitySucceeded, Output: r.json(nil), Start: time.Now().UTC(),
		Activity: ActivityInfo{Name: r.secrets.Text(t.Name), Kind: t.kind, Background: t.Background}}
	err = r.perform(ctx, t, &rec)
	rec.End = time.Now().UTC()
	rec.Duration = rec.End.Sub(rec.Start).Seconds()
	if err != nil {
		rec.Status, rec.Exception = ActivityFailed, r.secrets.Text(err.Error())
	}
	_ = wait(ctx, t.PauseAfter) // the next step reports the end of the context
	return rec, err
}

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
	rec.Output = r.json(result.output)
	if t.judge && (t.Tolerance != nil || t.steady) {
		held, err := r.holds(ctx, t, result.output)
		if err != nil {
			return fmt.Errorf("tolerance: %w", err)
		}
		rec.ToleranceMet = &held
	}
	return nil
}

func (r *run) holds(ctx context.Context, t task, output any) (bool, error) {
	if t.Tolerance == nil {
		return output == any(true), nil
	}
	held, err, _ := protect(ctx, cmp.Or(t.Timeout, t.timeout), func(ctx context.Context) (bool, error) {
		return t.Tolerance.Holds(ctx, output)
	}, nil)
	return held, err
}

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
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d) // a context that shows a deadline may outlive it
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return usercode.Sound(context.Cause(ctx))
}

// A Guard is a stop condition. It is polled while the method runs, first at its
// start. When its check returns an error, the method ends and the run is aborted. A
// check that panics or does not end in time aborts the run too. [StopUnless] makes one of a probe.
type Guard struct {
	_     struct{}
	Name  string // required
	Check func(ctx context.Context) error
	// Every is the time between two checks. 0: 1 s.
	Every time.Duration
}

// watch starts the guards, which are polled during the method. They wait until the
// method's first activity has begun: otherwise the scheduler would decide whether a
// guard can prevent it. The returned function ends them and waits for their end.
func (r *run) watch(ctx context.Context, cancel context.CancelCauseFunc) (over func()) {
	var watchers sync.WaitGroup
	guarded, stopGuards := context.WithCancel(ctx)
	for _, g := range r.exp.Guards {
		watchers.Go(func() {
			<-r.underWay
			r.guard(guarded, cancel, g)
		})
	}
	return func() {
		stopGuards()
		watchers.Wait()
	}
}

func (r *run) guard(ctx context.Context, cancel context.CancelCauseFunc, g Guard) {
	t := time.NewTicker(cmp.Or(g.Every, time.Second))
	defer t.Stop()
	for {
		_, err, _ := protect(ctx, r.opts.Timeout, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, g.Check(ctx)
		}, nil)
		if ctx.Err() != nil { // the method is over
			return
		}
		if err != nil {
			cancel(&stop{Aborted, fmt.Errorf("guard %q: %w", g.Name, err)})
			return
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// The errors of user code that does not return.
var (
	// ErrTimeout is matched by the error of an activity that exceeded its timeout.
	ErrTimeout = errors.New("experiment: not over in time")
	// ErrExited is matched by the error of an activity that ended its goroutine.
	ErrExited = errors.New("experiment: it ended its goroutine (t.FailNow or runtime.Goexit)")
)

// A PanicError is a panic of user code. Value is what it panicked with, Stack that
// of the goroutine that panicked. Its text is the value without the stack; Unwrap
// returns the value if it is an error.
type PanicError = usercode.PanicError

// protect runs fn on a goroutine of its own under a deadline. If the context ends
// and fn does not return within a second, fn is abandoned; its result still counts
// within that time. When it returns later, late (nil: none) is called with its value
// on that goroutine.
func protect[T any](ctx context.Context, timeout time.Duration, fn func(context.Context) (T, error),
	late func(T)) (value T, err error, abandoned bool) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: %v", ErrTimeout, timeout))
	defer cancel()
	if ctx.Err() != nil {
		return value, usercode.Sound(context.Cause(ctx)), false
	}
	value, err,
		abandoned = usercode.Do(ctx,
		usercode.Options[T]{Exited: ErrExited, Grace: usercode.Patient(usercode.Grace), Late: late}, fn)
	if abandoned {
		return value, fmt.Errorf("left behind: %w", err), true
	}
	return value, why(ctx, err), false
}

// why adds the cause to an error that only says that the context has ended.
func why(ctx context.Context, err error) error {
	cause := usercode.Sound(context.Cause(ctx))
	if err != nil && cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", err, cause)
	}
	return err
}
