package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/text"
)

// A Node is a value of a document. encoding/json is not enough: it takes the
// last of two members of one name, matches names without regard to case, stops
// at the first problem and does not say where it is.
type Node struct {
	Kind byte   // '{' '[' '"' '0' 't' 'f' 'n'
	Text string // of a string, or of a number as it was written
	Keys []string
	Kids []*Node // members in the order of Keys, or elements

	// Raw is the value as the document spells it, if [Problems.Opaque] named it. An
	// object or list has no Keys and Kids then.
	Raw json.RawMessage

	at     int   // offset of its first byte in the document
	keysAt []int // the same for Keys; nil: a member is where its value is

	index map[string]int // of Keys, in an object with many members
}

// manyKeys is the number of members from which looking one up in a map is faster.
const manyKeys = 32

// MaxDepth is the number of objects and lists that may lie within each other.
const MaxDepth = 64

// Parse reads a whole document of at most maxBytes. A syntax error ends it, and
// there is no node then; members that occur twice are collected, and the first
// of them counts.
func Parse(data []byte, maxBytes int, p *Problems) *Node {
	if len(data) > maxBytes {
		p.Add(&Problem{Reason: TooLarge, Value: fmt.Sprintf("%d bytes", len(data)),
			Allowed: fmt.Sprintf("at most %d", maxBytes)})
		return nil
	}
	if !utf8.Valid(data) {
		p.Add(&Problem{Reason: Syntax, Err: errors.New("the document is not UTF-8")})
		return nil
	}
	if !json.Valid(data) { // checks all of the syntax, trailing data included
		var whole json.RawMessage
		p.Add(syntax(data, json.Unmarshal(data, &whole)))
		return nil
	}
	p.data = data
	r := reader{data: data, problems: p}
	n := r.value()
	if r.deep {
		return nil
	}
	return n
}

// syntax is a syntax error with its line and column.
func syntax(data []byte, err error) *Problem {
	p := &Problem{Reason: Syntax, Err: err}
	var at *json.SyntaxError
	if errors.As(err, &at) && at.Offset >= 0 && at.Offset <= int64(len(data)) {
		p.Line, p.Column = place(data, int(at.Offset)-1)
		p.Err = fmt.Errorf("line %d, column %d: %w", p.Line, p.Column, err)
	}
	return p
}

