package experiment

import (
	"context"
	"sync"
)

// method runs the method, and during it the guards and the checks of the steady
// state.
func (r *run) method(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := Moment{Level: LevelMethod, Name: r.exp.Name}
	controls := spreading(r.opts.Controls)
	if err := r.before(ctx, controls, m); err != nil {
		r.end(ctx, Aborted, err)
		return
	}
	r.stack.begin()
	r.scope.begin()
	over := r.watch(ctx, cancel)
	r.activities(ctx)
	r.underWay.fire() // also if no activity began: the watchers wait for it
	over()
	r.ended(ctx)
	r.after(context.WithoutCancel(ctx), controls, m)
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
	controls := append(spreading(r.opts.Controls), a.Controls...)
	return task{
		Activity: a, kind: first(a.Kind, Action), controls: controls, timeout: r.opts.Timeout,
		judge: true,
		began: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.started[a.Name] = true
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
