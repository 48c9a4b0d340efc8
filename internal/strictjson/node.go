package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/jsonedit"
	"github.com/shakedown-go/shakedown/internal/text"
)

// A Node is a value of a document. It comes from [Parse] or [ParseSpelled], from another
// parser ([Node.At], [Node.AddAt]), or is made by hand of Kind, Text, Keys and Kids.
type Node struct {
	Kind byte   // '{' '[' '"' '0' 't' 'f' 'n'
	Text string // of a string, or of a number as it was written
	Keys []string
	Kids []*Node // members in the order of Keys, or elements

	// Raw is the value as the document spells it, a part of that document: of a value that
	// [Problems.Opaque] named, and of each text, number and word that [ParseSpelled] read. An
	// opaque object or list has no Keys and Kids.
	Raw json.RawMessage

	at    int64  // offset of its first byte in the document, or its place: see lineAndColumn
	up    *Node  // the object or list that it was read into; nil: it is a whole document
	names *names // nil: nothing but Keys is known of the members' names
}

// names are what is known of the names of an object's members besides Keys.
type names struct {
	spelled [][]byte       // with their quotes, in the order of Keys; nil: as [Quote] has them
	at      []int64        // the offsets of their first bytes; nil: a member is where its value is
	index   map[string]int // of Keys, in an object with many members
}

// manyKeys is the number of members from which looking one up in a map is faster.
const manyKeys = 32

// MaxDepth is the number of objects and lists that may lie within each other.
const MaxDepth = 64

// Parse reads a whole document of at most maxBytes. A syntax error ends it, and
// there is no node then; members that occur twice are collected, and the first
// of them counts. Texts and names of the tree keep a copy of the whole document; those that a
// [Reader] binds do not.
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
	r := reader{doc: doc, text: string(data), problems: p, maxDepth: MaxDepth}
	n := r.value(0)
	if r.deep {
		return nil
	}
	return n
}

