package chaos

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInjected is matched (errors.Is) by every error that a fault makes.
var ErrInjected = errors.New("chaos: injected")

// ErrCellEnded is returned by every call on an injector that was closed. The
// callee is not reached.
var ErrCellEnded = errors.New("chaos: the cell of this call has ended")

// ErrDisarmed is returned by [Sleep] when the injector is disarmed during the
// wait, or the rule of the fault is removed or expires.
var ErrDisarmed = errors.New("chaos: the injector was disarmed")

// ErrUnknownRule is returned by [Injector.InjectNow] for a name that is not registered.
var ErrUnknownRule = errors.New("chaos: unknown rule")

// ErrUnknownTool is matched by the error of [Registry.CallTool] for a name that is not registered.
var ErrUnknownTool = errors.New("chaos: unknown tool")

// An InjectedError is an error that a fault made. Its text is that of Err alone, so
// that a model cannot recognise a test by it.
type InjectedError struct {
	Rule    string // name of the rule
	Target  string // the injection point
	Ordinal uint64 // the call's ordinal within lane and target
	Err     error  // what a real dependency would have returned
}

// Error is the text of Err, and "unknown error" for the zero value.
func (e *InjectedError) Error() string {
	if e.Err == nil {
		return "unknown error"
	}
	return e.Err.Error()
}

// Unwrap returns Err, so that the error matches what a real one would match.
func (e *InjectedError) Unwrap() error { return e.Err }

// Timeout reports whether Err reports a time-out; url.Error asks for it.
func (e *InjectedError) Timeout() bool {
	var timeout interface{ Timeout() bool }
	return errors.As(e.Err, &timeout) && timeout.Timeout()
}

// Is reports whether target is [ErrInjected].
func (e *InjectedError) Is(target error) bool { return target == ErrInjected }

// A RuleError is one problem of a plan. [NewPlan] and [Injector.Register] join all
// that they find.
type RuleError struct {
	Rule    string // name of the rule; "#2" for the third rule of a list when it has no name
	Index   int    // of the rule in the list that a plan is made of, from 0
	Field   string // field of [Rule], such as "Target"
	Value   any    // the value that was refused
	Allowed string // what is allowed instead
	Err     error  // the cause, where there is one
}

// Error names the rule, the field, the value and what is allowed.
func (e *RuleError) Error() string {
	s := fmt.Sprintf("chaos: rule %q: %s", e.Rule, e.Field)
	switch v := e.Value.(type) {
	case nil:
	case fmt.Stringer:
		s += " is " + v.String()
	default:
		s += fmt.Sprintf(" is %#v", v)
	}
	if e.Err != nil {
		s += ": " + strings.TrimPrefix(e.Err.Error(), "chaos: ")
	}
	if e.Allowed != "" {
		s += "; allowed: " + e.Allowed
	}
	return s
}

// Unwrap returns the cause, or nil.
func (e *RuleError) Unwrap() error { return e.Err }

// A ParamError is one wrong parameter of a fault, a trigger or other settings, as
// [Checked] reports it.
type ParamError struct {
	Kind    string // of the fault or trigger, such as "prob"
	Param   string // the parameter
	Value   any    // the value that was refused; nil: none was given
	Allowed string // what is allowed instead
}

// Error names the kind, the parameter, the value and what is allowed.
func (e *ParamError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("chaos: %s: %s is missing; allowed: %s", e.Kind, e.Param, e.Allowed)
	}
	value := fmt.Sprint(e.Value)
	if value == "" {
		value = `""` // an empty text would not be seen
	}
	return fmt.Sprintf("chaos: %s: %s is %s; allowed: %s", e.Kind, e.Param, value, e.Allowed)
}
