package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

type run struct {
	exp     *Experiment
	opts    Options
	secrets *redact.Redactor
	stack   undoStack
	started bool // the method was

	underWay chan struct{} // closed by begin: the method's first activity has begun
	begin    func()

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
	r := &run{exp: e, opts: *o, secrets: redact.New(e.Secrets, 0), underWay: make(chan struct{})}
	r.stack.undos = make([]Undo, len(e.Method))
	r.begin = sync.OnceFunc(func() { close(r.underWay) })
	r.opts.Timeout = cmp.Or(o.Timeout, 5*time.Minute)
	r.opts.RollbackTimeout = cmp.Or(o.RollbackTimeout, time.Minute)
	r.journal = r.newJournal()
	for _, w := range e.warnings() {
		r.warn(w)
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
	r.journal.close()
}

// test is the run without its rollbacks.
func (r *run) test(ctx context.Context) {
	states, verifies := &r.journal.SteadyStates, r.exp.Hypothesis != nil
	if verifies && !r.check(ctx, &states.Before, "before") {
		if states.Before != nil && states.Before.Error == "" {
			r.journal.Deviated = true
			r.end(ctx, Failed, errNotSteady)
		}
		return
	}
	if r.ended(ctx) {
		return
	}
	r.method(ctx)
	if r.journal.Status == Completed && !r.ended(ctx) && verifies && !r.check(ctx, &states.After, "after") {
		r.journal.Deviated = r.journal.Deviated || states.After != nil
	}
}

// check verifies the steady state before or after the method, and reports whether it holds.
func (r *run) check(ctx context.Context, into **SteadyState, when string) bool {
	state := r.verify(ctx)
	if r.ended(ctx) { // a cancelled check says nothing about the system
		return false
	}
	if *into = state; state.Error != "" {
		r.end(ctx, Failed, fmt.Errorf("the steady state could not be verified %s the method: %s", when, state.Error))
	}
	return state.Met
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
		r.journal.Status, r.journal.Why = status, r.secrets.Text(why.Error())
	}
}

// method runs the method, and the guards during it.
func (r *run) method(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.started = true
	over := r.watch(ctx, cancel)
	r.activities(ctx)
	r.begin() // also if no activity began: the watchers wait for it
	over()
	r.ended(ctx)
}

// activities runs the activities in order and waits for those in the background.
func (r *run) activities(ctx context.Context) {
	records := make([]ActivityResult, len(r.exp.Method))
	var background sync.WaitGroup
	begun := 0
	for ; begun < len(records) && ctx.Err() == nil; begun++ {
		t, rec := r.task(begun), &records[begun]
		if t.Background {
			background.Go(func() { *rec, _ = r.execute(ctx, t) }) // the result has the error
		} else {
			*rec, _ = r.execute(ctx, t)
		}
	}
	background.Wait()
	for _, rec := range records[:begun] {
		r.journal.Deviated = r.journal.Deviated || rec.missed()
		r.journal.Run = append(r.journal.Run, rec)
	}
}

func (r *run) task(i int) task {
	a := &r.exp.Method[i]
	return task{
		Activity: a, kind: cmp.Or(a.Kind, Action), timeout: r.opts.Timeout, judge: true,
		began: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.undoable = r.undoable || a.Start != nil
			r.begin()
		},
		undo: func(u Undo) { r.pushUndo(i, u) },
	}
}

func (r *run) verify(ctx context.Context) *SteadyState {
	h := r.exp.Hypothesis
	state := &SteadyState{Met: true, Probes: []ActivityResult{}}
	var failures []string
	for i := range h.Probes {
		a := &h.Probes[i]
		rec, err := r.execute(ctx, task{Activity: a, kind: Probe, timeout: r.opts.Timeout, judge: true, steady: true})
		if err != nil {
			failures = append(failures, rec.Exception)
		}
		state.Met = state.Met && err == nil && !rec.missed()
		state.Probes = append(state.Probes, rec)
	}
	state.Error = strings.Join(failures, "; ")
	return state
}

// undoStack holds the undos that are still to be run. Each is taken once.
type undoStack struct {
	mu    sync.Mutex
	late  context.Context // of undos that arrive after the rollbacks; nil: they are not over
	undos []Undo          // by the places of their actions in the method; nil: there is none
}

// pop takes the undo of the latest action. If there is none, the rollbacks are over
// where late is set.
func (s *undoStack) pop(late context.Context) (place int, undo Undo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for place, undo := range slices.Backward(s.undos) {
		if undo != nil {
			s.undos[place] = nil
			return place, undo
		}
	}
	s.late = late
	return 0, nil
}

// push adds an undo, and returns nil, or the context to run it in if the rollbacks are
// over.
func (s *undoStack) push(place int, undo Undo) (late context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late == nil {
		s.undos[place] = undo
	}
	return s.late
}

// pushUndo adds the undo of an action of the method. The undo of an abandoned
// action may come after the rollbacks. It is then run at once, on the goroutine of
// that action.
func (r *run) pushUndo(place int, undo Undo) {
	if late := r.stack.push(place, undo); late != nil {
		_, _, _ = protect(late, r.opts.RollbackTimeout, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, undo(ctx) // an error is lost: the journal may have been returned by now
		}, nil)
	}
}

// rollBack undoes the method. Its context does not end with that of the run.
func (r *run) rollBack(ctx context.Context) {
	if !r.started {
		return
	}
	ctx = context.WithoutCancel(ctx)
	r.undoReturned(ctx, len(r.exp.Rollbacks) == 0)
	for i := range slices.Backward(r.exp.Rollbacks) {
		a := &r.exp.Rollbacks[i]
		r.undoOne(ctx, task{Activity: a, kind: cmp.Or(a.Kind, Action), timeout: r.opts.RollbackTimeout})
		r.undoReturned(ctx, i == 0) // of actions that have returned meanwhile
	}
	if len(r.journal.Rollbacks) == 0 && r.undoable { // an action was started that could have returned an undo
		r.warn(warnNoRollback)
	}
}

func (r *run) undoReturned(ctx context.Context, last bool) {
	var late context.Context
	if last {
		late = ctx
	}
	for place, undo := r.stack.pop(late); undo != nil; place, undo = r.stack.pop(late) {
		a := &Activity{Name: "undo " + r.exp.Method[place].Name,
			Run: func(ctx context.Context) (any, error) { return nil, undo(ctx) }}
		r.undoOne(ctx, task{Activity: a, kind: Action, timeout: r.opts.RollbackTimeout})
	}
}

func (r *run) undoOne(ctx context.Context, t task) {
	rec, _ := r.execute(ctx, t) // the result has the error, and the next rollback runs anyway
	r.journal.Rollbacks = append(r.journal.Rollbacks, rec)
}

func (r *run) verifyRecovered(ctx context.Context) {
	if !r.started || r.exp.Hypothesis == nil {
		return
	}
	_ = wait(ctx, r.exp.Quiet) // a cancelled run does not wait, but is verified
	r.journal.SteadyStates.Recovered = r.verify(context.WithoutCancel(ctx))
}
