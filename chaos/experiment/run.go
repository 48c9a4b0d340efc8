package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shakedown-go/shakedown/internal/redact"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// Options are the settings of a run. The zero value, and nil, give the defaults.
type Options struct {
	_ struct{}
	// Timeout is the timeout of an activity without one, and of a check of a guard.
	// 0: 5 min.
	Timeout time.Duration
	// RollbackTimeout is the timeout of a rollback without one. 0: 1 min.
	RollbackTimeout time.Duration
}

// run is one run of an experiment.
type run struct {
	exp     *Experiment
	opts    Options
	secrets redactor
	stack   undoStack

	underWay signal // the method's first activity has begun

	mu       sync.Mutex // guards what follows
	journal  *Journal
	undoable bool // an action was started that could have returned an undo
}

// Run runs the experiment: steady state, method, steady state, rollbacks, steady
// state once more. The error is that of [Experiment.Validate]. Everything
// that happens during the run is in the journal instead. Run returns when
// everything that it started has ended or was abandoned. o may be nil.
func Run(ctx context.Context, e *Experiment, o *Options) (*Journal, error) {
	r, err := newRun(e, o)
	if err != nil {
		return nil, err
	}
	r.all(ctx)
	return r.journal, nil
}

func newRun(e *Experiment, o *Options) (*run, error) {
	o = cmp.Or(o, &Options{})
	if err := validate(e, o); err != nil {
		return nil, err
	}
	r := &run{
		exp: e, opts: *o, secrets: redactor{redact.New(e.Secrets, 0)}, underWay: newSignal(),
	}
	r.opts.Timeout = cmp.Or(o.Timeout, 5*time.Minute)
	r.opts.RollbackTimeout = cmp.Or(o.RollbackTimeout, time.Minute)
	r.journal = r.newJournal()
	for _, w := range e.warnings() {
		r.warn("%s", w)
	}
	return r, nil
}

// A stop is the cause with which a run ends its own context.
type stop struct {
	status Status
	err    error
}

func (s *stop) Error() string { return s.err.Error() }
func (s *stop) Unwrap() error { return s.err }

func (r *run) all(ctx context.Context) {
	inTime := ctx // ends with the maximum duration; the rollbacks use ctx
	if d := r.exp.MaxDuration; d > 0 {
		over := &stop{Aborted, fmt.Errorf("the maximum duration of %v is over", d)}
		var cancel context.CancelFunc
		inTime, cancel = context.WithTimeoutCause(ctx, d, over)
		defer cancel()
	}
	r.test(inTime)
	r.rollBack(ctx)
	r.verifyRecovered(ctx)
	j := r.journal
	j.End = time.Now().UTC()
	j.Duration = j.End.Sub(j.Start).Seconds()
}

// test is the run without its rollbacks.
func (r *run) test(ctx context.Context) {
	if !r.verifyBefore(ctx) || r.ended(ctx) {
		return
	}
	r.method(ctx)
	if r.journal.Status != Completed || r.ended(ctx) || r.exp.Hypothesis == nil {
		return
	}
	state := r.verify(ctx)
	if r.ended(ctx) { // a cancelled check says nothing about the system
		return
	}
	r.journal.SteadyStates.After = state
	switch {
	case state.Error != "":
		r.journal.Deviated = true
		r.end(ctx, Failed, fmt.Errorf("the steady state could not be verified after the method: %s", state.Error))
	case !state.Met:
		r.journal.Deviated = true
	}
}

// verifyBefore verifies the steady state before the method, and reports whether the
// method may begin.
func (r *run) verifyBefore(ctx context.Context) bool {
	if r.exp.Hypothesis == nil {
		return true
	}
	state := r.verify(ctx)
	if r.ended(ctx) {
		return false
	}
	r.journal.SteadyStates.Before = state
	switch {
	case state.Error != "":
		r.end(ctx, Failed, fmt.Errorf("the steady state could not be verified before the method: %s", state.Error))
	case !state.Met:
		r.journal.Deviated = true
		r.end(ctx, Failed, errNotSteady)
	}
	return state.Met && state.Error == ""
}

var errNotSteady = errors.New("the system was not in its steady state before the method")

// ended reports whether the context has ended, and if so records why.
func (r *run) ended(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	r.end(ctx, Interrupted, usercode.Sound(context.Cause(ctx)))
	return true
}

// end records how the run ended, unless that is recorded already. If the context
// has ended, its cause takes precedence over status and why.
func (r *run) end(ctx context.Context, status Status, why error) {
	if cause := usercode.Sound(context.Cause(ctx)); cause != nil {
		status, why = Interrupted, cause
		if s, ok := cause.(*stop); ok {
			status = s.status
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.journal.Status == Completed {
		r.journal.Status, r.journal.Why = status, r.secrets.text(why.Error())
	}
}
