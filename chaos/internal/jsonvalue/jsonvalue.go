// Package form knows the types in which tools, dispatch functions and wrapped functions hand values over: JSON in one of
// three Go types, or Go values. Catalogues of faults change values of all of them through it.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/internal/jsonbytes"
)

// Text returns the document in a value of one of the types that hold JSON or plain text.
func Text(v any) (doc []byte, ok bool) {
	switch v := v.(type) {
	case json.RawMessage:
		return v, true
	case []byte:
		return v, true
	case string:
		return []byte(v), true
	}
	return nil, false
}

// Decode is json.Unmarshal; a method of a user's value that panics, which would be the fault's doing and not the callee's,
// is an error.
func Decode[T any](doc []byte) (t T, err error) {
	defer recovered(&err)
	err = json.Unmarshal(doc, &t)
	return t, err
}

// DecodeLike is [Decode] into a new value of the type of v, which is not nil.
func DecodeLike(doc []byte, v any) (decoded any, err error) {
	defer recovered(&err)
	p := reflect.New(reflect.TypeOf(v))
	err = json.Unmarshal(doc, p.Interface())
	return p.Elem().Interface(), err
}

// Encode is json.Marshal with the same care.
func Encode(v any) (doc json.RawMessage, err error) {
	defer recovered(&err)
	return json.Marshal(v)
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("its JSON method panicked: %v", p)
	}
}

// Like brings a document or text into the type of v where [Text] knows that; elsewhere it is a json.RawMessage.
func Like(doc []byte, v any) any {
	switch v.(type) {
	case []byte:
		return doc
	case string:
		return string(doc)
	}
	return json.RawMessage(doc)
}

// Document is a value as an event shows it: JSON of its own, nil where it has none. A json.RawMessage that is no JSON is
// shown as a string, and a []byte as jsonbytes has it.
func Document(v any) json.RawMessage {
	switch raw := v.(type) {
	case json.RawMessage:
		if json.Valid(raw) {
			return bytes.Clone(raw)
		}
		v = string(raw)
	case []byte:
		return jsonbytes.Of(raw)
	}
	doc, err := Encode(v)
	if err != nil {
		return nil
	}
	return doc
}
