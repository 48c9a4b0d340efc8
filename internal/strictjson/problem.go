package strictjson

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// A Problem is one thing that is wrong in a document. Packages show it as an
// error of their own, most as [Problem.Field].
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
		e.Field = cmp.Or(p.Pointer, "the document")
		if p.Value != "" {
			e.Value = fielderror.Found(p.Value)
		}
	}
	return e
}

// maxProblems bounds the number of problems reported for one document, unless it has a limit of
// its own.
const maxProblems = 100

// Problems collects what is wrong in one document, up to a limit. The zero value
// is ready to use.
type Problems struct {
	fielderror.List
	// As makes the error that a package shows for a problem; nil: [Problem.Field] of the list's package.
	As func(*Problem) error
	// Within is the place of the document in a larger one, as a JSON pointer; empty: it is whole.
	Within string
	// Opaque reports whether nothing within the value at a path, given as names and
	// positions, is a problem for [Parse], also not a member that occurs twice. nil: of
	// no value.
	Opaque func(path []string) bool
	// Foreign is for a document that was written in another form, such as YAML: the line
	// and the column there of what begins at an offset of the JSON; nil: it is JSON.
	Foreign func(offset int) (line, column int)

	data []byte // the document
}

// Add adds a problem.
func (p *Problems) Add(found *Problem) {
	if p.As != nil {
		p.AddError(p.As(found))
	} else {
		p.AddError(found.Field(p.Of))
	}
}

// AddError adds an error of the package's own; nil is none.
func (p *Problems) AddError(err error) {
	p.Most = cmp.Or(p.Most, maxProblems)
	p.List.Add(err)
}

// Place is the line and the column of a value, both from 1; 0 if they are not known.
func (p *Problems) Place(n *Node) (line, column int) {
	text, at, _ := n.Origin()
	if p.data == nil || text == nil {
		return 0, 0
	}
	return p.placeIn(text, at)
}

func (p *Problems) placeIn(text []byte, at int) (line, column int) {
	if p.Foreign != nil {
		return p.Foreign(at)
	}
	return place(text, at)
}

// placeOfName is the line and the column of a member's name in a document of another form,
// and otherwise of its value.
func (p *Problems) placeOfName(n *Node) (line, column int) {
	if _, _, name := n.Origin(); p.Foreign != nil {
		return p.Foreign(name)
	}
	return p.Place(n)
}

// place is the line and the column of a byte, both counted from 1. A column is a
// byte.
func place(data []byte, at int) (line, column int) {
	before := data[:max(at, 0)]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
