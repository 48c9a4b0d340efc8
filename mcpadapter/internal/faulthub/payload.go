package faulthub

import (
	"cmp"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
)

// The payload that reports a fault has both shapes that fault-event servers use, so
// that one runner understands a Kubernetes server and an injector alike.

// An Origin is the part of a payload that the event itself does not know.
type Origin struct {
	SubscriptionID string
	Cluster        string    // the program whose injector injected the fault
	Armed          time.Time // from which the times of events count
}

// A Resource is the injection point, in the terms of an object.
type Resource struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"` // Tool, LLM, HTTP, Stream or Point
	Name       string `json:"name"` // the target
	Namespace  string `json:"namespace"`
}

// Flat is the payload of the mode "resource-faults".
type Flat struct {
	SubscriptionID string    `json:"subscriptionId,omitempty"`
	Cluster        string    `json:"cluster"`
	FaultType      string    `json:"faultType"` // the kind of the fault
	Severity       string    `json:"severity"`
	Resource       Resource  `json:"resource"`
	Context        string    `json:"context"`
	Timestamp      time.Time `json:"timestamp"`
}

// Nested is the payload of the mode "faults".
type Nested struct {
	SubscriptionID string `json:"subscriptionId,omitempty"`
	Cluster        string `json:"cluster"`
	Event          Event  `json:"event"`
	Logs           []Log  `json:"logs"`
}

// Event is what happened, in the terms of a Kubernetes event.
type Event struct {
	Namespace      string    `json:"namespace"`
	Timestamp      time.Time `json:"timestamp"`
	Type           string    `json:"type"` // Normal, Warning, error or critical: the severity, see [Severity]
	Reason         string    `json:"reason"`
	Message        string    `json:"message"`
	Count          uint64    `json:"count"` // of calls to the target so far, in its lane
	InvolvedObject Resource  `json:"involvedObject"`
}

// Log is what a container would have written.
type Log struct {
	Container string `json:"container"`
	Previous  bool   `json:"previous"`
	HasPanic  bool   `json:"hasPanic"`
	Sample    string `json:"sample,omitempty"`
	Error     string `json:"error,omitempty"`
}

// NewFlat makes the flat payload of an event that has a rule.
func NewFlat(e chaos.Event, o Origin) Flat {
	return Flat{
		SubscriptionID: o.SubscriptionID, Cluster: o.Cluster, FaultType: e.Fault, Severity: Severity(e),
		Resource: resource(e), Context: message(e), Timestamp: o.Armed.Add(e.Start).UTC(),
	}
}

// NewNested makes the nested payload of an event that has a rule.
func NewNested(e chaos.Event, o Origin) Nested {
	n := Nested{
		SubscriptionID: o.SubscriptionID, Cluster: o.Cluster, Logs: []Log{},
		Event: Event{
			Namespace: Namespace(e), Timestamp: o.Armed.Add(e.Start).UTC(), Type: eventType(e), Reason: e.Fault,
			Message: message(e), Count: e.Ordinal + 1, InvolvedObject: resource(e),
		},
	}
	if e.Outcome == chaos.OutcomePanicked {
		n.Logs = append(n.Logs, Log{Container: e.Target, HasPanic: true, Sample: e.Err})
	}
	return n
}

// Namespace is the subsystem of a target: the part of its name before the
// first dot; the whole of a name without one.
func Namespace(e chaos.Event) string {
	before, _, _ := strings.Cut(e.Target, ".")
	return before
}

// Severity is how severe a fault is: critical for a panic, error for a
// failure or a call that did not end, warning for a delay or a changed result, info for a fault that was
// not delivered.
func Severity(e chaos.Event) string {
	switch {
	case !e.Delivered:
		return "info"
	case e.Outcome == chaos.OutcomePanicked:
		return "critical"
	case e.Outcome == chaos.OutcomeInjected, e.Outcome == chaos.OutcomeOpen:
		return "error"
	}
	return "warning"
}

// eventType is the severity in the terms of a Kubernetes event, which knows
// Normal and Warning alone; what is worse keeps its own name, so that a runner
// reads one severity from both shapes.
func eventType(e chaos.Event) string {
	switch s := Severity(e); s {
	case "info":
		return "Normal"
	case "warning":
		return "Warning"
	default:
		return s
	}
}

func resource(e chaos.Event) Resource {
	return Resource{Kind: kind(e.Layer), Name: e.Target, Namespace: Namespace(e)}
}

func kind(l chaos.Layer) string {
	switch l {
	case chaos.LayerTool:
		return "Tool"
	case chaos.LayerLLM:
		return "LLM"
	case chaos.LayerHTTP:
		return "HTTP"
	case chaos.LayerStream:
		return "Stream"
	}
	return "Point"
}

// message says what the caller saw.
func message(e chaos.Event) string {
	switch {
	case e.Err != "":
		return e.Err
	case e.Outcome == chaos.OutcomeOpen:
		return "the call was still open when the injector ended"
	case len(e.Changes) > 0:
		return "the result was changed at " + cmp.Or(e.Changes[0].Path, "its root")
	case e.Spent > 0:
		return "the call took " + e.Spent.String() + " longer"
	}
	return cmp.Or(e.Note, "a fault was injected into the call")
}
