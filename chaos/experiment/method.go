package experiment

import (
	"cmp"
	"context"
	"sync"
)

// method runs the method, and the guards during it.
func (r *run) method(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.stack.begin()
	over := r.watch(ctx, cancel)
	r.activities(ctx)
	r.underWay.fire() // also if no activity began: the watchers wait for it
	over()
	r.ended(ctx)
}

// activities runs the activities in order and waits for those in the background.
func (r *run) activities(ctx context.Context) {
	records := make([]*ActivityResult, len(r.exp.Method))
	var background sync.WaitGroup
	for i := range r.exp.Method {
		if ctx.Err() != nil {
			break
		}
		t := r.task(i)
		records[i] = new(ActivityResult)
		if i > 0 || t.PauseBefore > 0 { // guards also run during a pause before the first activity
			r.underWay.fire()
		}
		if t.Background {
			background.Go(func() { r.activity(ctx, t, records[i]) })
		} else {
			r.activity(ctx, t, records[i])
		}
	}
	background.Wait()
	for _, rec := range records {
		if rec != nil {
			r.journal.Run = append(r.journal.Run, *rec)
		}
	}
}

// activity runs one activity of the method.
func (r *run) activity(ctx context.Context, t task, rec *ActivityResult) {
	*rec, _ = r.execute(ctx, t) // the result has the error
	if rec.ToleranceMet != nil && !*rec.ToleranceMet {
		r.deviate()
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
			r.underWay.fire()
		},
		undo: func(u Undo) { r.pushUndo(i, a, u) },
	}
}

func (r *run) deviate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.journal.Deviated = true
}
