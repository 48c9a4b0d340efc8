package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// A Journal records what a run did and found. It has no secret of the experiment.
type Journal struct {
	Name        string    `json:"name"` // of the experiment
	Description string    `json:"description,omitempty"`
	Start       time.Time `json:"start"` // UTC
	End         time.Time `json:"end"`
	Duration    float64   `json:"duration"` // in seconds
	Status      Status    `json:"status"`
	// Why says why the status is not completed; empty if it is.
	Why string `json:"why,omitempty"`
	// Deviated reports whether the steady state, or a tolerance of the method, was
	// missed.
	Deviated     bool             `json:"deviated"`
	SteadyStates SteadyStates     `json:"steady_states"`
	Run          []ActivityResult `json:"run"`       // the method, in its order
	Rollbacks    []ActivityResult `json:"rollbacks"` // in the order in which they ran
	Warnings     []string         `json:"warnings"`
}

// SteadyStates are the verifications of the hypothesis; nil: not made.
type SteadyStates struct {
	Before *SteadyState `json:"before"`
	After  *SteadyState `json:"after"`
	// Recovered is the verification after the rollbacks. It changes neither the
	// status nor Deviated.
	Recovered *SteadyState `json:"recovered"`
}

// A SteadyState is one verification of the hypothesis.
type SteadyState struct {
	Met    bool             `json:"steady_state_met"`
	Probes []ActivityResult `json:"probes"`
	// Error joins the errors of the probes that failed; empty if all could be judged.
	Error string `json:"error,omitempty"`
}

// An ActivityResult is the result of one activity.
type ActivityResult struct {
	Activity     ActivityInfo    `json:"activity"`
	Status       ActivityStatus  `json:"status"`
	Output       json.RawMessage `json:"output"`
	Start        time.Time       `json:"start"`
	End          time.Time       `json:"end"`
	Duration     float64         `json:"duration"`                // in seconds, without pauses
	Exception    string          `json:"exception,omitempty"`     // the error
	ToleranceMet *bool           `json:"tolerance_met,omitempty"` // nil: not judged
	// Abandoned reports whether it did not end after its context, and was left running.
	Abandoned bool `json:"abandoned,omitempty"`
}

// missed reports whether the output was judged, and was out of tolerance.
func (r *ActivityResult) missed() bool { return r.ToleranceMet != nil && !*r.ToleranceMet }

// ActivityInfo describes the activity of a result.
type ActivityInfo struct {
	Name       string `json:"name"`
	Kind       Kind   `json:"type"`
	Background bool   `json:"background,omitempty"`
}

// A Status is how a run ended.
type Status string

// The statuses of a run. [Journal].Deviated is separate.
const (
	Completed   Status = "completed"   // the run did not fail and was not stopped
	Failed      Status = "failed"      // the steady state was missed before the method, or could not be judged
	Aborted     Status = "aborted"     // by a guard or the maximum duration
	Interrupted Status = "interrupted" // its context was cancelled
)

// An ActivityStatus is how an activity ended.
type ActivityStatus string

// The statuses of an activity.
const (
	ActivitySucceeded ActivityStatus = "succeeded"
	ActivityFailed    ActivityStatus = "failed"
)

// ExitCode returns the exit status for a program that ran the experiment: 0 if it
// completed and nothing deviated, else 1.
func (j *Journal) ExitCode() int {
	if j.Status == Completed && !j.Deviated {
		return 0
	}
	return 1
}

func (r *run) newJournal() *Journal {
	return &Journal{
		Name: r.secrets.Text(r.exp.Name), Description: r.secrets.Text(r.exp.Description),
		Start: time.Now().UTC(), Status: Completed,
		Run: []ActivityResult{}, Rollbacks: []ActivityResult{}, Warnings: []string{},
	}
}

func (j *Journal) close() {
	j.End = time.Now().UTC()
	j.Duration = j.End.Sub(j.Start).Seconds()
}

// warn adds a warning. They come before the method and after the rollbacks.
func (r *run) warn(text string) {
	r.journal.Warnings = append(r.journal.Warnings, r.secrets.Text(text))
}

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
	r, err := newRun(e, o)
	if err == nil && e.Hypothesis == nil {
		err = fields.Wrong("Hypothesis", nil, "a hypothesis: without one there is no success to speak of")
	}
	if err != nil {
		return Result{}, err
	}
	if !dryRun {
		r.all(ctx)
		return r.journal.Result(), nil
	}
	state := r.verify(ctx)
	r.journal.SteadyStates.Before, r.journal.SteadyStates.After = state, state
	r.journal.close()
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

// maxOutput is the number of bytes of an output that a journal keeps.
const maxOutput = 1 << 20

// json writes a value as JSON without secrets. A value without JSON is written as
// text, and so is the beginning of one that is too long.
func (r *run) json(v any) json.RawMessage {
	doc, err := marshal(v)
	if err != nil {
		if raw, ok := v.(json.RawMessage); ok { // how fmt prints one depends on the version of Go
			v = string(raw)
		}
		doc, _ = marshal(fmt.Sprintf("%+v", v))
	}
	doc = r.secrets.JSON(doc, false)
	if len(doc) > maxOutput {
		doc, _ = marshal(text.Clip(string(doc), maxOutput))
	}
	return doc
}

// marshal returns the JSON of a value. It writes bytes and errors as texts. A
// MarshalJSON that panics gives an error.
func marshal(v any) (doc []byte, err error) {
	defer usercode.Recover(&err, "its MarshalJSON")
	switch t := v.(type) {
	case json.RawMessage: // JSON already; Marshal checks it
	case []byte:
		if utf8.Valid(t) {
			v = string(t)
		}
	case error:
		v = usercode.ErrorText(t)
	}
	return jsonedit.Marshal(v)
}
