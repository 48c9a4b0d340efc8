package tape

import (
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// maxDepth is the number of objects and lists within each other that a body kept as
// JSON has at most. Deeper ones are kept as texts.
const maxDepth = 500

// parse reads a document. ok is false if it is not JSON in UTF-8, or too deep.
func parse(doc []byte) (d *jsonedit.Doc, ok bool) {
	d, ok = jsonedit.ParseUpTo(doc, maxDepth)
	return d, ok && utf8.Valid(doc)
}

// Canonical returns a request's body as a file keeps it: JSON compact and with its
// members sorted, which is the same value; anything else as it is.
func Canonical(body []byte) []byte {
	if text, ok := strictjson.Canonical(body, maxDepth); ok {
		return text
	}
	return body
}

// compact returns valid JSON without white space between its tokens.
func compact(doc []byte) []byte { return jsonedit.Compact(make([]byte, 0, len(doc)), doc, "") }

// tight returns a document without white space between its tokens; what is no JSON, or too deep,
// as it is.
func tight(doc []byte) []byte {
	if _, ok := parse(doc); ok {
		return compact(doc)
	}
	return doc
}

// isTight reports whether a document is JSON without white space between its tokens. A file
// keeps only such a one as JSON, so that it is read as it was.
func isTight(doc []byte) bool {
	_, ok := parse(doc)
	return ok && len(compact(doc)) == len(doc)
}
