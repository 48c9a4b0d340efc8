package incident

import (
	"cmp"
	"fmt"
	"time"
)

// A Status says how far an incident has come.
type Status string

// The statuses. An incident begins as StatusInvestigating and ends as one of
// the other three.
const (
	StatusInvestigating Status = "investigating"
	StatusResolved      Status = "resolved"     // the agent ended with 0 and left a valid report
	StatusFailed        Status = "failed"       // it ended otherwise, crashed, or could not be started
	StatusAgentFailed   Status = "agent_failed" // it ended with 0, and its report is missing or no good
)

// An Incident is one event under investigation: the record that stands in
// incident.json in its workspace. Times are UTC; those of transitions that have
// not happened are null.
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

// newIncident opens an incident for an event.
func newIncident(e Event, now time.Time) Incident {
	return Incident{
		IncidentID: newUUID(), Status: StatusInvestigating, CreatedAt: now.UTC(),
		Cluster: e.Cluster(), Namespace: e.Namespace(),
		Resource:  Resource{Kind: e.ResourceKind(), Name: e.ResourceName()},
		FaultType: e.Reason(), Severity: e.Severity(), Context: e.Context(),
		Timestamp: e.Timestamp(), TriggeringEventID: e.ID(),
	}
}

// started is the incident when its agent starts.
func (in Incident) started(now time.Time) Incident {
	now = now.UTC()
	in.StartedAt = &now
	return in
}

// ended is the incident after its agent ran: result says how the agent ended,
// report what is wrong with its report, nil: nothing.
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

// interrupted is an incident whose runner went away while its agent ran.
func (in Incident) interrupted(now time.Time) Incident {
	now = now.UTC()
	in.Status, in.CompletedAt = StatusFailed, &now
	in.Severity = cmp.Or(in.Severity, Warning) // the agent may have written the record, and none has no text
	in.FailureReason = "the runner stopped while the agent was running"
	return in
}
