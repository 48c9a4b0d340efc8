package experiment

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// undoStack holds the undos that are still to be run. Each is taken once.
type undoStack struct {
	mu    sync.Mutex
	begun bool // the method was started
	phase rollbackPhase
	late  context.Context // for undos that arrive after the rollbacks
	undos []returned
}

// returned is the undo that an action returned.
type returned struct {
	place int // of the action in the method
	of    *Activity
	undo  Undo
}

type rollbackPhase uint8

const (
	collecting  rollbackPhase = iota
	rollingBack               // an undo that arrives runs next
	rolledBack                // an undo that arrives runs at once
)

func (s *undoStack) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// enter begins a phase.
func (s *undoStack) enter(phase rollbackPhase, late context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase, s.late = phase, late
}

// pop takes the undo of the latest action. If there is none and last is set, the
// rollbacks are over.
func (s *undoStack) pop(last bool) (u returned, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.undos) == 0 {
		if last {
			s.phase = rolledBack
		}
		return u, false
	}
	slices.SortFunc(s.undos, func(a, b returned) int { return cmp.Compare(a.place, b.place) })
	u = s.undos[len(s.undos)-1]
	s.undos = s.undos[:len(s.undos)-1]
	return u, true
}

// pushUndo adds the undo of an action of the method. The undo of an abandoned
// action may come after the rollbacks. It is then run at once, on the goroutine of
// that action.
func (r *run) pushUndo(place int, a *Activity, undo Undo) {
	s := &r.stack
	s.mu.Lock()
	phase := s.phase
	if phase != rolledBack {
		s.undos = append(s.undos, returned{place, a, undo})
	}
	s.mu.Unlock()
	if phase == rolledBack {
		_, _, _ = protect(s.late, r.opts.RollbackTimeout, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, undo(ctx) // an error is lost: the journal may have been returned by now
		}, nil)
	}
}

// rollBack undoes the method. Its context does not end with that of the run.
func (r *run) rollBack(ctx context.Context) {
	if !r.stack.begun {
		return
	}
	ctx = context.WithoutCancel(ctx)
	r.stack.enter(rollingBack, ctx)
	r.undoReturned(ctx, len(r.exp.Rollbacks) == 0)
	for i := range slices.Backward(r.exp.Rollbacks) {
		a := &r.exp.Rollbacks[i]
		r.undoOne(ctx, task{Activity: a, kind: cmp.Or(a.Kind, Action), timeout: r.opts.RollbackTimeout})
		r.undoReturned(ctx, i == 0) // of actions that have returned meanwhile
	}
	r.warnNotUndone()
}

func (r *run) undoReturned(ctx context.Context, last bool) {
	for u, ok := r.stack.pop(last); ok; u, ok = r.stack.pop(last) {
		a := &Activity{Name: "undo " + u.of.Name,
			Run: func(ctx context.Context) (any, error) { return nil, u.undo(ctx) }}
		r.undoOne(ctx, task{Activity: a, kind: Action, timeout: r.opts.RollbackTimeout})
	}
}

func (r *run) undoOne(ctx context.Context, t task) {
	rec, _ := r.execute(ctx, t) // the result has the error, and the next rollback runs anyway
	r.journal.Rollbacks = append(r.journal.Rollbacks, rec)
}

// warnNotUndone warns if actions were started that could have returned an undo, and none did.
func (r *run) warnNotUndone() {
	if len(r.journal.Rollbacks) == 0 && r.undoable {
		r.warn("%s", warnNoRollback)
	}
}

// verifyRecovered verifies the steady state once more, after the rollbacks.
func (r *run) verifyRecovered(ctx context.Context) {
	if !r.stack.begun || r.exp.Hypothesis == nil {
		return
	}
	_ = r.wait(ctx, r.exp.Quiet) // a cancelled run does not wait, but is verified
	r.journal.SteadyStates.Recovered = r.verify(context.WithoutCancel(ctx))
}
