package jsonedit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// A Value is one place of a document that is changed in place. Each change is visible to all later reads, for callers
// that take a document apart step by step:
//
//	v, ok := jsonedit.ParseValue(body)
//	v.Get("choices").At(0).Get("message").SetText("content", "")
//	body = v.Bytes()
//
// Every method may be called on a nil Value, which stands for a place that does not exist. A Value is not safe for
// concurrent use.
type Value struct {
	doc   *Doc // that of parts; nil: raw was not parsed yet
	node  int32
	kind  Kind
	raw   []byte // nil: something within was changed
	parts []part // of an object or list, once they were asked for
	tail  []byte // what stands after them; nil: they were not asked for
	up    *Value
	rare  *rare // nil of most: values are made in great numbers
}

// A rare is what few values have.
type rare struct {
	index  map[string]int // of an object with many members, by their names
	absent string         // the name of a member that an object lacks, and the value stands for
}

// manyParts is the number of members from which looking one up in a map is faster.
const manyParts = 32

// A part is an element or a member, with the white space around it.
type part struct {
	lead  []byte // what stands before it, the comma included
	name  []byte // its JSON, quotes included; nil in a list
	colon []byte // what stands between the name and the value
	value *Value
}

// ParseValue reads a document. It keeps text, which must not be changed any more. ok is false as with [Parse].
func ParseValue(text []byte) (v *Value, ok bool) {
	d, ok := Parse(text)
	if !ok {
		return nil, false
	}
	return d.Value(), true
}

// Value returns the document as a value that can be changed. The Doc stays as it is.
func (d *Doc) Value() *Value {
	v := from(d.Raw(0), nil)
	v.doc = d
	return v
}

// Of returns the document of a Go value; null if the value has no JSON.
func Of(v any) *Value {
	if text, ok := v.(string); ok {
		return from(Quote(text), nil)
	}
	text, err := Marshal(v)
	if err != nil {
		text = []byte("null")
	}
	return from(text, nil)
}

// Marshal is [json.Marshal] that leaves <, > and & as they are.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), err
}

func from(raw []byte, up *Value) *Value { return &Value{raw: raw, kind: kindOf(raw[0]), up: up} }

// Kind returns the type of the value; 0: there is none.
func (v *Value) Kind() Kind {
	if v == nil {
		return 0
	}
	return v.kind
}

// Text returns a string's text, and whether the value is a string.
func (v *Value) Text() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return Unquote(v.raw), true
}

// String returns a string's text, and "" of any other value.
func (v *Value) String() string {
	text, _ := v.Text()
	return text
}

// Int returns a whole number, or otherwise if the value is none.
func (v *Value) Int(otherwise int) int {
	if v.Kind() != Number {
		return otherwise
	}
	n, err := strconv.Atoi(string(v.raw))
	if err != nil {
		return otherwise
	}
	return n
}

// Len returns the number of members of an object or elements of a list, else 0.
func (v *Value) Len() int {
	if k := v.Kind(); k != Object && k != Array {
		return 0
	}
	v.split()
	return len(v.parts)
}

// At returns the i-th element of a list or member of an object, nil where there is none.
func (v *Value) At(i int) *Value {
	if i < 0 || i >= v.Len() {
		return nil
	}
	return v.parts[i].value
}

// Values returns the elements of a list or the members of an object.
func (v *Value) Values() []*Value {
	list := make([]*Value, v.Len())
	for i := range list {
		list[i] = v.parts[i].value
	}
	return list
}

// Keys returns the names of the members of an object, in the order of [Value.Values].
func (v *Value) Keys() []string {
	if v.Kind() != Object {
		return nil
	}
	keys := make([]string, v.Len())
	for i := range keys {
		keys[i] = Unquote(v.parts[i].name)
	}
	return keys
}

// Get returns the member of that name, the last of several, or nil.
func (v *Value) Get(name string) *Value { return v.At(v.find(name)) }

func (v *Value) find(name string) int {
	if v.Kind() != Object {
		return -1
	}
	i := v.Len() - 1
	if i >= manyParts {
		return v.lookup(name)
	}
	for i >= 0 && !reads(v.parts[i].name, name) {
		i--
	}
	return i
}

