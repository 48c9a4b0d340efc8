package incident

import "fmt"

// A FieldError is one wrong or missing member of a payload, or one wrong
// setting. Where there are several they are joined.
type FieldError struct {
	Field   string // such as "event.reason" or "AGENT_TIMEOUT"
	Value   any    // what was given; nil: nothing
	Allowed string // what is allowed instead
}

// Error names the field, the value and what is allowed.
func (e *FieldError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("incident: %s is missing; allowed: %s", e.Field, e.Allowed)
	}
	return fmt.Sprintf("incident: %s is %#v; allowed: %s", e.Field, e.Value, e.Allowed)
}

// errorText is the text of an error; none has "".
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
