package incident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shakedown-go/shakedown/internal/fielderror"
	"github.com/shakedown-go/shakedown/scoring"
)

// A Status is the state of an incident.
type Status string

// The statuses. An incident begins as StatusInvestigating and ends as resolved,
// failed or agent_failed. One that is interrupted is investigated anew when a
// runner starts.
const (
	StatusInvestigating Status = "investigating"
	StatusInterrupted   Status = "interrupted"  // the runner was stopped while its agent ran
	StatusResolved      Status = "resolved"     // the agent ended with 0 and left a valid report
	StatusFailed        Status = "failed"       // it ended otherwise, crashed, or could not be started
	StatusAgentFailed   Status = "agent_failed" // it ended with 0, and its report is missing or no good
)

// An Incident is one event under investigation: the record in incident.json in
// its workspace. Times are UTC; those of transitions that have not happened are
// null.
type Incident struct {
	IncidentID        string     `json:"incidentId"` // a UUID; the name of its workspace
	Status            Status     `json:"status"`
	CreatedAt         time.Time  `json:"createdAt"`
	StartedAt         *time.Time `json:"startedAt"`     // when the agent was started
	CompletedAt       *time.Time `json:"completedAt"`   // when it ended
	ExitCode          *int       `json:"exitCode"`      // of the agent; -1: it could not be run, or was killed
	FailureReason     string     `json:"failureReason"` // empty: there is none
	Cluster           string     `json:"cluster"`
	Namespace         string     `json:"namespace"`
	Resource          Resource   `json:"resource"`
	FaultType         string     `json:"faultType"`
	Severity          Severity   `json:"severity"`
	Context           string     `json:"context"`
	Timestamp         time.Time  `json:"timestamp"` // of the event
	TriggeringEventID string     `json:"triggeringEventId"`
}

// A Resource names the object of an incident. Both may be empty.
type Resource struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (s Status) final() bool {
	return s == StatusResolved || s == StatusFailed || s == StatusAgentFailed
}

// incident is the record of a case while its agent runs.
func (c *openCase) incident() Incident {
	e, started := c.event, c.started.UTC()
	return Incident{
		IncidentID: c.id, Status: StatusInvestigating, CreatedAt: c.created.UTC(), StartedAt: &started,
		Cluster: e.Cluster, Namespace: e.Resource.Namespace,
		Resource:  Resource{Kind: e.Resource.Kind, Name: e.Resource.Name},
		FaultType: e.Reason, Severity: e.Severity, Context: e.Context,
		Timestamp: e.At, TriggeringEventID: e.ID,
	}
}

// ended returns the incident after its agent ran. result is how the agent
// ended, report what is wrong with its report; nil: nothing.
func (in Incident) ended(now time.Time, result Result, report error) Incident {
	now, code := now.UTC(), result.ExitCode
	in.CompletedAt, in.ExitCode = &now, &code
	switch {
	case result.Err != nil:
		in.Status, in.FailureReason = StatusFailed, result.Err.Error()
	case code != 0:
		in.Status, in.FailureReason = StatusFailed, fmt.Sprintf("agent exited with code %d", code)
	case report != nil:
		in.Status, in.FailureReason = StatusAgentFailed, report.Error()
	default:
		in.Status, in.FailureReason = StatusResolved, ""
	}
	return in
}

// interrupted returns the incident of a runner that stops: it has no end yet.
func (in Incident) interrupted(reason string) Incident {
	in.Status, in.FailureReason = StatusInterrupted, reason
	return in
}

// abandoned returns an incident that has no end and is in no journal, as failed.
func (in Incident) abandoned(now time.Time) Incident {
	now = now.UTC()
	in.Status, in.CompletedAt = StatusFailed, &now
	in.Severity = cmp.Or(in.Severity, Warning) // the agent may have written the record, and none has no text
	in.FailureReason = "the runner stopped while the agent was running"
	return in
}

// A Notifier is notified of every incident that ended, after its record has
// been written, one at a time. Notify returns nil when the receiver has
// confirmed the message. After an [ErrMaybeSent] or [ErrRefused] the message is
// not sent again; after any other error the runner retries, for a day.
//
// A notifier cannot change the incident. One that blocks delays only other
// messages: its context ends after Options.SendTimeout.
type Notifier interface {
	Notify(ctx context.Context, in Incident, f Finding) error
}

// What a [Notifier] can say about a message that is not to be sent again.
var (
	// ErrMaybeSent: the receiver may have the message, and has not confirmed it.
	ErrMaybeSent = errors.New("incident: maybe sent")
	// ErrRefused: the receiver will never take it.
	ErrRefused = errors.New("incident: refused by the receiver")
)

// A FieldError is one wrong or missing member of a payload, or one wrong setting,
// such as "event.reason" or "AGENT_TIMEOUT". Where there are several they are
// joined.
type FieldError = scoring.FieldError

// fields makes the errors of this package.
const fields = fielderror.Package("incident")

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