func (v *Value) lookup(name string) int {
	if v.rare == nil {
		v.rare = &rare{index: make(map[string]int, len(v.parts))}
		for i, p := range v.parts {
			v.rare.index[Unquote(p.name)] = i
		}
	}
	if i, ok := v.rare.index[name]; ok {
		return i
	}
	return -1
}

// Bytes returns the value's text, in which only what was changed differs from how it came.
func (v *Value) Bytes() []byte {
	if v == nil {
		return nil
	}
	if v.raw == nil {
		v.raw = []byte{byte(v.kind)}
		for _, p := range v.parts {
			v.raw = append(append(append(append(v.raw, p.lead...), p.name...), p.colon...), p.value.Bytes()...)
		}
		v.raw = append(v.raw, v.tail...)
	}
	return v.raw
}

// split takes an object or list apart, one level deep.
func (v *Value) split() {
	if v.tail != nil {
		return
	}
	if v.doc == nil {
		v.doc, _ = Parse(v.raw) // which is JSON
	}
	d, n := v.doc, v.doc.Nodes[v.node]
	children, at := d.Children(int(v.node)), n.Start+1
	v.parts = make([]part, len(children))
	values := make([]Value, len(children)) // in one piece
	for k, c := range children {
		is, begin := d.Nodes[c], d.begin(c)
		values[k] = Value{doc: d, node: int32(c), raw: d.Raw(c), kind: d.Kind(c), up: v}
		v.parts[k] = part{lead: d.Text[at:begin], value: &values[k]}
		if d.IsMember(c) {
			v.parts[k].name, v.parts[k].colon = d.Text[is.NameStart:is.NameEnd], d.Text[is.NameEnd:is.Start]
		}
		at = is.End
	}
	v.tail = d.Text[at:n.End]
}

// Put replaces the value by another document, given as its bytes, which must be JSON.
func (v *Value) Put(doc []byte) {
	if v == nil {
		return
	}
	*v = Value{raw: bytes.TrimSpace(doc), up: v.up}
	v.kind = kindOf(v.raw[0])
	v.up.touch()
}

// Set gives the member of that name a value, after the others if it is new. On anything but an object it does nothing.
func (v *Value) Set(name string, to *Value) {
	if v.Kind() != Object {
		return
	}
	if at := v.find(name); at >= 0 {
		v.parts[at].value.Put(to.Bytes())
		return
	}
	v.add(part{name: Quote(name), colon: []byte(":"), value: from(to.Bytes(), v)})
}

// SetText is Set with a string.
func (v *Value) SetText(name, text string) { v.Set(name, Of(text)) }

// Add appends an element to a list.
func (v *Value) Add(e *Value) {
	if v.Kind() == Array {
		v.add(part{value: from(e.Bytes(), v)})
	}
}

// add appends a part, in the style of those before it.
func (v *Value) add(p part) {
	if n := v.Len(); n > 1 {
		p.lead = v.parts[n-1].lead
	} else if n == 1 {
		p.lead = []byte(",")
	}
	v.parts = append(v.parts, p)
	v.touch()
}

// Rename gives the i-th member of an object another name.
func (v *Value) Rename(i int, name string) {
	if v.Kind() == Object && i >= 0 && i < v.Len() {
		v.parts[i].name = Quote(name)
		v.touch()
	}
}

// Remove removes the i-th member or element.
func (v *Value) Remove(i int) {
	if i < 0 || i >= v.Len() {
		return
	}
	if i == 0 && v.Len() > 1 {
		v.parts[1].lead = v.parts[0].lead
	}
	v.parts = slices.Delete(v.parts, i, i+1)
	v.touch()
}

// Delete removes the member of that name, if there is one.
func (v *Value) Delete(name string) { v.Remove(v.find(name)) }

// touch marks the value and its parents as changed.
func (v *Value) touch() {
	for ; v != nil; v = v.up {
		v.raw, v.rare = nil, nil
	}
}
