package jsondoc

import (
	"bytes"
	"slices"
)

// Put replaces the value by another document, given as its bytes, which must be
// JSON.
func (v *Value) Put(doc []byte) {
	if v == nil {
		return
	}
	doc = bytes.TrimSpace(doc)
	v.kind, v.raw, v.parts, v.split = doc[0], doc, nil, false
	v.up.touch()
}

// Set gives the member of that name a value, after the others if it is new. On
// anything but an object it does nothing.
func (v *Value) Set(name string, to *Value) {
	if v.Kind() != '{' {
		return
	}
	if at := v.find(name); at >= 0 {
		v.parts[at].value.Put(to.Bytes())
		return
	}
	v.take()
	v.parts = append(v.parts, member{Of(name).raw, from(to.Bytes(), v)})
	v.touch()
}

// SetText is Set with a string.
func (v *Value) SetText(name, text string) { v.Set(name, Of(text)) }

// Rename gives the i-th member of an object another name.
func (v *Value) Rename(i int, name string) {
	if v.Kind() == '{' && i >= 0 && i < v.Len() {
		v.parts[i].key = Of(name).raw
		v.touch()
	}
}

// Remove removes the i-th member or element.
func (v *Value) Remove(i int) {
	if i < 0 || i >= v.Len() {
		return
	}
	v.parts = slices.Delete(v.parts, i, i+1)
	v.touch()
}

// Delete removes the member of that name, if there is one.
func (v *Value) Delete(name string) { v.Remove(v.find(name)) }

// Add appends an element to a list.
func (v *Value) Add(e *Value) {
	if v.Kind() != '[' {
		return
	}
	v.take()
	v.parts = append(v.parts, member{value: from(e.Bytes(), v)})
	v.touch()
}

// touch marks the value and its parents as changed.
func (v *Value) touch() {
	for ; v != nil; v = v.up {
		v.raw = nil
	}
}
