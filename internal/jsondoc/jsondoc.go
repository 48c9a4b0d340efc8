// Package jsondoc changes single places of a JSON document and leaves the rest
// as it is: the order of members, the spelling of numbers, unknown members, and
// the white space of every object and list without a change.
//
//	doc, err := jsondoc.Parse(body)
//	doc.Get("choices").At(0).Get("message").SetText("content", "")
//	body = doc.Bytes()
//
// A Value is a mutable tree: a change is visible to all later reads, as editors
// need that take a completion apart step by step. Package jsonedit has
// immutable documents and edits of their text, white space included, for
// callers that choose a place by its path.
//
// Every method may be called on a nil Value, which stands for a place that does
// not exist. A Value is not safe for concurrent use.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
)

// A Value is one place of a document.
type Value struct {
	kind  byte
	raw   []byte   // nil: something within was changed
	parts []member // of an object or list, once they were asked for
	split bool
	up    *Value
}

type member struct {
	key   []byte // its JSON, quotes included; nil in a list
	value *Value
}

// Parse reads a document. It keeps doc, which must not be changed any more.
func Parse(doc []byte) (*Value, error) {
	if !json.Valid(doc) {
		return nil, errors.New("jsondoc: no JSON document")
	}
	return from(bytes.TrimSpace(doc), nil), nil
}

// Of is the document of a Go value; null if the value has no JSON.
func Of(v any) *Value {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return from([]byte("null"), nil)
	}
	return from(bytes.TrimSpace(out.Bytes()), nil)
}

func from(raw []byte, up *Value) *Value { return &Value{kind: raw[0], raw: raw, up: up} }

// Kind is the first byte of the value: { [ " t f n, a minus or a digit; 0 for none.
func (v *Value) Kind() byte {
	if v == nil {
		return 0
	}
	return v.kind
}

// Text returns a string's text, and whether it is one.
func (v *Value) Text() (string, bool) {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v.raw, &s) != nil {
		return "", false
	}
	return s, true
}

// Int returns a whole number, or otherwise if the value is none.
func (v *Value) Int(otherwise int) int {
	var n int
	if v == nil || v.Kind() == 'n' || json.Unmarshal(v.Bytes(), &n) != nil {
		return otherwise
	}
	return n
}

// Len is the number of members of an object or elements of a list, else 0.
func (v *Value) Len() int {
	v.take()
	if v == nil {
		return 0
	}
	return len(v.parts)
}

// At is the i-th element of a list or member of an object, nil where there is none.
func (v *Value) At(i int) *Value {
	if i < 0 || i >= v.Len() {
		return nil
	}
	return v.parts[i].value
}

// Key is the name of the i-th member of an object.
func (v *Value) Key(i int) string {
	var name string
	if i >= 0 && i < v.Len() {
		_ = json.Unmarshal(v.parts[i].key, &name)
	}
	return name
}

// Get is the member of that name, the last of several, or nil.
func (v *Value) Get(name string) *Value { return v.At(v.find(name)) }

// Has reports whether the object has a member of that name that is not null.
func (v *Value) Has(name string) bool {
	kind := v.Get(name).Kind()
	return kind != 0 && kind != 'n'
}

// Bytes returns the document's text; a part without a change is as it came.
func (v *Value) Bytes() []byte {
	if v == nil {
		return nil
	}
	if v.raw == nil {
		v.raw = v.write()
	}
	return v.raw
}

func (v *Value) find(name string) int {
	if v.Kind() != '{' {
		return -1
	}
	for i := v.Len() - 1; i >= 0; i-- {
		if v.Key(i) == name {
			return i
		}
	}
	return -1
}
