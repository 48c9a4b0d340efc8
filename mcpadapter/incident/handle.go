package incident

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// handle takes an event from incident to notification.
func (r *Runner) handle(ctx context.Context, e Event) {
	in := newIncident(e, time.Now())
	report, result := r.investigate(ctx, &in)
	_ = r.save(in, report) // counted there; what the agent did counts all the same
	r.mu.Lock()
	r.counts.ended(in.Status)
	r.seen.done(e.Key())
	r.mu.Unlock()
	level := slog.LevelInfo
	if in.Status != StatusResolved {
		level = slog.LevelWarn
	}
	r.o.Log.Log(ctx, level, "incident ended", "incident", in.IncidentID, "status", in.Status,
		"reason", in.FailureReason, "output", string(result.Output))
	if r.o.Notifier != nil {
		r.o.Notifier.Notify(in, ReadFinding(report))
	}
}

// investigate runs the agent on a new workspace and judges what it left there.
func (r *Runner) investigate(ctx context.Context, in *Incident) (report []byte, result Result) {
	dir := r.o.Workspaces.Dir(in.IncidentID)
	if err := r.prepare(in, dir); err != nil {
		result = Result{ExitCode: -1, Err: fmt.Errorf("the workspace could not be made: %w", bare(err))}
		*in = in.ended(time.Now(), result, nil)
		return nil, result
	}
	result = investigate(ctx, r.o.Agent, Job{Incident: *in, Dir: dir, Timeout: r.o.Timeout})
	if result.Err != nil || result.ExitCode != 0 {
		*in = in.ended(time.Now(), result, nil)
		return nil, result
	}
	report, err := readReport(dir)
	*in = in.ended(time.Now(), result, err)
	return report, result
}

// prepare writes the record before the agent starts, and the folder for its report.
func (r *Runner) prepare(in *Incident, dir string) error {
	*in = in.started(time.Now())
	if err := r.save(*in, nil); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Join(dir, filepath.Dir(ReportFile)), 0o700)
}

// save writes a record wherever records go, and returns why its workspace has
// none. A store that is down does not stop an investigation: it is logged and
// counted.
func (r *Runner) save(in Incident, report []byte) error {
	inWorkspace := r.o.Workspaces.Save(in, report)
	r.noteStore(in, inWorkspace)
	if r.o.Store != nil {
		r.noteStore(in, r.o.Store.Save(in, report))
	}
	return inWorkspace
}

func (r *Runner) noteStore(in Incident, err error) {
	if err == nil {
		return
	}
	r.o.Log.Error("incident not stored", "incident", in.IncidentID, "status", in.Status, "error", err)
	r.mu.Lock()
	r.counts.StoreErrors++
	r.mu.Unlock()
}

// recover ends the incidents that a crashed runner left under investigation.
func (r *Runner) recover() {
	left, err := r.o.Workspaces.Load()
	if err != nil {
		r.o.Log.Warn("some workspaces have no readable record", "error", err)
	}
	for _, in := range left {
		if in.Status == StatusInvestigating {
			in = in.interrupted(time.Now())
			_ = r.save(in, nil)
			r.o.Log.Warn("incident left by a stopped runner", "incident", in.IncidentID)
		}
	}
}
