package experiment

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"
)

// journalVersion names the layout of a journal.
const journalVersion = "1"

// A Journal records what a run did and found. Its JSON has the layout of a Chaos
// Toolkit journal, with more members. It has no secret of the experiment.
type Journal struct {
	Version    string          `json:"version"`
	Platform   string          `json:"platform"` // operating system and architecture
	Node       string          `json:"node"`     // name of the host
	Name       string          `json:"name"`     // of the experiment
	Experiment json.RawMessage `json:"experiment"`
	Start      time.Time       `json:"start"` // UTC
	End        time.Time       `json:"end"`
	Duration   float64         `json:"duration"` // in seconds
	Status     Status          `json:"status"`
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
	host, _ := os.Hostname() // empty if it is unknown
	return &Journal{
		Version: journalVersion, Platform: runtime.GOOS + "/" + runtime.GOARCH, Node: r.secrets.text(host),
		Name: r.secrets.text(r.exp.Name), Experiment: r.summary(), Start: time.Now().UTC(), Status: Completed,
		Run: []ActivityResult{}, Rollbacks: []ActivityResult{}, Warnings: []string{},
	}
}

type summary struct {
	Title         string         `json:"title"`
	Description   string         `json:"description"`
	Tags          []string       `json:"tags,omitempty"`
	Configuration map[string]any `json:"configuration,omitempty"`
}

// summary returns what the journal shows of the experiment.
func (r *run) summary() json.RawMessage {
	e := r.exp
	return r.secrets.json(summary{e.Name, e.Description, e.Tags, e.Config})
}

func (r *run) info(a *Activity, kind Kind) ActivityInfo {
	return ActivityInfo{Name: r.secrets.text(a.Name), Kind: kind, Background: a.Background}
}

func (r *run) warn(format string, args ...any) {
	text := r.secrets.text(fmt.Sprintf(format, args...))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.journal.Warnings = append(r.journal.Warnings, text)
}
