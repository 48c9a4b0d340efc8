package incident

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/internal/enum"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faultevent"
)

// An event is one fault that a server reported, as the journal has it. Both payload
// shapes give the same events. Nothing changes it after parseEvent.
type event struct {
	ID           string              `json:"id"` // a UUID made when it was parsed
	Logger       string              `json:"logger,omitempty"`
	Subscription string              `json:"subscription,omitempty"`
	Cluster      string              `json:"cluster,omitempty"` // or the program whose injector injected the fault
	Resource     faultevent.Resource `json:"resource"`
	Reason       string              `json:"reason"` // the reason of a nested payload, the fault type of a flat one
	Severity     Severity            `json:"severity"`
	Context      string              `json:"context,omitempty"` // message and log samples, or the context of a flat payload
	At           time.Time           `json:"at"`                // when it happened, else when it was received; UTC
}

// key identifies equal events by cluster, namespace, kind, name and reason. A
// slash or percent sign within a part is escaped.
func (e event) key() string {
	parts := []string{e.Cluster, e.Resource.Namespace, e.Resource.Kind, e.Resource.Name, e.Reason}
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
