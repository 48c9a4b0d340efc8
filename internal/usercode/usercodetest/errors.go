// Package usercodetest has errors whose own methods fail, for the tests of whatever
// meets errors of user code.
package usercodetest

import (
	"errors"
	"fmt"
	"runtime"
)

// Errors are errors that are not nil and cannot be asked, by what their methods do.
func Errors() map[string]error {
	return map[string]error{
		"a nil pointer":                  (*lookupError)(nil),
		"a nil pointer, joined":          errors.Join(errors.New("two failed"), (*lookupError)(nil)),
		"a nil pointer, wrapped":         fmt.Errorf("look up: %w", (*lookupError)(nil)),
		"Error panics":                   &failing{inError: func() { panic("no text") }},
		"Error panics with itself":       &selfish{},
		"Error ends its goroutine":       &failing{inError: runtime.Goexit},
		"Is panics":                      &failing{inIs: func() { panic("not comparable") }},
		"Is ends its goroutine":          &failing{inIs: runtime.Goexit},
		"As panics":                      &failing{inAs: func() { panic("not that type") }},
		"Unwrap panics":                  &failing{inUnwrap: func() { panic("no cause") }},
		"Unwrap panics within another":   fmt.Errorf("look up: %w", &failing{inUnwrap: func() { panic("no cause") }}),
		"Unwrap of a list panics":        causes{},
		"Format panics":                  &formatted{func() { panic("no verb") }},
		"Format ends its goroutine":      &formatted{runtime.Goexit},
		"a panic value that cannot tell": &failing{inError: func() { panic(&failing{inError: runtime.Goexit}) }},
	}
}

type lookupError struct{ key string }

func (e *lookupError) Error() string { return "no entry " + e.key }
func (e *lookupError) Unwrap() error { return errors.New(e.key) }

// failing is an error with a function for each of its methods, which is called first; nil:
// none.
type failing struct{ inError, inIs, inAs, inUnwrap func() }

func call(fn func()) {
	if fn != nil {
		fn()
	}
}

func (f *failing) Error() string { call(f.inError); return "the look-up failed" }
func (f *failing) Is(error) bool { call(f.inIs); return false }
func (f *failing) As(any) bool   { call(f.inAs); return false }
func (f *failing) Unwrap() error { call(f.inUnwrap); return nil }

type causes struct{}

func (causes) Error() string   { return "the look-up failed" }
func (causes) Unwrap() []error { panic("no causes") }

type formatted struct{ in func() }

func (*formatted) Error() string            { return "the look-up failed" }
func (f *formatted) Format(fmt.State, rune) { f.in() }

type selfish struct{}

func (e *selfish) Error() string { panic(e) }
