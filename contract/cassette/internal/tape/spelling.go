package tape

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// A node is JSON with its texts and numbers as they were spelled.
type node = strictjson.Node

// maxDepth is the number of objects and lists within each other that a body kept as
// JSON has at most. Deeper ones are kept as texts.
const maxDepth = 500

// parse reads a document. ok is false if it is not JSON in UTF-8, or too deep.
func parse(doc []byte) (n *node, ok bool) { return strictjson.ParseSpelled(doc, maxDepth) }

// Canonical returns a request's body as a file keeps it: JSON compact and with its
// members sorted, which is the same value; anything else as it is.
func Canonical(body []byte) []byte {
	n, ok := parse(body)
	if !ok {
		return body
	}
	n.Sort()
	return n.Append(make([]byte, 0, len(body)), "")
}

// inOrder reports whether a document is sorted and has no needless escapes, as the files
// are that [File.Bytes] writes: its canonical form is found without a tree, which takes
// twice its memory.
func inOrder(doc []byte) bool {
	d, ok := jsonedit.Parse(doc)
	if !ok || !utf8.Valid(doc) {
		return false
	}
	for i := range d.Nodes {
		var before []byte
		for c := i + 1; d.Kind(i) == jsonedit.Object && c < int(d.Nodes[i].Next); c = int(d.Nodes[c].Next) {
			name := d.Text[d.Nodes[c].NameStart:d.Nodes[c].NameEnd]
			if bytes.Compare(before, name) > 0 {
				return false
			}
			before = name
		}
	}
	return !needless.Match(doc)
}

// needless finds escapes, and characters, that Canonical may write in another way.
var needless = regexp.MustCompile(`\\[/bfu]|[\x{2028}\x{2029}]`)

// compact returns valid JSON without white space between its tokens.
func compact(doc []byte) []byte { return jsonedit.Compact(make([]byte, 0, len(doc)), doc) }

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
	indented := layout == layoutIndented
	dst, open := make([]byte, 0, len(doc)+len(doc)/4), 0
	line := func() {
		if indented {
			dst = append(dst, '\n')
			for range open {
				dst = append(dst, "  "...)
			}
		}
	}
	for i := 0; i < len(doc) && len(dst) <= most; i++ {
		switch c := doc[i]; c {
		case '"':
			end := jsonedit.After(doc, i)
			dst = append(dst, doc[i:end]...)
			i = end - 1
		case '{', '[':
			if dst = append(dst, c); doc[i+1] == c+2 {
				i++
				dst = append(dst, c+2)
				continue
			}
			open++
			line()
		case '}', ']':
			open--
			line()
			dst = append(dst, c)
		case ':':
			dst = append(dst, ": "...)
		case ',':
			dst = append(dst, ',')
			if line(); !indented {
				dst = append(dst, ' ')
			}
		default:
			dst = append(dst, c)
		}
	}
	return dst, len(dst) <= most
}

// layoutOf finds the layout of a document, by which its compact form gives back its
// bytes. ok is false if there is none.
func layoutOf(doc []byte) (n *node, layout string, ok bool) {
	n, ok = parse(doc)
	if !ok {
		return nil, "", false
	}
	tight := compact(doc)
	if len(tight) == len(doc) {
		return n, layoutCompact, true
	}
	for _, layout := range []string{layoutSpaced, layoutIndented} {
		if laid, _ := laidOut(tight, layout, len(doc)); bytes.Equal(laid, doc) {
			return n, layout, true
		}
	}
	return nil, "", false
}
