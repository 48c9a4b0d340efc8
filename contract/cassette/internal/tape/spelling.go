package tape

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/strictjson"
)

// A node is JSON with its texts and numbers as they were spelled. It is written in
// one of several layouts.
type node struct {
	kind  byte     // '{', '[', or 0 for all else
	raw   []byte   // of all else
	keys  [][]byte // with their quotes
	kids  []node
	width int // of the value on one line, once measured
}

// maxDepth is the number of objects and lists within each other that a body kept as
// JSON has at most. Deeper ones are kept as texts.
const maxDepth = 500

// parse reads a document. ok is false if it is not JSON in UTF-8, or too deep.
func parse(doc []byte) (n node, ok bool) {
	if !keptAsJSON(doc) {
		return node{}, false
	}
	return scan(doc), true
}

func keptAsJSON(doc []byte) bool {
	return json.Valid(doc) && utf8.Valid(doc) && depth(doc) <= maxDepth
}

// scan reads valid JSON.
func scan(doc []byte) node {
	s := scanner{doc: doc}
	return s.value()
}

// depth is how many brackets are open at once in valid JSON.
func depth(doc []byte) (most int) {
	open := 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			i += textLen(doc[i:]) - 1
		case '{', '[':
			open++
			most = max(most, open)
		case '}', ']':
			open--
		}
	}
	return most
}

// textLen is the length of the JSON string at the beginning of doc, quotes included.
func textLen(doc []byte) int {
	for i := 1; ; i++ {
		switch doc[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
}

// A scanner reads valid JSON.
type scanner struct {
	doc  []byte
	next int
}

func (s *scanner) begin() byte {
	for space(s.doc[s.next]) || s.doc[s.next] == ',' || s.doc[s.next] == ':' {
		s.next++
	}
	return s.doc[s.next]
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func (s *scanner) value() (n node) {
	switch c := s.begin(); c {
	case '{', '[':
		n.kind = c
		for s.next++; s.begin() != c+2; { // in ASCII the closing bracket is two after the opening one
			if c == '{' {
				n.keys = append(n.keys, s.text())
			}
			n.kids = append(n.kids, s.value())
		}
		s.next++
	case '"':
		n.raw = s.text()
	default:
		from := s.next
		for s.next < len(s.doc) && !space(s.doc[s.next]) && strings.IndexByte(",]}", s.doc[s.next]) < 0 {
			s.next++
		}
		n.raw = s.doc[from:s.next]
	}
	return n
}

func (s *scanner) text() []byte {
	from := s.next
	s.next += textLen(s.doc[from:])
	return s.doc[from:s.next]
}

// sort sorts members by their names and writes texts without needless escapes, which
// leaves the value as it is.
func (n *node) sort() {
	n.raw = respelled(n.raw)
	for i := range n.kids {
		n.kids[i].sort()
	}
	if n.kind != '{' {
		return
	}
	order := make([]int, len(n.keys))
	for i := range n.keys {
		n.keys[i] = respelled(n.keys[i])
		order[i] = i
	}
	byName := func(a, b int) int { return bytes.Compare(n.keys[a], n.keys[b]) }
	if slices.IsSortedFunc(order, byName) {
		return
	}
	slices.SortStableFunc(order, byName)
	keys, kids := make([][]byte, len(order)), make([]node, len(order))
	for i, at := range order {
		keys[i], kids[i] = n.keys[at], n.kids[at]
	}
	n.keys, n.kids = keys, kids
}

func respelled(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return strictjson.Quote(unquoted(raw))
}

// unquoted is the value of a JSON string.
func unquoted(raw []byte) (s string) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	_ = json.Unmarshal(raw, &s) // the syntax was checked
	return s
}

// appendLine appends the value on one line, with gap behind each colon and comma.
func (n *node) appendLine(dst []byte, gap string) []byte {
	if n.kind == 0 {
		return append(dst, n.raw...)
	}
	dst = append(dst, n.kind)
	for i := range n.kids {
		if i > 0 {
			dst = append(append(dst, ','), gap...)
		}
		if n.kind == '{' {
			dst = append(append(append(dst, n.keys[i]...), ':'), gap...)
		}
		dst = n.kids[i].appendLine(dst, gap)
	}
	return append(dst, n.kind+2)
}

// measure sets the widths.
func (n *node) measure() int {
	n.width = len(n.raw)
	if n.kind != 0 {
		n.width = 2 + 2*max(len(n.kids)-1, 0)
	}
	for i := range n.kids {
		n.width += n.kids[i].measure()
	}
	for _, key := range n.keys {
		n.width += len(key) + 2
	}
	return n.width
}

// lineWidth is where a value is broken into several lines.
const lineWidth = 120

// appendLines appends the value, which was measured, on one line if it fits, else its
// parts on lines of their own.
func (n *node) appendLines(dst []byte, indent string) []byte {
	several := n.kind == '[' && len(n.kids) > 1 && n.kids[0].kind == '{' // a line for each
	column := len(dst) - 1 - bytes.LastIndexByte(dst, '\n')
	if len(n.kids) == 0 || !several && column+n.width <= lineWidth {
		return n.appendLine(dst, " ")
	}
	dst = append(dst, n.kind)
	deeper := indent + "  "
	for i := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, '\n'), deeper...)
		if n.kind == '{' {
			dst = append(append(dst, n.keys[i]...), ": "...)
		}
		dst = n.kids[i].appendLines(dst, deeper)
	}
	return append(append(append(dst, '\n'), indent...), n.kind+2)
}

// Canonical returns a request's body as a file keeps it: JSON compact and with its
// members sorted, which is the same value; anything else as it is.
func Canonical(body []byte) []byte {
	if !keptAsJSON(body) {
		return body
	}
	return canonical(body)
}

// canonical is Canonical of a body that is kept as JSON.
func canonical(body []byte) []byte {
	n := scan(body)
	n.sort()
	return n.appendLine(make([]byte, 0, len(body)), "")
}

// compact returns valid JSON without white space between its tokens.
func compact(doc []byte) []byte {
	dst := make([]byte, 0, len(doc))
	for i := 0; i < len(doc); {
		from := i
		switch {
		case space(doc[i]):
			i++
			continue
		case doc[i] == '"':
			i += textLen(doc[i:])
		default:
			for i < len(doc) && doc[i] != '"' && !space(doc[i]) {
				i++
			}
		}
		dst = append(dst, doc[from:i]...)
	}
	return dst
}

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
			n := textLen(doc[i:])
			dst = append(dst, doc[i:i+n]...)
			i += n - 1
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
func layoutOf(doc []byte) (n node, layout string, ok bool) {
	n, ok = parse(doc)
	if !ok {
		return node{}, "", false
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
	return node{}, "", false
}
