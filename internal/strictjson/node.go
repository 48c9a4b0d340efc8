package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Node is a value of a document. It comes from [Parse], from another parser ([Node.At],
// [Node.AddAt]), or is made by hand of Kind, Text, Keys and Kids.
type Node struct {
	Kind byte   // '{' '[' '"' '0' 't' 'f' 'n'
	Text string // of a string, or of a number as it was written
	Keys []string
	Kids []*Node // members in the order of Keys, or elements

	// Raw is the value as the document spells it, a part of that document, if [Problems.Opaque]
	// named it. An opaque object or list has no Keys and Kids.
	Raw json.RawMessage

	at, nameAt int64          // where it and its name begin: an offset in the document, or see lineAndColumn
	up         *Node          // the object or list that it was read into; nil: it is a whole document
	index      map[string]int // of Keys, in an object with many members
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
	doc, ok := jsonedit.Parse(data)
	if !ok {
		var whole json.RawMessage
		p.Add(syntax(data, json.Unmarshal(data, &whole)))
		return nil
	}
	p.data = data
	root := new(Node)
	if !p.read(root, doc, 0, make([]string, 0, MaxDepth)) {
		return nil
	}
	return root
}

// syntax is a syntax error with its line and column.
func syntax(data []byte, err error) *Problem {
	if err == nil {
		err = errors.New("the document is not JSON")
	}
	p := &Problem{Reason: Syntax, Err: err}
	var at *json.SyntaxError
	if errors.As(err, &at) && at.Offset >= 0 && at.Offset <= int64(len(data)) {
		p.Line, p.Column = place(data, int(at.Offset)-1)
	}
	return p
}

// read fills a node with value i, to which path leads, in the order of the text. It returns false
// if the value is too deep.
func (p *Problems) read(n *Node, d *jsonedit.Doc, i int, path []string) bool {
	n.Kind, n.at = d.Raw(i)[0], int64(d.Nodes[i].Start)
	opaque := p.Opaque != nil && p.Opaque(path)
	if opaque {
		n.Raw = d.Raw(i)
	}
	switch kind := d.Kind(i); {
	case kind == jsonedit.String:
		n.Text = d.String(i)
	case kind == jsonedit.Number:
		n.Kind, n.Text = '0', string(d.Raw(i))
	case kind != jsonedit.Object && kind != jsonedit.Array, opaque:
	case len(path) == MaxDepth:
		p.at(n, &Problem{Pointer: pointerTo(path), Reason: TooLarge, Value: "depth",
			Allowed: fmt.Sprintf("at most %d levels", MaxDepth)})
		return false
	default:
		return p.readParts(n, d, i, path)
	}
	return true
}

func (p *Problems) readParts(n *Node, d *jsonedit.Doc, i int, path []string) bool {
	parts := d.Children(i)
	n.Kids = make([]*Node, 0, len(parts))
	if n.Kind == '{' {
		n.Keys = make([]string, 0, len(parts))
	}
	for k, part := range parts {
		key := d.Name(part)
		if n.Kind == '[' {
			key = strconv.Itoa(k)
		}
		kid, path := &Node{up: n}, append(path, key)
		if n.Kind == '[' {
			n.Kids = append(n.Kids, kid)
		} else if !n.Add(key, kid) && !p.Full() {
			p.at(&Node{at: int64(d.Nodes[part].NameStart)}, &Problem{Pointer: pointerTo(path), Reason: Duplicate,
				Allowed: "each member of an object once"})
		}
		if !p.read(kid, d, part, path) {
			return false
		}
	}
	return true
}

// pointerTo is the place of a value, which may lie in a member that is there twice: no Node has that.
func pointerTo(path []string) (pointer string) {
	for _, key := range path {
		pointer = Join(pointer, key)
	}
	return pointer
}

// Add adds a member to an object and reports whether there was none of that name; else it adds
// nothing.
func (n *Node) Add(key string, kid *Node) bool {
	if n.Member(key) != nil {
		return false
	}
	n.Keys, n.Kids = append(n.Keys, key), append(n.Kids, kid)
	if kid.up == nil {
		kid.up = n
	}
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
	i, known := n.index[key]
	if n.index == nil {
		i = slices.Index(n.Keys, key)
		known = i >= 0
	}
	if !known {
		return nil
	}
	return n.Kids[i]
}

// Part is the member of that name, or the element of that number; nil: there is none.
func (n *Node) Part(key string) *Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != '[':
		return n.Member(key)
	}
	if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Kids) {
		return n.Kids[i]
	}
	return nil
}

// Pointer is the place of a value that was read, as a JSON pointer: "" of the document.
func (n *Node) Pointer() string {
	if n == nil || n.up == nil {
		return ""
	}
	switch i := slices.Index(n.up.Kids, n); {
	case i >= 0 && n.up.Kind == '{':
		return Join(n.up.Pointer(), n.up.Keys[i])
	case i >= 0:
		return n.up.Pointer() + "/" + strconv.Itoa(i)
	case n.Text != "": // see Absent
		return Join(n.up.Pointer(), n.Text)
	}
	return n.up.Pointer() // see Inside
}

// Absent stands for an empty object that an object leaves out.
func (n *Node) Absent(name string) *Node { return &Node{Kind: '{', Text: name, at: n.at, up: n} }

// maxName is how much of a member's name a pointer shows, in bytes. Line and
// column say where a longer one is.
const maxName = 256

// Join appends a member to a JSON pointer. A name that is too long is clipped.
func Join(at, key string) string { return jsonedit.PointerTo(at, text.Clip(key, maxName)) }

var kindNames = map[byte]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number", 'n': "null",
	't': "a boolean", 'f': "a boolean"}

// What names the type of a value.
func (n *Node) What() string { return kindNames[n.Kind] }

// What follows is for other parsers, such as one of YAML.

// columns is more than the columns that a place keeps.
const columns = 1 << 24

// lineAndColumn is a place that is known by its line and column: below 0, where no offset is.
func lineAndColumn(line, column int) int64 {
	return -int64(line)*columns - int64(min(column, columns-1))
}

// At sets the line and the column of a value, both from 1, and returns n.
func (n *Node) At(line, column int) *Node {
	n.at = lineAndColumn(line, column)
	return n
}

// Inside is a node at a place in an object or list that is none of its parts. Its pointer is that
// of n.
func (n *Node) Inside(line, column int) *Node { return (&Node{up: n}).At(line, column) }

// AddAt is [Node.Add] with the place of the name.
func (n *Node) AddAt(key string, line, column int, kid *Node) bool {
	kid.nameAt = lineAndColumn(line, column)
	return n.Add(key, kid)
}

// AddElement adds an element to a list.
func (n *Node) AddElement(kid *Node) {
	n.Kids = append(n.Kids, kid)
	kid.up = n
}

// Key is a node at the place of the name of the i-th member, or of its value if the
// place of the name is not known.
func (n *Node) Key(i int) *Node {
	if n.Kids[i].nameAt == 0 {
		return n.Kids[i]
	}
	return &Node{Kind: '"', Text: n.Keys[i], at: n.Kids[i].nameAt}
}
