package jsonedit

import (
	"strconv"

	"github.com/shakedown-go/shakedown/internal/text"
)

// What follows tells where a [Value] stands in the document that it was read from. A value that was put there since has
// no place.

// Absent stands for an empty object that an object leaves out. Its place is that of the object.
func (v *Value) Absent(name string) *Value {
	return &Value{doc: v.doc, node: v.node, kind: Object, raw: []byte("{}"), tail: []byte("}"), up: v,
		rare: &rare{absent: name}}
}

// maxName is how much of a member's name a pointer shows, in bytes.
const maxName = 256

// Join appends a member to a JSON pointer that is shown. A name that is too long is clipped.
func Join(at, key string) string { return PointerTo(at, text.Clip(key, maxName)) }

// Pointer is the place as a JSON pointer (RFC 6901) that is shown: "" of the document.
func (v *Value) Pointer() (pointer string) {
	switch {
	case v == nil || v.doc == nil:
		return ""
	case v.rare != nil && v.rare.absent != "":
		return Join(v.up.Pointer(), v.rare.absent)
	}
	for _, key := range v.doc.Keys(int(v.node)) {
		pointer = Join(pointer, key)
	}
	return pointer
}

// Origin returns the text of the document and where in it the value begins, and its name; equal: it has none. text is
// nil of a value without a place.
func (v *Value) Origin() (text []byte, value, name int) {
	if v == nil || v.doc == nil {
		return nil, 0, 0
	}
	n := v.doc.Nodes[v.node]
	if n.NameStart == n.NameEnd {
		return v.doc.Text, int(n.Start), int(n.Start)
	}
	return v.doc.Text, int(n.Start), int(n.NameStart)
}

// Part is the member of that name, or the element of that number; nil: there is none.
func (v *Value) Part(key string) *Value {
	if v.Kind() != Array {
		return v.Get(key)
	}
	i, err := strconv.Atoi(key)
	if err != nil {
		return nil
	}
	return v.At(i)
}

var kindNames = map[Kind]string{Object: "an object", Array: "a list", String: "a string", Number: "a number",
	Null: "null", Bool: "a boolean"}

// What names the type of the value.
func (v *Value) What() string { return kindNames[v.Kind()] }

// Given reports whether a document has a member at a JSON pointer, as [MemberAt] finds it, that is neither null nor an
// empty text.
func Given(text []byte, pointer string) bool {
	d, member, ok := MemberAt(text, pointer)
	return ok && d.Kind(member) != Null && string(d.Raw(member)) != `""`
}

// Without returns a document without the member at a JSON pointer, as [MemberAt] finds it. If it has none, that is the
// document itself, which then is not copied.
func Without(text []byte, pointer string) []byte {
	if pointer == "" {
		return text // of most tools, and unread
	}
	if d, member, ok := MemberAt(text, pointer); ok {
		return d.Apply(d.Remove(member)...)
	}
	return text
}

// WithText returns a document with a text as its member at a JSON pointer. It makes the objects on the way that are
// not there or null, also the document if that is empty or null. ok is false if the pointer leads through something
// else.
func WithText(doc []byte, pointer, member string) (with []byte, ok bool) {
	root, _ := ParseValue(doc)
	if len(doc) == 0 || root.Kind() == Null {
		root = Of(struct{}{})
	}
	at := root
	for _, name := range PointerKeys(pointer) {
		if next := at.Get(name); next == nil || next.Kind() == Null {
			at.Set(name, Of(struct{}{}))
		}
		at = at.Get(name)
	}
	if at == nil || at == root {
		return nil, false
	}
	at.Put(Quote(member))
	return root.JSON(), true
}