// ParseSpelled reads a document of which nothing may be lost: texts and numbers as they are
// spelled, and all of several members of one name. ok is false if it is not JSON in UTF-8, or if
// more than maxDepth objects and lists lie within each other. doc must not be changed while the
// tree is in use.
func ParseSpelled(doc []byte, maxDepth int) (n *Node, ok bool) {
	d, ok := jsonedit.Parse(doc)
	if !ok || !utf8.Valid(doc) {
		return nil, false
	}
	r := reader{doc: d, text: string(doc), problems: new(Problems), maxDepth: maxDepth, spelled: true}
	n = r.value(0)
	return n, !r.deep
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

// A reader makes the nodes of a document.
type reader struct {
	doc      *jsonedit.Doc
	text     string // that of doc
	problems *Problems
	maxDepth int
	depth    int
	spelled  bool     // see [ParseSpelled]
	path     []string // names and positions that lead to the value; empty unless they are asked for
	deep     bool     // the document was too deep, and reading stopped
	free     []Node   // made in one piece, for the values to come
}

// value reads the value that is node i of the document.
func (r *reader) value(i int) *Node {
	if len(r.free) == 0 {
		r.free = make([]Node, min(64, len(r.doc.Nodes)-i))
	}
	n := &r.free[0]
	r.free = r.free[1:]
	span := r.doc.Nodes[i]
	raw := r.text[span.Start:span.End]
	n.Kind, n.at = raw[0], int64(span.Start)
	isPart := n.Kind == '{' || n.Kind == '['
	opaque := r.problems.Opaque != nil && r.problems.Opaque(r.path)
	if opaque || r.spelled && !isPart {
		n.Raw = r.doc.Raw(i)
	}
	switch n.Kind {
	case '"':
		n.Text = r.unquoted(span.Start, span.End)
	case 't', 'f', 'n':
	case '{', '[':
		if !opaque {
			r.parts(n, i)
		}
	default:
		n.Kind, n.Text = '0', raw
	}
	return n
}

// unquoted is the text of a string that stands in the document.
func (r *reader) unquoted(from, to int32) string {
	raw := r.text[from+1 : to-1]
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return jsonedit.Unquote(r.doc.Text[from:to])
}

// parts reads the members or elements of n, which is node i of the document.
func (r *reader) parts(n *Node, i int) {
	if r.depth++; r.depth > r.maxDepth {
		r.deep = true
		r.problems.at(n, &Problem{Pointer: r.pointer(i), Reason: TooLarge, Value: "depth",
			Allowed: fmt.Sprintf("at most %d levels", r.maxDepth)})
		return
	}
	nodes, count := r.doc.Nodes, 0
	for c := i + 1; c < int(nodes[i].Next); c = int(nodes[c].Next) {
		count++
	}
	n.Kids = make([]*Node, 0, count)
	if n.Kind == '{' {
		n.Keys = make([]string, 0, count)
		if r.spelled {
			n.names = &names{spelled: make([][]byte, 0, count)}
		}
	}
	for c := i + 1; c < int(nodes[i].Next) && !r.deep; c = int(nodes[c].Next) {
		r.part(n, c)
	}
	r.depth--
}

// part reads node c of the document, which is a member or element of n.
func (r *reader) part(n *Node, c int) {
	span := r.doc.Nodes[c]
	key := ""
	if n.Kind == '{' {
		key = r.unquoted(span.NameStart, span.NameEnd)
	}
	if r.problems.Opaque != nil {
		step := key
		if n.Kind == '[' {
			step = strconv.Itoa(int(span.Index))
		}
		r.path = append(r.path, step)
		defer func() { r.path = r.path[:len(r.path)-1] }()
	}
	kid := r.value(c)
	kid.up = n
	switch {
	case n.Kind == '[':
		n.Kids = append(n.Kids, kid)
	case r.spelled:
		n.Keys, n.Kids = append(n.Keys, key), append(n.Kids, kid)
		n.names.spelled = append(n.names.spelled, r.doc.Text[span.NameStart:span.NameEnd])
	case !n.Add(key, kid) && !r.problems.Full():
		r.problems.at(&Node{at: int64(span.NameStart)}, &Problem{Pointer: r.pointer(c), Reason: Duplicate,
			Allowed: "each member of an object once"})
	}
}

// pointer is the place of a node of the document. It is made where there is a
// problem: one for each value would take time beyond the size of the document.
func (r *reader) pointer(i int) (at string) {
	var keys []string
	for ; r.doc.Nodes[i].Parent >= 0; i = int(r.doc.Nodes[i].Parent) {
		if r.doc.IsMember(i) {
			keys = append(keys, r.doc.Name(i))
		} else {
			keys = append(keys, strconv.Itoa(int(r.doc.Nodes[i].Index)))
		}
	}
	for _, key := range slices.Backward(keys) {
		at = Join(at, key)
	}
	return at
}

// Add adds a member to an object and reports whether there was none of that name; else it adds
// nothing.
func (n *Node) Add(key string, kid *Node) bool {
	if n.Member(key) != nil {
		return false
	}
	n.Keys = append(n.Keys, key)
	n.Kids = append(n.Kids, kid)
	if kid != nil && kid.up == nil {
		kid.up = n
	}
	switch {
	case n.names != nil && n.names.index != nil:
		n.names.index[key] = len(n.Keys) - 1
	case len(n.Keys) == manyKeys:
		index := make(map[string]int, 2*manyKeys)
		for i, k := range n.Keys {
			index[k] = i
		}
		n.more().index = index
	}
	return true
}

// Set adds a member, of a name that is new, to an object that is made by hand.
func (n *Node) Set(name string, kid *Node) {
	n.Keys, n.Kids = append(n.Keys, name), append(n.Kids, kid)
}

func (n *Node) more() *names {
	if n.names == nil {
		n.names = new(names)
	}
	return n.names
}

// Member is the member of that name, the first of several, or nil.
func (n *Node) Member(key string) *Node {
	i := -1
	if n.names != nil && n.names.index != nil {
		if known, ok := n.names.index[key]; ok {
			i = known
		}
	} else {
		i = slices.Index(n.Keys, key)
	}
	if i < 0 {
		return nil
	}
	return n.Kids[i]
}

// Pointer is the place of a value that was read, as a JSON pointer: "" of the document.
func (n *Node) Pointer() string {
	if n == nil || n.up == nil {
		return ""
	}
	i := slices.Index(n.up.Kids, n)
	switch {
	case i < 0 && n.Text != "": // see Absent
		return Join(n.up.Pointer(), n.Text)
	case i < 0: // see Inside
		return n.up.Pointer()
	}
	if n.up.Kind == '{' {
		return Join(n.up.Pointer(), n.up.Keys[i])
	}
	return n.up.Pointer() + "/" + strconv.Itoa(i)
}

// Absent stands for an empty object that an object leaves out.
func (n *Node) Absent(name string) *Node { return &Node{Kind: '{', Text: name, at: n.at, up: n} }

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
