package faulthub

import (
	"cmp"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
)

// An Origin is the part of a payload that the event itself does not know.
type Origin struct {
	SubscriptionID string
	Cluster        string    // the program whose injector injected the fault
	Armed          time.Time // from which the times of events count
}

// NewPayload makes the payload of an event that has a rule, in the shape of a mode.
func NewPayload(mode string, e chaos.Event, o Origin) faultevent.Payload {
	p := faultevent.Payload{SubscriptionID: o.SubscriptionID, Cluster: o.Cluster}
	namespace, _, _ := strings.Cut(e.Target, ".") // its subsystem, or the whole name
	about := faultevent.Resource{Kind: kind(e.Layer), Name: e.Target, Namespace: namespace}
	happened := o.Armed.Add(e.Start).UTC().Format(time.RFC3339Nano)
	if mode == modeResourceFaults {
		p.FaultType, p.Severity, p.Resource, p.Context, p.Timestamp = e.Fault, Severity(e), &about, message(e), happened
		return p
	}
	p.Event = &faultevent.Event{Namespace: namespace, Timestamp: happened, Type: eventType(e), Reason: e.Fault,
		Message: message(e), Count: int64(e.Ordinal) + 1, InvolvedObject: about}
	p.Logs = []faultevent.Log{}
	if e.Outcome == chaos.OutcomePanicked {
		p.Logs = append(p.Logs, faultevent.Log{Container: e.Target, HasPanic: true, Sample: e.Err})
	}
	return p
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
	severity := Severity(e)
	known := map[string]string{"info": "Normal", "warning": "Warning"}
	return cmp.Or(known[severity], severity)
}

func kind(l chaos.Layer) string {
	known := map[chaos.Layer]string{chaos.LayerTool: "Tool", chaos.LayerLLM: "LLM", chaos.LayerHTTP: "HTTP",
		chaos.LayerStream: "Stream"}
	return cmp.Or(known[l], "Point")
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
