package incident

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/enum"
)

// An Event is one fault that a server reported. It does not change after
// [ParseEvent]; both payload shapes give the same events. The zero Event is not
// usable.
type Event struct{ doc eventDoc }

// eventDoc is an event as the journal has it.
type eventDoc struct {
	ID           string    `json:"id"`
	Logger       string    `json:"logger,omitempty"`
	Subscription string    `json:"subscription,omitempty"`
	Cluster      string    `json:"cluster,omitempty"`
	Resource     resource  `json:"resource"`
	Reason       string    `json:"reason"`
	Severity     Severity  `json:"severity"`
	Context      string    `json:"context,omitempty"`
	At           time.Time `json:"at"`
}

// resource is the object that an event is about.
type resource struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
}

// ID is the event's own identifier, a UUID made when it was parsed.
func (e Event) ID() string { return e.doc.ID }

// Logger is the logger of the notification, such as "kubernetes/faults".
func (e Event) Logger() string { return e.doc.Logger }

// Subscription is the identifier of its subscription; may be empty.
func (e Event) Subscription() string { return e.doc.Subscription }

// Cluster is where it happened: a cluster, or the program whose injector
// injected the fault; may be empty.
func (e Event) Cluster() string { return e.doc.Cluster }

// Namespace is the resource's; may be empty.
func (e Event) Namespace() string { return e.doc.Resource.Namespace }

// ResourceKind is the kind of the resource, such as "Pod" or "Tool"; may be
// empty.
func (e Event) ResourceKind() string { return e.doc.Resource.Kind }

// ResourceName is the name of the pod, node or tool; may be empty.
func (e Event) ResourceName() string { return e.doc.Resource.Name }

// Reason names in a word what happened, such as "BackOff" or "CrashLoop": the
// reason of a nested payload, the fault type of a flat one.
func (e Event) Reason() string { return e.doc.Reason }

// Severity is how severe the event is. A text that is no severity counts as
// [Warning], so that an unknown word loses no event.
func (e Event) Severity() Severity { return e.doc.Severity }

// Context is the rest of the server's description: the message and the log
// samples of a nested payload, the context of a flat one. It may be empty. Text
// beyond 128 KiB is cut off.
func (e Event) Context() string { return e.doc.Context }

// Timestamp is when the event happened, in UTC. If the payload has no time, it
// is when the event was received.
func (e Event) Timestamp() time.Time { return e.doc.At }

// Key identifies equal events by cluster, namespace, kind, name and reason. A
// slash or percent sign within a part is escaped.
func (e Event) Key() string {
	parts := []string{e.doc.Cluster, e.doc.Resource.Namespace, e.doc.Resource.Kind, e.doc.Resource.Name, e.doc.Reason}
	for i, p := range parts {
		if strings.ContainsAny(p, "%/") { // seldom, and a replacer costs more than all the rest
			parts[i] = strings.NewReplacer("%", "%25", "/", "%2F").Replace(p)
		}
	}
	return strings.Join(parts, "/")
}

// newUUID makes a random identifier (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A Severity is how severe an event is. The zero value is no severity.
type Severity uint8

// The severities, in rising order.
const (
	Info Severity = 1 + iota
	Warning
	Error
	Critical
)

func severities() enum.Names[Severity] {
	return enum.Names[Severity]{Package: fields, Field: "severity",
		Of: []string{"", "INFO", "WARNING", "ERROR", "CRITICAL"}}
}

// String is the name in capitals, such as "WARNING".
func (s Severity) String() string { return severities().String(s) }

// MarshalText returns String, or an error if s is no severity.
func (s Severity) MarshalText() ([]byte, error) { return severities().MarshalText(s) }

// UnmarshalText is [ParseSeverity].
func (s *Severity) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSeverity(string(text))
	return err
}

// ParseSeverity reads a severity in any letter case: info (or normal),
// warning, error, critical. Anything else is a [*FieldError].
func ParseSeverity(text string) (Severity, error) {
	name := strings.ToUpper(strings.TrimSpace(text))
	if name == "NORMAL" { // what Kubernetes calls an event of no concern
		return Info, nil
	}
	if s, ok := severities().Find(name); ok {
		return s, nil
	}
	return 0, fields.Wrong("severity", text, "info|warning|error|critical")
}
