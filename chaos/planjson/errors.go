package planjson

import (
	"fmt"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// An Error is one problem of a document, or of a plan that cannot be written.
// Decoding and encoding join all they find; use errors.As, or a type switch
// over Unwrap() []error, to get at them.
type Error struct {
	Pointer string // where, as a JSON pointer (RFC 6901) into the document; empty: the document as a whole
	Line    int    // of the value in the text, from 1; 0: not known
	Column  int    // in that line, in bytes, from 1; 0: not known
	Rule    string // the name of the rule, where an encoded plan is the matter
	Reason  Reason
	Value   string // the value there, as JSON, shortened; empty: there is none
	Allowed string // what is allowed instead
	Err     error  // the cause, where there is one, such as a [*chaos.ParamError]
}

// A Reason says in which way a document or plan was wrong.
type Reason string

// The reasons.
const (
	Syntax       Reason = "syntax"        // not JSON, not UTF-8, or something follows the document
	TooLarge     Reason = "too large"     // more bytes, depth or rules than the limits
	Duplicate    Reason = "duplicate"     // a member of an object, or a name, occurs twice
	UnknownField Reason = "unknown field" // a member that does not belong there
	UnknownKind  Reason = "unknown kind"  // no fault or trigger is called that
	Missing      Reason = "missing"       // a required member is not there
	WrongType    Reason = "wrong type"    // a string where a number belongs, and the like
	BadValue     Reason = "bad value"     // of the right type, and refused
	NeedsCode    Reason = "needs code"    // a fault or trigger that holds Go code or values which JSON has no place for
)

// Error names the place, the problem and what is allowed.
func (e *Error) Error() string {
	s := "planjson: "
	switch {
	case e.Rule != "":
		s += fmt.Sprintf("rule %q: ", e.Rule)
	case e.Pointer != "":
		s += e.Pointer + ": "
	}
	s += string(e.Reason)
	if e.Value != "" {
		s += " " + e.Value
	}
	if e.Err != nil && e.Err.Error() != "" {
		s += ": " + e.Err.Error()
	}
	if e.Allowed != "" {
		s += "; allowed: " + e.Allowed
	}
	return s
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// problems collects what is wrong in a plan that is written.
type problems struct{ strictjson.Problems }

func (p *problems) add(e *Error) { p.AddError(e) }

func (p *problems) err() error {
	p.Prefix = "planjson: "
	return p.Err()
}
