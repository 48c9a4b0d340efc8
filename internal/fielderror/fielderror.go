// Package fielderror has the one error for a part of an input that is not
// allowed, and the list in which a check collects them.
package fielderror

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// An Error names a part of an input that is not allowed. Package scoring exports
// it, and others under the same name.
type Error struct {
	Package string // the package that refuses the input; its name begins the message
	File    string // the text's name, which begins the message in place of the package; "": it has none
	Line    int    // of the value in a text, from 1; 0: not known
	Column  int    // in bytes, from 1; 0: not known
	Field   string // path of the value, such as "cells[3].severity"; "": the text as a whole
	Value   any    // what was found there, or [Found]; nil: nothing
	Allowed string // what is allowed there; may be "" beside Err
	Err     error  // the cause, or nil
}

// Found says in words what was found where there is no value to show, such as
// "empty". A message does not quote it.
type Found string

// Error names the field, the value and what is allowed.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(cmp.Or(e.File, e.Package))
	switch {
	case e.Line > 0 && e.File != "":
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	case e.Line > 0:
		fmt.Fprintf(&b, ": line %d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ", column %d", e.Column)
		}
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	switch {
	case e.Value != nil:
		b.WriteString(" is " + show(e.Value))
	case e.Err == nil:
		b.WriteString(" is missing")
	}
	if e.Err != nil && e.Err.Error() != "" {
		b.WriteString(": " + strings.TrimPrefix(e.Err.Error(), e.Package+": "))
	}
	if e.Allowed != "" {
		b.WriteString("; allowed: " + e.Allowed)
	}
	return strings.TrimPrefix(b.String(), ": ") // of an error without a package
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// maxShown bounds the bytes of a value in a message.
const maxShown = 80

// At sets the line and the column, and returns e.
func (e *Error) At(line, column int) *Error {
	e.Line, e.Column = line, column
	return e
}

// show is a value as messages show it: texts quoted, lists and objects as JSON.
func show(value any) string {
	switch v := value.(type) {
	case Found:
		return string(v)
	case error, fmt.Stringer:
		return text.Clip(fmt.Sprint(v), maxShown)
	case json.RawMessage:
		return text.Clip(string(v), maxShown)
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		return text.Quote(v.String(), maxShown)
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct:
		if doc, err := json.Marshal(value); err == nil {
			return text.Clip(string(doc), maxShown)
		}
	}
	return text.Clip(fmt.Sprint(value), maxShown)
}

// A Package makes the errors of the package of that name.
type Package string

// Wrong is the error of a value that is not allowed.
func (p Package) Wrong(field string, value any, allowed string) *Error {
	return &Error{Package: string(p), Field: field, Value: value, Allowed: allowed}
}

// Because is [Package.Wrong] with a cause, which may come from user code.
func (p Package) Because(field string, value any, cause error, allowed string) *Error {
	return &Error{Package: string(p), Field: field, Value: value, Err: usercode.Sound(cause), Allowed: allowed}
}

// List is an empty list.
func (p Package) List() *List { return &List{Of: p} }

// ListUpTo is a [Package.List] that keeps up to most problems and counts the
// others.
func (p Package) ListUpTo(most int) *List { return &List{Of: p, Most: most} }

// A List collects what is wrong with an input.
type List struct {
	Of   Package
	Most int // how many are kept; 0: all

	errs []error
	more int // the number of those that were not kept
}

// Wrong adds the error of a value that is not allowed.
func (l *List) Wrong(field string, value any, allowed string) {
	l.Add(l.Of.Wrong(field, value, allowed))
}

// Wrongf is [List.Wrong] with a field that is formatted.
func (l *List) Wrongf(allowed string, value any, field string, args ...any) {
	l.Wrong(fmt.Sprintf(field, args...), value, allowed)
}

// Because is [List.Wrong] with a cause.
func (l *List) Because(field string, value any, cause error, allowed string) {
	l.Add(l.Of.Because(field, value, cause, allowed))
}

// Demand adds the error of a value unless ok.
func (l *List) Demand(ok bool, field string, value any, allowed string) {
	if !ok {
		l.Wrong(field, value, allowed)
	}
}

// Add adds the errors that are not nil. They may come from user code.
func (l *List) Add(errs ...error) {
	for _, err := range errs {
		if err != nil && !l.Full() {
			l.errs = append(l.errs, usercode.Sound(err))
		}
	}
}

// Full reports whether a further problem is only counted, and counts it then. It
// is asked before a problem is described, which takes more time than finding it.
func (l *List) Full() bool {
	full := l.Most > 0 && len(l.errs) >= l.Most
	if full {
		l.more++
	}
	return full
}

// Each adds each of several joined problems as the cause of one with this field.
func (l *List) Each(field string, joined error) {
	joined = usercode.Sound(joined)
	all, ok := joined.(interface{ Unwrap() []error })
	if !ok {
		l.Because(field, nil, joined, "")
		return
	}
	for _, err := range all.Unwrap() {
		l.Because(field, nil, err, "")
	}
}

// Count is the number of problems, also of those that were not kept.
func (l *List) Count() int { return len(l.errs) + l.more }

// Kept returns the problems, and the number of those that were not kept.
func (l *List) Kept() (errs []error, more int) { return l.errs, l.more }

// Err joins the problems; nil: there are none.
func (l *List) Err() error {
	if l.more == 0 {
		return errors.Join(l.errs...)
	}
	more := fmt.Sprintf("%s: and %d more problems", l.Of, l.more)
	return errors.Join(append(l.errs[:len(l.errs):len(l.errs)], errors.New(strings.TrimPrefix(more, ": ")))...)
}

// Apart returns the errors that errors.Join joined, or err alone; none for nil. An
// error with several causes and a text of its own stays whole.
func Apart(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts := joined.Unwrap()
		if again := errors.Join(parts...); again != nil && again.Error() == err.Error() {
			return parts
		}
	}
	return []error{err}
}
