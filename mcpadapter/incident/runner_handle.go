package incident

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// maxLost is after how many attempts that ended with their runner an incident
// fails.
const maxLost = 3

// handle brings a case to its end, or leaves it to the next runner. Each step
// is written down before the next one begins: the end of the agent, the record
// in the workspace, that it is there. Notifications come after that.
func (r *Runner) handle(ctx context.Context, c *openCase) {
	output, err := r.finish(ctx, c)
	if err == nil {
		err = r.conclude(ctx, c, output)
	}
	if err != nil {
		r.o.Log.Warn("incident left to be resumed", "incident", c.id, "reason", err)
		r.putBack(c)
	}
}

// finish makes sure that the end of an agent is written down. The error says
// why it is not yet.
func (r *Runner) finish(ctx context.Context, c *openCase) (output []byte, err error) {
	if c.finished != nil {
		return nil, nil
	}
	lost := c.lost
	if c.attempt > 0 && !c.annulled { // an earlier runner began it
		killStrays(c.id)
		if c.ran {
			lost++
		}
	}
	var result Result
	asked := false
	if lost >= maxLost {
		result = failed(fmt.Errorf("the runner died %d times while the agent was running", lost))
	} else {
		if result, err = r.attempt(ctx, c, lost); err != nil {
			return nil, err
		}
		asked = errors.Is(context.Cause(ctx), errShutdown)
	}
	e := entry{Op: opFinished, Incident: c.id, At: time.Now(), ExitCode: result.ExitCode, Reason: errorText(result.Err),
		AskedToEnd: asked}
	return result.Output, r.insistOn(ctx, e)
}

// runs writes down that the agent runs: from here on the death of the runner counts.
func (r *Runner) runs(c *openCase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.commit(entry{Op: opRunning, Incident: c.id}) // counted there
}

// attempt runs the agent once, after its record has been written. lost is how many
// runners have died while it ran.
func (r *Runner) attempt(ctx context.Context, c *openCase, lost int) (result Result, err error) {
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	r.mu.Lock()
	e := entry{Op: opBegun, Incident: c.id, At: time.Now(), Created: c.created, Attempt: c.attempt + 1, Lost: lost}
	r.mu.Unlock()
	if err := r.insistOn(ctx, e); err != nil {
		return result, err
	}
	err = r.insist(ctx, func() error {
		if err := r.o.Workspaces.makeRoom(c.id, c.attempt); err != nil {
			return r.notStored(err)
		}
		return r.save(c.incident())
	})
	if err != nil { // it was not begun, and no runner died of it
		_ = r.writeDown(entry{Op: opInterrupted, Incident: c.id}) // counted there
		return result, err
	}
	leaveBehind := abandonAfter
	if r.o.Grace > 0 {
		leaveBehind = r.o.Grace / 8 * 7
	}
	if _, says := r.o.Agent.(*Command); !says {
		r.runs(c)
	}
	job := Job{Incident: c.incident(), Dir: r.o.Workspaces.Dir(c.id), Timeout: r.o.Timeout, Patience: r.o.Grace / 4 * 3,
		running: func() { r.runs(c) }}
	return investigate(ctx, r.o.Agent, job, leaveBehind), nil
}

// conclude judges what the agent has left, writes the record, and then commits
// that.
func (r *Runner) conclude(ctx context.Context, c *openCase, output []byte) error {
	end := c.finished
	result := Result{ExitCode: end.ExitCode}
	if end.Reason != "" {
		result.Err = errors.New(end.Reason)
	}
	var wrong error
	if result.Err == nil && result.ExitCode == 0 {
		_, wrong = readReport(r.o.Workspaces.Dir(c.id))
	}
	in := c.incident().ended(end.At, result, wrong)
	if end.AskedToEnd && in.Status != StatusResolved {
		return r.interrupt(ctx, c, in.FailureReason)
	}
	if err := r.insist(ctx, func() error { return r.save(in) }); err != nil {
		return err
	}
	e := entry{Op: opEnded, Incident: c.id, At: time.Now(), Store: r.store != nil, Notify: r.notifier != nil, in: &in}
	err := r.insistOn(ctx, e)
	r.announce(in)
	level := slog.LevelInfo
	if in.Status != StatusResolved {
		level = slog.LevelWarn
	}
	r.o.Log.Log(ctx, level, "incident ended", "incident", in.IncidentID, "status", in.Status,
		"reason", in.FailureReason, "output", string(output))
	if err != nil { // the record is written; the next runner finds out by itself
		r.o.Log.Error("the journal lacks an incident's end", "incident", in.IncidentID, "error", err)
	}
	return nil
}

// announce counts the end of an incident and passes it to the couriers.
func (r *Runner) announce(in Incident) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.ended(in.Status)
	for _, courier := range []*courier{r.store, r.notifier} {
		if courier != nil {
			nudge(courier.wake)
		}
	}
	r.bound()
}

// bound gives up the oldest letter if too many wait for a receiver that is
// down. The caller holds mu.
func (r *Runner) bound() {
	if l := r.book.letters.excess(); l != nil {
		r.counts.NotifyLost++
		_ = r.commit(entry{Op: opSettled, Incident: l.id, Reason: "too many wait"})
	}
	if l := r.book.copies.excess(); l != nil {
		r.counts.StoreErrors++
		_ = r.commit(entry{Op: opStored, Incident: l.id, Reason: "too many wait"})
	}
}

// interrupt records an attempt that was interrupted because the runner stops.
func (r *Runner) interrupt(ctx context.Context, c *openCase, reason string) error {
	in := c.incident().interrupted(reason)
	err := r.insist(ctx, func() error { return r.save(in) })
	return errors.Join(errors.New(reason), err, r.insistOn(ctx, entry{Op: opInterrupted, Incident: c.id}))
}

// save writes the record in the workspace.
func (r *Runner) save(in Incident) error { return r.notStored(r.o.Workspaces.Save(in, nil)) }

// notStored counts an error, if there is one, and returns it.
func (r *Runner) notStored(err error) error {
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.counts.StoreErrors++
	}
	return err
}
