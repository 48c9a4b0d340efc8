package glob

import "fmt"

// A SyntaxError says why a pattern was refused.
type SyntaxError struct {
	Pattern string
	Offset  int    // in bytes, of the element at fault
	Reason  string // what is wrong and what is allowed instead
}

// Error names the pattern, the offset and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("glob: pattern %q, offset %d: %s", e.Pattern, e.Offset, e.Reason)
}

const (
	reasonEmpty      = "empty; use * to match every name"
	reasonLong       = "longer than 1023 bytes, the most that is allowed"
	reasonUTF8       = "invalid UTF-8; a pattern is UTF-8 text"
	reasonEscape     = `nothing after \; write \\ for the character itself`
	reasonClass      = `class without an end; close it with ], or write \[ for the character itself`
	reasonEmptyClass = `class without members; name at least one, as in [a-z], and write \] for the character itself`
	reasonRange      = "range that runs backwards; the lower character comes first, as in a-z"
	reasonGroup      = `alternatives without an end; close them with }, or write \{ for the character itself`
	reasonEmptyGroup = `no alternatives between { and }; name some, as in {a,b}, and write \{\} for the characters themselves`
	reasonBrace      = `} without a { before it; write \} for the character itself`
	reasonBracket    = `] without a [ before it; write \] for the character itself`
)