// place is the line and the column of a byte, both counted from 1. A column is a
// byte.
func place(data []byte, at int) (line, column int) {
	before := data[:max(at, 0)]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// A reader makes the nodes of a document whose syntax was checked: json.Decoder, which
// checks it again, takes several times as long.
type reader struct {
	data     []byte
	next     int // offset of what was not read yet
	problems *Problems
	path     []string // names and positions that lead to the value that is read
	deep     bool     // the document was too deep, and reading stopped
}

// pointer is the place of the value that is read. It is made where there is a
// problem: one for each value would take time beyond the size of the document.
func (r *reader) pointer() (at string) {
	for _, key := range r.path {
		at = Join(at, key)
	}
	return at
}

// begin skips what stands before the next value or bracket, and returns its first byte.
func (r *reader) begin() byte {
	for strings.IndexByte(" \t\r\n,:", r.data[r.next]) >= 0 {
		r.next++
	}
	return r.data[r.next]
}

// value reads one value, of which path is the place.
func (r *reader) value() *Node {
	n := &Node{Kind: r.begin(), at: r.next}
	if r.problems.Opaque != nil && r.problems.Opaque(r.path) {
		defer func() { n.Raw = r.data[n.at:r.next] }()
		if n.Kind == '{' || n.Kind == '[' {
			r.skip()
			return n
		}
	}
	switch n.Kind {
	case '{', '[':
		if len(r.path) >= MaxDepth {
			r.deep = true
			r.problems.at(n,
				&Problem{Pointer: r.pointer(), Reason: TooLarge, Value: "depth",
					Allowed: fmt.Sprintf("at most %d levels", MaxDepth)})
			return nil
		}
		closing := n.Kind + 2 // in ASCII the closing bracket is two after the opening one
		for r.next++; !r.deep && r.begin() != closing; {
			if n.Kind == '{' {
				r.member(n)
			} else {
				n.Kids = append(n.Kids, r.within(strconv.Itoa(len(n.Kids))))
			}
		}
		r.next++
	case '"':
		n.Text = r.text()
	case 't', 'n':
		r.next += len("true")
	case 'f':
		r.next += len("false")
	default:
		for r.next < len(r.data) && strings.IndexByte("+-.0123456789Ee", r.data[r.next]) >= 0 {
			r.next++
		}
		n.Kind, n.Text = '0', string(r.data[n.at:r.next])
	}
	return n
}

// text reads a string.
func (r *reader) text() string {
	from := r.next
	if escaped := r.skipText(); !escaped {
		return string(r.data[from+1 : r.next-1])
	}
	var s string
	_ = json.Unmarshal(r.data[from:r.next], &s)
	return s
}

// skipText moves behind a string and reports whether there are escapes in it.
func (r *reader) skipText() (escaped bool) {
	for r.next++; r.data[r.next] != '"'; r.next++ {
		if r.data[r.next] == '\\' {
			escaped = true
			r.next++
		}
	}
	r.next++
	return escaped
}

// skip moves behind an object or list.
func (r *reader) skip() {
	for depth := 0; ; {
		switch r.data[r.next] {
		case '"':
			r.skipText()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		r.next++
		if depth == 0 {
			return
		}
	}
}

// within reads a part of the value that path leads to.
func (r *reader) within(key string) *Node {
	r.path = append(r.path, key)
	n := r.value()
	r.path = r.path[:len(r.path)-1]
	return n
}

func (r *reader) member(n *Node) {
	r.begin()
	at := r.next
	key := r.text()
	kid := r.within(key)
	if n.add(key, kid) {
		return
	}
	if r.problems.Full() {
		return
	}
	r.problems.at(&Node{at: at},
		&Problem{Pointer: Join(r.pointer(), key), Reason: Duplicate, Allowed: "each member of an object once"})
}

// add adds a member and reports whether there was none of that name.
func (n *Node) add(key string, kid *Node) bool {
	if n.Member(key) != nil {
		return false
	}
	n.Keys = append(n.Keys, key)
	n.Kids = append(n.Kids, kid)
	switch {
	case n.index != nil:
		n.index[key] = len(n.Keys) - 1
	case len(n.Keys) == manyKeys:
		n.index = make(map[string]int, 2*manyKeys)
		for i, k := range n.Keys {
			n.index[k] = i
		}
	}
	return true
}

// Member is the member of that name, or nil.
func (n *Node) Member(key string) *Node {
	if n.index != nil {
		if i, ok := n.index[key]; ok {
			return n.Kids[i]
		}
		return nil
	}
	for i, k := range n.Keys {
		if k == key {
			return n.Kids[i]
		}
	}
	return nil
}

// maxName is how much of a member's name a pointer shows, in bytes. Line and
// column say where a longer one is.
const maxName = 256

// Join appends a member to a JSON pointer. A name that is too long is clipped.
func Join(at, key string) string {
	key = text.Clip(key, maxName)
	if strings.ContainsAny(key, "~/") {
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
	}
	return at + "/" + key
}

// What names the type of a value.
func (n *Node) What() string {
	switch n.Kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}

// JSON writes the value back: compact, numbers and the order of members as they were.
func (n *Node) JSON() json.RawMessage {
	var b bytes.Buffer
	n.write(&b, "")
	return b.Bytes()
}

// write puts a gap behind each colon and comma.
func (n *Node) write(b *bytes.Buffer, gap string) {
	if n.Raw != nil {
		_ = json.Compact(b, n.Raw)
		return
	}
	switch n.Kind {
	case '"':
		b.Write(Quote(n.Text))
	case '0':
		b.WriteString(n.Text)
	case 't':
		b.WriteString("true")
	case 'f':
		b.WriteString("false")
	case 'n':
		b.WriteString("null")
	default:
		b.WriteByte(n.Kind)
		for i, kid := range n.Kids {
			if i > 0 {
				b.WriteString("," + gap)
			}
			if n.Kind == '{' {
				b.Write(Quote(n.Keys[i]))
				b.WriteString(":" + gap)
			}
			kid.write(b, gap)
		}
		b.WriteByte(n.Kind + 2) // in ASCII the closing bracket is two after the opening one
	}
}

// lineWidth is where a value is broken into several lines.
const lineWidth = 120

// Pretty writes a value on one line if it fits, otherwise its parts on lines of
// their own.
func (n *Node) Pretty(b *bytes.Buffer, indent string) {
	var line bytes.Buffer
	n.write(&line, " ")
	if len(n.Kids) == 0 || n.fits(line.Len(), indent) {
		b.Write(line.Bytes())
		return
	}
	b.WriteByte(n.Kind)
	for i, kid := range n.Kids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + indent + "  ")
		if n.Kind == '{' {
			b.Write(Quote(n.Keys[i]))
			b.WriteString(": ")
		}
		kid.Pretty(b, indent+"  ")
	}
	b.WriteString("\n" + indent)
	b.WriteByte(n.Kind + 2)
}

// fits reports whether a value is best shown on one line. A list of several
// objects has a line for each.
func (n *Node) fits(length int, indent string) bool {
	if n.Kind == '[' && len(n.Kids) > 1 && n.Kids[0].Kind == '{' {
		return false
	}
	return len(indent) > 0 && length+len(indent) <= lineWidth
}

// Quote is a string as JSON, with < and & left readable.
func Quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has JSON
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
