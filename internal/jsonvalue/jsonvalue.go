// Package jsonvalue reads and writes the types in which tools, dispatch functions and wrapped functions pass values:
// JSON in one of three Go types, or Go values. The catalogues of faults use it to change both.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/internal/usercode"
)

// Text returns the bytes of a value that holds JSON or plain text: a json.RawMessage, []byte or string. ok is false for
// other types.
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

// Decode is json.Unmarshal. It returns an error if a method of the user's value panics, since the fault and not the
// callee would cause that panic.
func Decode[T any](doc []byte) (t T, err error) {
	defer usercode.Recover(&err, "its JSON method")
	err = json.Unmarshal(doc, &t)
	return t, err
}

// Numbers decodes one document, and keeps its numbers as they are spelled.
func Numbers(doc []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err = d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err = d.Token(); err != io.EOF {
		return nil, errors.New("there is more behind the document")
	}
	return v, nil
}

// Boxed is a value as a wrapper shows it to faults and triggers, around the one that its user knows, because Go's type
// says too little of it: a message of gRPC, whose JSON is that of Protocol Buffers.
type Boxed interface {
	// Unbox returns the user's value.
	Unbox() any
	// Box puts a value of the user's, one made of a json.RawMessage, or for nil an empty one, into a box like this one.
	Box(v any) (any, error)
	// SameAs is that of chaos.Comparer.
	SameAs(other any) (same, known bool)
}

// DecodeLike is [Decode] into a new value of the type of v, which is not nil.
func DecodeLike(doc []byte, v any) (decoded any, err error) {
	defer usercode.Recover(&err, "its JSON method")
	if b, ok := v.(Boxed); ok {
		return b.Box(json.RawMessage(doc))
	}
	p := reflect.New(reflect.TypeOf(v))
	err = json.Unmarshal(doc, p.Interface())
	return p.Elem().Interface(), err
}

// Encode is json.Marshal; a panic of a method is an error, as in [Decode].
func Encode(v any) (doc json.RawMessage, err error) {
	defer usercode.Recover(&err, "its JSON method")
	return json.Marshal(v)
}

// Like returns a document or text in the type of v, if that is one that [Text] knows, and otherwise as a
// json.RawMessage.
func Like(doc []byte, v any) any {
	switch v.(type) {
	case []byte:
		return doc
	case string:
		return string(doc)
	}
	return json.RawMessage(doc)
}

// Document returns a value as an event shows it: a copy that is JSON, or nil if it has none. A json.RawMessage that is
// no JSON becomes a string, and a []byte what [OfBytes] makes of it.
func Document(v any) json.RawMessage {
	switch raw := v.(type) {
	case json.RawMessage:
		if json.Valid(raw) {
			return bytes.Clone(raw)
		}
		v = string(raw)
	case []byte:
		return OfBytes(raw)
	}
	doc, err := Encode(v)
	if err != nil {
		return nil
	}
	return doc
}

// OfBytes returns a copy of b if b is JSON, a JSON string if it is other UTF-8, and otherwise a string in base64, as
// encoding/json writes it. nil is null.
func OfBytes(b []byte) json.RawMessage {
	var v any = b
	switch {
	case json.Valid(b):
		return bytes.Clone(b)
	case b != nil && utf8.Valid(b):
		v = string(b)
	}
	doc, _ := json.Marshal(v) // bytes and strings have JSON
	return doc
}

// FieldOf returns the path of the member in which encoding/json found another type than it wanted, such as
// "messages.content"; empty: the whole document. Since Go 1.27 the path of the error has indices too, which are left
// out: what people read must not depend on the version of Go.
func FieldOf(e *json.UnmarshalTypeError) string {
	names := slices.DeleteFunc(strings.Split(e.Field, "."), func(name string) bool {
		_, err := strconv.Atoi(name)
		return err == nil
	})
	return strings.Join(names, ".")
}
