package strictjson

import (
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// Canonical returns a document without white space and needless escapes, and with the members of
// all objects sorted by their names, which is the same value. ok is false if it is not JSON in
// UTF-8, or if more than maxDepth objects and lists lie within each other.
func Canonical(doc []byte, maxDepth int) (text []byte, ok bool) {
	d, ok := jsonedit.ParseUpTo(doc, maxDepth)
	if !ok || !utf8.Valid(doc) {
		return nil, false
	}
	return d.AppendPlain(make([]byte, 0, len(doc)), 0, true), true
}

// Quote is a string as JSON in UTF-8.
func Quote(s string) []byte { return appendQuoted(nil, s) }

func appendQuoted(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // U+FFFD for each wrong byte, as encoding/json has it
	}
	return jsonedit.AppendQuote(dst, s)
}
