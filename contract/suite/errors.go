package suite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// maxProblems is the number of problems that an error of [Load] joins.
const maxProblems = 100

// An Error is one problem of a file. Those of a file are joined, in the order of their
// places.
type Error struct {
	File    string // as it was given to [Load]; of a session in a file of its own, that
	Line    int    // from 1; 0: the file as a whole
	Column  int    // in bytes, from 1
	Pointer string // of the value, such as "contract/invariants/1/when"
	Problem string // what is wrong, such as "unknown field"; empty: Err says it
	Value   string // what was found there, as JSON, shortened; empty: nothing
	Allowed string // what is allowed there
	Err     error  // the cause, or nil
}

// Error names the place, the problem and what is allowed.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Pointer != "" {
		b.WriteString(e.Pointer + ": ")
	}
	b.WriteString(e.Problem)
	if e.Value != "" {
		b.WriteString(" " + e.Value)
	}
	if e.Err != nil && e.Err.Error() != "" {
		if e.Problem != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	if e.Allowed != "" {
		b.WriteString("; allowed: " + e.Allowed)
	}
	return b.String()
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// sorted joins problems in the order of their places, up to [maxProblems] of them.
func sorted(err error) error {
	list := flat(err, nil)
	slices.SortStableFunc(list, func(a, b error) int {
		var p, q *Error
		if !errors.As(a, &p) || !errors.As(b, &q) {
			return 0
		}
		return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(p.Pointer, q.Pointer))
	})
	if more := len(list) - maxProblems; more > 0 {
		list = append(list[:maxProblems:maxProblems], fmt.Errorf("suite: and %d more problems", more))
	}
	return errors.Join(list...)
}

// flat appends the errors that were joined, also by joins within joins.
func flat(err error, list []error) []error {
	apart := fielderror.Apart(err)
	if len(apart) == 1 && apart[0] == err {
		return append(list, err)
	}
	for _, one := range apart {
		list = flat(one, list)
	}
	return list
}
