// Package jsonedit changes parts of a JSON document and leaves every other byte as it is.
//
//	d, ok := jsonedit.Parse([]byte(`{"id": 7, "total": 19.90}`))
//	i, _ := d.Member(0, "total")
//	text := d.Apply(d.Replace(i, []byte("1.99"))) // {"id": 7, "total": 1.99}
//
// Decoding into Go values and encoding them again loses the order of members, the spelling of numbers, digits of large
// ones, and white space. Here a document is its text and an index of where each value stands; an edit exchanges a span
// of the text.
//
// A [Doc] is immutable and safe for concurrent use; callers choose a place by its path and make all edits at once. A
// [Value] is one that is read part by part and changed in place; it knows its place in the text. The strict reader of
// package strictjson reads Values.
//
// What counts as JSON is what encoding/json accepts. Parsing is one pass. Strings are read and written as encoding/json
// does, except that bytes that are not UTF-8 stay.
package jsonedit

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// A Kind is the type of a value.
type Kind byte

// The kinds.
const (
	Null   Kind = 'n'
	Bool   Kind = 'b'
	Number Kind = '0'
	String Kind = '"'
	Array  Kind = '['
	Object Kind = '{'
)

// A Node is one value of a document: where its text begins and ends, and the same of its name, quotes included, where
// it is the member of an object.
type Node struct {
	Start, End         int32
	NameStart, NameEnd int32 // equal: it has no name
	Parent             int32 // -1: it is the document
	Next               int32 // the first node that is not below this one
	Index              int32 // its place among its siblings
}

// A Doc is a parsed document. Nodes are in the order of the text: parents before their children, node 0 is the
// document.
type Doc struct {
	Text  []byte
	Nodes []Node
}

// Kind returns the type of node i.
func (d *Doc) Kind(i int) Kind { return kindOf(d.Text[d.Nodes[i].Start]) }

// kindOf returns the type of the value that begins with a byte.
func kindOf(c byte) Kind {
	switch c {
	case 'n', '"', '[', '{':
		return Kind(c)
	case 't', 'f':
		return Bool
	}
	return Number
}

// Raw returns the text of node i, which must not be changed.
func (d *Doc) Raw(i int) []byte { return d.Text[d.Nodes[i].Start:d.Nodes[i].End] }

// String returns the value of node i if it is a string, and "" otherwise.
func (d *Doc) String(i int) string {
	if d.Kind(i) != String {
		return ""
	}
	return Unquote(d.Raw(i))
}

// Name returns the name of member i; "": node i is not a member.
func (d *Doc) Name(i int) string {
	n := d.Nodes[i]
	if n.NameStart == n.NameEnd {
		return ""
	}
	return Unquote(d.Text[n.NameStart:n.NameEnd])
}

// IsMember reports whether node i is a member of an object.
func (d *Doc) IsMember(i int) bool { return d.Nodes[i].NameStart != d.Nodes[i].NameEnd }

// Children returns the nodes directly below node i.
func (d *Doc) Children(i int) []int {
	var list []int
	for c := i + 1; c < int(d.Nodes[i].Next); c = int(d.Nodes[c].Next) {
		list = append(list, c)
	}
	return list
}

// Member finds the member of an object; of several with one name, the last, as encoding/json has it.
func (d *Doc) Member(object int, name string) (i int, ok bool) {
	if d.Kind(object) != Object {
		return 0, false
	}
	for c := object + 1; c < int(d.Nodes[object].Next); c = int(d.Nodes[c].Next) {
		if n := d.Nodes[c]; reads(d.Text[n.NameStart:n.NameEnd], name) {
			i, ok = c, true
		}
	}
	return i, ok
}

// Repeated returns the members whose name an earlier member of the same object has, in the order of the text.
func (d *Doc) Repeated() (list []int) {
	type member struct {
		name []byte
		node int
	}
	var members []member
	for i := range d.Nodes {
		if d.Kind(i) != Object {
			continue
		}
		members = members[:0]
		for k := i + 1; k < int(d.Nodes[i].Next); k = int(d.Nodes[k].Next) {
			name := d.Text[d.Nodes[k].NameStart+1 : d.Nodes[k].NameEnd-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				name = []byte(d.Name(k))
			}
			members = append(members, member{name, k})
		}
		slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
		for k := range max(0, len(members)-1) {
			if bytes.Equal(members[k].name, members[k+1].name) {
				list = append(list, members[k+1].node)
			}
		}
	}
	slices.Sort(list)
	return list
}

// reads is Unquote(quoted) == text without a copy of most names.
func reads(quoted []byte, text string) bool {
	return string(quoted[1:len(quoted)-1]) == text || bytes.IndexByte(quoted, '\\') >= 0 && Unquote(quoted) == text
}

var (
	quotes   = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	tildes   = strings.NewReplacer("~", "~0", "/", "~1")
	untildes = strings.NewReplacer("~1", "/", "~0", "~")
)

// PointerKeys are the keys of a JSON pointer (RFC 6901); that to the document has none.
func PointerKeys(pointer string) (keys []string) {
	if pointer == "" {
		return nil
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		keys = append(keys, untildes.Replace(part))
	}
	return keys
}

// MemberAt reads a document and finds the member of an object to which a JSON pointer leads, through objects alone. ok
// is false if text is not JSON, or has no such member.
func MemberAt(text []byte, pointer string) (d *Doc, member int, ok bool) {
	d, ok = Parse(text)
	for _, name := range PointerKeys(pointer) {
		if ok {
			member, ok = d.Member(member, name)
		}
	}
	return d, member, ok && d.IsMember(member)
}

// PointerTo appends the steps to a member or element to a JSON pointer (RFC 6901).
func PointerTo(at string, keys ...string) string {
	var b strings.Builder
	b.WriteString(at)
	for _, key := range keys {
		b.WriteByte('/')
		_, _ = tildes.WriteString(&b, key)
	}
	return b.String()
}

// Path returns the path of node i as package jsonpath reads it, such as $['items'][0].
func (d *Doc) Path(i int) string {
	return "$" + strings.Join(d.steps(i, PathTo, func(index string) string { return "[" + index + "]" }), "")
}

// Keys returns the names and indices that lead to node i.
func (d *Doc) Keys(i int) []string {
	plain := func(key string) string { return key }
	return d.steps(i, plain, plain)
}

// steps returns the steps to node i, in the forms of members and of elements.
func (d *Doc) steps(i int, member, element func(key string) string) (steps []string) {
	for ; d.Nodes[i].Parent >= 0; i = int(d.Nodes[i].Parent) {
		if d.IsMember(i) {
			steps = append(steps, member(d.Name(i)))
		} else {
			steps = append(steps, element(strconv.Itoa(int(d.Nodes[i].Index))))
		}
	}
	slices.Reverse(steps)
	return steps
}

// PathTo is the step of a path to a member.
func PathTo(name string) string {
	return "['" + quotes.Replace(name) + "']"
}
