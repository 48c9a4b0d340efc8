package mcpadapter

import "fmt"

// A FieldError is one problem of a [Host] or of [Options]. [NewServer] and
// [Server.Reload] join all they find; a problem of Options.Policy is a
// [policy.FieldError].
type FieldError struct {
	Field   string // such as "Limits.CallTime"
	Value   any    // what was refused; nil: nothing was there
	Allowed string // what is allowed instead
	Err     error  // the cause, where there is one
}

// Error names the field, the value and what is allowed.
func (e *FieldError) Error() string {
	s := "mcpadapter: " + e.Field
	switch v := e.Value.(type) {
	case nil:
		if e.Err == nil {
			s += " is missing"
		}
	case string:
		s += fmt.Sprintf(" is %q", v)
	default:
		s += fmt.Sprintf(" is %v", v)
	}
	if e.Err != nil {
		s += fmt.Sprintf(": %v", e.Err)
	}
	return s + "; allowed: " + e.Allowed
}

// Unwrap returns the cause, or nil.
func (e *FieldError) Unwrap() error { return e.Err }
