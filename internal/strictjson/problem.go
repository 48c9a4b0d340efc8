package strictjson

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A Problem is one thing that is wrong in a document. Packages show it as an
// error of their own.
type Problem struct {
	Pointer      string // where, as a JSON pointer (RFC 6901); empty: the document as a whole
	Line, Column int    // of the value in the text, from 1; a column is a byte; 0: not known
	Reason       Reason
	Value        string // the value there, as JSON, shortened; empty: there is none
	Allowed      string // what is allowed instead
	Err          error  // the cause, where there is one
}

// A Reason says in which way a document is wrong.
type Reason string

// The reasons.
const (
	Syntax       Reason = "syntax"        // not JSON, not UTF-8, or something follows the document
	TooLarge     Reason = "too large"     // more bytes, depth or elements than the limits
	Duplicate    Reason = "duplicate"     // a member of an object, or a name, occurs twice
	UnknownField Reason = "unknown field" // a member that does not belong there
	Missing      Reason = "missing"       // a required member is not there
	WrongType    Reason = "wrong type"    // a string where a number belongs, and the like
	BadValue     Reason = "bad value"     // of the right type, and refused
)

// Error names the place, the problem and what is allowed.
func (p *Problem) Error() string {
	s := string(p.Reason)
	if p.Pointer != "" {
		s = p.Pointer + ": " + s
	}
	if p.Value != "" {
		s += " " + p.Value
	}
	if p.Err != nil && p.Err.Error() != "" {
		s += ": " + p.Cause().Error()
	}
	if p.Allowed != "" {
		s += "; allowed: " + p.Allowed
	}
	return s
}

// Cause is the cause, with its place if it is one of syntax: no pointer has that.
func (p *Problem) Cause() error {
	if p.Reason == Syntax && p.Line > 0 {
		return fmt.Errorf("line %d, column %d: %w", p.Line, p.Column, p.Err)
	}
	return p.Err
}

// Field is the problem as the error of a package that has no reasons.
func (p *Problem) Field(of fielderror.Package) *fielderror.Error {
	e := of.Because(p.Pointer, nil, p.Err, p.Allowed).At(p.Line, p.Column)
	switch p.Reason {
	case Missing:
	case Syntax:
		e.Err = fmt.Errorf("the text is not JSON: %w", p.Err)
	case Duplicate:
		e.Value = fielderror.Found("there twice")
	case UnknownField:
		e.Value = fielderror.Found("unknown")
	default:
		e.Field, e.Value = cmp.Or(p.Pointer, "the document"), fielderror.Found(p.Value)
	}
	return e
}

// Unwrap returns the cause, or nil.
func (p *Problem) Unwrap() error { return p.Err }

// maxProblems bounds the number of problems reported for one document, unless it has a limit of
// its own.
const maxProblems = 100

// Problems collects what is wrong in one document, up to a limit. The zero value
// is ready to use.
type Problems struct {
	// As makes the error that a package shows for a problem; nil: the problem itself.
	As func(*Problem) error
	// Prefix begins the message that counts the problems beyond the limit, such
	// as "planjson: ".
	Prefix string
	// Within is the place of the document in a larger one, as a JSON pointer; empty: it is whole.
	Within string
	// Most is the number of problems that are kept; the others are counted. 0: 100.
	Most int
	// Opaque reports whether [Parse] leaves the value at a path, given as names and
	// positions, as it is written. Nothing within it is a problem then, also not a
	// member that occurs twice. nil: none.
	Opaque func(path []string) bool

	list    []error
	dropped int
	data    []byte // the document
}

// Add adds a problem.
func (p *Problems) Add(found *Problem) {
	if p.As != nil {
		p.AddError(p.As(found))
		return
	}
	p.AddError(found)
}

// AddError adds an error of the package's own; nil is none.
func (p *Problems) AddError(err error) {
	if err != nil && !p.Full() {
		p.list = append(p.list, err)
	}
}

// Full reports whether a further problem is only counted, and counts it then. It
// is asked before a problem is described, which takes more time than finding it.
func (p *Problems) Full() bool {
	if len(p.list) < cmp.Or(p.Most, maxProblems) {
		return false
	}
	p.dropped++
	return true
}

// Place is the line and the column of a value, both from 1; 0 if they are not known.
func (p *Problems) Place(n *Node) (line, column int) {
	switch {
	case n != nil && n.at < 0:
		return int(-n.at / columns), int(-n.at % columns)
	case p.data == nil || n == nil:
		return 0, 0
	}
	return place(p.data, int(n.at))
}

// place is the line and the column of a byte, both counted from 1. A column is a
// byte.
func place(data []byte, at int) (line, column int) {
	before := data[:max(at, 0)]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// at adds a problem with the line and column of a node.
func (p *Problems) at(n *Node, found *Problem) {
	if p.Full() {
		return
	}
	found.Line, found.Column = p.Place(n)
	p.Add(found)
}

// Count is the number of problems, also of those beyond the limit.
func (p *Problems) Count() int { return len(p.list) + p.dropped }

// List returns the problems, and the number of those beyond the limit.
func (p *Problems) List() (list []error, dropped int) { return p.list, p.dropped }

// Err joins the problems; nil: there are none.
func (p *Problems) Err() error {
	if p.dropped == 0 {
		return errors.Join(p.list...)
	}
	return errors.Join(append(p.list, fmt.Errorf("%sand %d more problems", p.Prefix, p.dropped))...)
}
