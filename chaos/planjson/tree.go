package planjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A node is a value of a document. encoding/json is not enough: it takes the
// last of two members of one name, matches names without regard to case, stops
// at the first problem and does not say where it is.
type node struct {
	kind byte   // '{' '[' '"' '0' 't' 'f' 'n'
	text string // of a string, or of a number as it was written
	keys []string
	kids []*node // members in the order of keys, or elements
}

// maxDepth is the depth of a document: rule, trigger, params, parts, and a
// dozen nested combinators.
const maxDepth = 64

// parse reads a whole document. Syntax errors end it; duplicates are collected.
func parse(data []byte, maxBytes int, p *problems) *node {
	if len(data) > maxBytes {
		p.add(&Error{Reason: TooLarge, Value: fmt.Sprintf("%d bytes", len(data)), Allowed: fmt.Sprintf("at most %d", maxBytes)})
		return nil
	}
	if !utf8.Valid(data) {
		p.add(&Error{Reason: Syntax, Err: errors.New("the document is not UTF-8")})
		return nil
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil { // checks all of the syntax, trailing data included
		p.add(&Error{Reason: Syntax, Err: placed(data, err)})
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	t := treeReader{dec: dec, problems: p}
	n := t.value("", 0)
	if t.deep {
		return nil
	}
	return n
}

// placed adds line and column to a syntax error.
func placed(data []byte, err error) error {
	var at *json.SyntaxError
	if !errors.As(err, &at) || at.Offset < 0 || at.Offset > int64(len(data)) {
		return err
	}
	before := data[:at.Offset]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Errorf("line %d, column %d: %w", line, max(column, 1), err)
}

type treeReader struct {
	dec      *json.Decoder
	problems *problems
	deep     bool // the document was too deep, and reading stopped
}

// value reads one value; at is its place. The syntax was checked before.
func (t *treeReader) value(at string, depth int) *node {
	token, err := t.dec.Token()
	if err != nil || t.deep {
		return nil
	}
	switch v := token.(type) {
	case json.Delim:
		if depth >= maxDepth {
			t.deep = true
			t.problems.add(&Error{Pointer: at, Reason: TooLarge, Value: "depth", Allowed: fmt.Sprintf("at most %d levels", maxDepth)})
			return nil
		}
		n := &node{kind: byte(v)}
		for t.dec.More() && !t.deep {
			if v == '{' {
				t.member(n, at, depth)
			} else {
				n.kids = append(n.kids, t.value(at+"/"+strconv.Itoa(len(n.kids)), depth+1))
			}
		}
		_, _ = t.dec.Token() // the closing one
		return n
	case string:
		return &node{kind: '"', text: v}
	case json.Number:
		return &node{kind: '0', text: v.String()}
	case bool:
		if v {
			return &node{kind: 't'}
		}
		return &node{kind: 'f'}
	}
	return &node{kind: 'n'}
}

func (t *treeReader) member(n *node, at string, depth int) {
	token, _ := t.dec.Token()
	key, _ := token.(string)
	here := join(at, key)
	kid := t.value(here, depth+1)
	if n.member(key) != nil {
		t.problems.add(&Error{Pointer: here, Reason: Duplicate, Allowed: "each member of an object once"})
		return
	}
	n.keys = append(n.keys, key)
	n.kids = append(n.kids, kid)
}

// member is the member of that name, or nil.
func (n *node) member(key string) *node {
	for i, k := range n.keys {
		if k == key {
			return n.kids[i]
		}
	}
	return nil
}

// join appends a member to a JSON pointer.
func join(at, key string) string {
	if strings.ContainsAny(key, "~/") {
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
	}
	return at + "/" + key
}

// what names the type of a value.
func (n *node) what() string {
	switch n.kind {
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

// json writes the value back: compact, numbers and the order of members as they were.
func (n *node) json() json.RawMessage {
	var b bytes.Buffer
	n.write(&b, "")
	return b.Bytes()
}

// write puts a gap behind each colon and comma.
func (n *node) write(b *bytes.Buffer, gap string) {
	switch n.kind {
	case '"':
		b.Write(quote(n.text))
	case '0':
		b.WriteString(n.text)
	case 't':
		b.WriteString("true")
	case 'f':
		b.WriteString("false")
	case 'n':
		b.WriteString("null")
	default:
		b.WriteByte(n.kind)
		for i, kid := range n.kids {
			if i > 0 {
				b.WriteString("," + gap)
			}
			if n.kind == '{' {
				b.Write(quote(n.keys[i]))
				b.WriteString(":" + gap)
			}
			kid.write(b, gap)
		}
		b.WriteByte(n.kind + 2) // in ASCII the closing bracket is two after the opening one
	}
}

// lineWidth is where a value is broken into several lines.
const lineWidth = 120

// pretty writes a value on one line if it fits, otherwise its parts on lines of
// their own.
func (n *node) pretty(b *bytes.Buffer, indent string) {
	var line bytes.Buffer
	n.write(&line, " ")
	if len(n.kids) == 0 || n.fits(line.Len(), indent) {
		b.Write(line.Bytes())
		return
	}
	b.WriteByte(n.kind)
	for i, kid := range n.kids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + indent + "  ")
		if n.kind == '{' {
			b.Write(quote(n.keys[i]))
			b.WriteString(": ")
		}
		kid.pretty(b, indent+"  ")
	}
	b.WriteString("\n" + indent)
	b.WriteByte(n.kind + 2)
}

// fits reports whether a value is best shown on one line. A list of several
// objects has a line for each.
func (n *node) fits(length int, indent string) bool {
	if n.kind == '[' && len(n.kids) > 1 && n.kids[0].kind == '{' {
		return false
	}
	return len(indent) > 0 && length+len(indent) <= lineWidth
}

// quote is a string as JSON, with < and & left readable.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has JSON
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
