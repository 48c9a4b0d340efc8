package suite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxProblems is the number of problems that an error of [Load] joins.
const maxProblems = 100

// An Error is one problem of a file. Those of a file are joined, in the order of their
// places.
type Error struct {
	File    string // as it was given to [Load]; of a session in a file of its own, that
	Line    int    // from 1; 0: the file as a whole
	Column  int    // from 1; in YAML of characters, in JSON of bytes
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

// problems joins all that was found, up to [maxProblems] of it: what is wrong with the
// options, then with the file in the order of places, then with the files that it names.
func (l *loader) problems() error {
	list, more := l.r.List()
	slices.SortStableFunc(list, func(a, b error) int {
		p, q := a.(*Error), b.(*Error)
		return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(p.Pointer, q.Pointer))
	})
	list = slices.Concat(l.ofOptions, list, l.ofOthers)
	more += l.more
	if beyond := len(list) - maxProblems; beyond > 0 {
		list, more = list[:maxProblems:maxProblems], more+beyond
	}
	if more > 0 {
		list = append(list, fmt.Errorf("suite: and %d more problems", more))
	}
	return errors.Join(list...)
}
