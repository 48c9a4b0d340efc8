package tape

import (
	"bytes"
	"encoding/json"
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

// Layouts are where an answer's JSON has white space, so that it is kept as JSON and
// comes back byte for byte.
const (
	layoutCompact  = ""         // nowhere
	layoutSpaced   = "spaced"   // a blank behind each colon and comma, as of Python's json.dumps
	layoutIndented = "indented" // lines indented by two blanks, as of json.Indent
)

// laidOut writes compact JSON in a layout. ok is false if that takes more than most
// bytes, as deep lists do when they are indented.
func laidOut(doc []byte, layout string, most int) (laid []byte, ok bool) {
	if layout == layoutCompact {
		return doc, len(doc) <= most
	}
	switch d, parsed := parse(doc); {
	case !parsed:
		return nil, false
	case layout == layoutSpaced:
		laid = jsonedit.Compact(make([]byte, 0, len(doc)+len(doc)/4), doc, " ")
	case whiteSpace(d) > most:
		return nil, false
	default:
		var b bytes.Buffer
		if json.Indent(&b, doc, "", "  ") != nil {
			return nil, false
		}
		laid = b.Bytes()
	}
	return laid, len(laid) <= most
}

// whiteSpace is about how many bytes it takes to indent a document.
func whiteSpace(d *jsonedit.Doc) (bytes int) {
	depth := make([]int, len(d.Nodes))
	for i, n := range d.Nodes[1:] {
		depth[i+1] = depth[n.Parent] + 1
		bytes += 2*depth[i+1] + 1
	}
	return bytes
}

// layoutOf finds the layout of a document, by which its compact form gives back its
// bytes. ok is false if there is none.
func layoutOf(doc []byte) (tight []byte, layout string, ok bool) {
	if _, ok = parse(doc); !ok {
		return nil, "", false
	}
	tight = compact(doc)
	if len(tight) == len(doc) {
		return tight, layoutCompact, true
	}
	for _, layout := range []string{layoutSpaced, layoutIndented} {
		if laid, _ := laidOut(tight, layout, len(doc)); bytes.Equal(laid, doc) {
			return tight, layout, true
		}
	}
	return nil, "", false
}
