package experiment

import (
	"context"
	"strings"
	"time"
)

// A Result is the summary of a run: the output of the tool chaos_run_experiment.
type Result struct {
	Name    string `json:"experiment_name"`
	Success bool   `json:"success"` // the steady state held after the method
	Before  bool   `json:"steady_state_before"`
	After   bool   `json:"steady_state_after"`
	// Duration is in seconds.
	Duration float64 `json:"duration_seconds"`
	// Error says what went wrong, in fixed words; nil: nothing did. An action may
	// fail although the steady state holds.
	Error     *string   `json:"error"`
	StartedAt time.Time `json:"started_at"` // UTC
	// Recovered is the steady state after the rollbacks; nil: not verified.
	Recovered *bool    `json:"steady_state_recovered,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

// RunSimple runs the experiment and returns its summary. The experiment needs a
// hypothesis. With dryRun the steady state is verified once and nothing else is done.
// The error is that of an invalid experiment. o may be nil.
func RunSimple(ctx context.Context, e *Experiment, dryRun bool, o *Options) (Result, error) {
	if e == nil || e.Hypothesis == nil {
		return Result{}, e.ValidateSimple()
	}
	r, err := newRun(e, o)
	if err != nil {
		return Result{}, err
	}
	if !dryRun {
		r.all(ctx)
		return r.journal.Result(), nil
	}
	state := r.verify(ctx)
	r.journal.SteadyStates.Before, r.journal.SteadyStates.After = state, state
	r.journal.End = time.Now().UTC()
	r.journal.Duration = r.journal.End.Sub(r.journal.Start).Seconds()
	return r.journal.Result(), nil
}

// Result returns the summary of the journal. A steady state that was not verified
// counts as missed.
func (j *Journal) Result() Result {
	s := &j.SteadyStates
	r := Result{
		Name: j.Name, Duration: j.Duration, StartedAt: j.Start, Warnings: j.Warnings,
		Before: s.Before != nil && s.Before.Met, After: s.After != nil && s.After.Met,
	}
	r.Success = r.After
	if s.Recovered != nil {
		r.Recovered = &s.Recovered.Met
	}
	if text := j.problems(); text != "" {
		r.Error = &text
	}
	return r
}

// problems describes what went wrong.
func (j *Journal) problems() string {
	var all []string
	switch before, after := j.SteadyStates.Before, j.SteadyStates.After; {
	case before != nil && before.Error != "":
		all = append(all, "Failed to verify initial steady state: "+before.Error)
	case before != nil && !before.Met:
		all = append(all, "System not in steady state before experiment")
	default:
		all = failures("Action failed: ", Action, j.Run)
		all = append(all, failures("Probe failed: ", Probe, j.Run)...)
		switch {
		case len(all) > 0: // a failed activity explains what followed
		case after != nil && after.Error != "":
			all = append(all, "Failed to verify steady state after: "+after.Error)
		case j.Status != Completed:
			all = append(all, "Experiment "+string(j.Status)+": "+j.Why)
		}
	}
	return strings.Join(append(all, failures("Rollback failed: ", "", j.Rollbacks)...), "; ")
}

// failures describes the failed activities of a kind, or of any.
func failures(what string, kind Kind, records []ActivityResult) (texts []string) {
	for _, rec := range records {
		if rec.Status == ActivityFailed && (kind == "" || kind == rec.Activity.Kind) {
			texts = append(texts, what+rec.Exception)
		}
	}
	return texts
}
