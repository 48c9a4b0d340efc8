package incident

import (
	"fmt"
	"strings"
)

// A Severity is how severe an event is. The zero value is no severity.
type Severity uint8

// The severities, in rising order.
const (
	Info Severity = 1 + iota
	Warning
	Error
	Critical
)

// severities are the names that ParseSeverity reads, and Normal, which
// Kubernetes calls an event of no concern.
func severities() map[string]Severity {
	return map[string]Severity{"normal": Info, "info": Info, "warning": Warning, "error": Error, "critical": Critical}
}

// String is the name in capitals, such as "WARNING".
func (s Severity) String() string {
	switch s {
	case Info:
		return "INFO"
	case Warning:
		return "WARNING"
	case Error:
		return "ERROR"
	case Critical:
		return "CRITICAL"
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// MarshalText returns String, or an error if s is no severity.
func (s Severity) MarshalText() ([]byte, error) {
	if s < Info || s > Critical {
		return nil, fmt.Errorf("incident: %v is no severity", s)
	}
	return []byte(s.String()), nil
}

// UnmarshalText is [ParseSeverity].
func (s *Severity) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSeverity(string(text))
	return err
}

// ParseSeverity reads a severity in any letter case: info (or normal),
// warning, error, critical. Anything else is a [*FieldError].
func ParseSeverity(text string) (Severity, error) {
	if s, ok := severities()[strings.ToLower(strings.TrimSpace(text))]; ok {
		return s, nil
	}
	return 0, fields.Wrong("severity", text, "info|warning|error|critical")
}
