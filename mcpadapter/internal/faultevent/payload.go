// Package faultevent has the payload by which servers report faults. It has both shapes
// that such servers use, so that one runner understands a Kubernetes server and an
// injector alike.
package faultevent

// A Payload is flat, in the mode "resource-faults", or nested, in the mode "faults".
type Payload struct {
	SubscriptionID string `json:"subscriptionId,omitempty"`
	Cluster        string `json:"cluster"` // or the program whose injector injected the fault

	// of the flat shape
	FaultType string    `json:"faultType,omitempty"`
	Severity  string    `json:"severity,omitempty"`
	Resource  *Resource `json:"resource,omitempty"`
	Context   string    `json:"context,omitempty"`
	Timestamp string    `json:"timestamp,omitempty"` // RFC 3339

	// of the nested shape
	Event *Event `json:"event,omitempty"`
	Logs  []Log  `json:"logs,omitzero"`
}

// A Resource is the object that a fault is about, or the injection point.
type Resource struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"` // of an injection point: Tool, LLM, HTTP, Stream or Point
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	UID        string `json:"uid,omitempty"`
}

// Event is what happened, in the terms of a Kubernetes event.
type Event struct {
	Namespace      string   `json:"namespace"`
	Timestamp      string   `json:"timestamp,omitempty"`
	Type           string   `json:"type"` // the severity: Normal, Warning, error or critical
	Reason         string   `json:"reason"`
	Message        string   `json:"message"`
	Count          int64    `json:"count"` // of an injection point: calls to it so far, in its lane
	InvolvedObject Resource `json:"involvedObject"`
}

// Log is what a container wrote before it failed, or would have written.
type Log struct {
	Container string `json:"container"`
	Previous  bool   `json:"previous"`
	HasPanic  bool   `json:"hasPanic"`
	Sample    string `json:"sample,omitempty"`
	Error     string `json:"error,omitempty"`
}
