package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// text returns the document in a value of one of the types in which tools and
// dispatch functions hand JSON over.
func text(v any) (doc []byte, ok bool) {
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

// fit brings a result into T: it is one, or it is JSON that decodes into one.
// An interface type admits the JSON itself too, but its contents are meant.
func fit[T any](result any) (t T, ok bool) {
	t, ok = result.(T)
	doc, isText := text(result)
	if !isText || ok && reflect.TypeFor[T]().Kind() != reflect.Interface {
		return t, ok
	}
	decoded, err := decode[T](doc)
	if err != nil {
		return t, ok
	}
	return decoded, true
}

// decode and encode are those of encoding/json. The methods of user values may
// panic, which would be the fault's doing and not the callee's.

func decode[T any](doc []byte) (t T, err error) {
	defer recovered(&err)
	err = json.Unmarshal(doc, &t)
	return t, err
}

func encode(v any) (doc json.RawMessage, err error) {
	defer recovered(&err)
	return json.Marshal(v)
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("its JSON method panicked: %v", p)
	}
}

// inForm brings v into the type of result where that holds JSON and v does
// not have it already. What cannot be brought there is left for the wrapper to
// refuse.
func inForm(v, result any) any {
	if reflect.TypeOf(v) == reflect.TypeOf(result) {
		return v
	}
	if _, ok := text(result); !ok {
		return v
	}
	doc, ok := v.(json.RawMessage)
	if !ok {
		var err error
		if doc, err = encode(v); err != nil {
			return v
		}
	}
	switch result.(type) {
	case json.RawMessage:
		return doc
	case []byte:
		return []byte(doc)
	}
	return string(doc)
}

// equal tells whether a caller would see a difference. Documents are compared
// by their values: the order of members and the spelling of numbers aside.
func equal(a, b any) bool {
	x, ok := a.(json.RawMessage)
	y, also := b.(json.RawMessage)
	if ok && also {
		return bytes.Equal(x, y) || inList(x) == inList(y)
	}
	if b == nil && a != nil {
		return reflect.ValueOf(a).IsZero()
	}
	return reflect.DeepEqual(a, b)
}

// inList hashes the document as the one element of a list, since on its own an
// empty object counts as null.
func inList(doc []byte) uint64 {
	list := make([]byte, 0, len(doc)+2)
	list = append(list, '[')
	list = append(list, doc...)
	return jsonhash.Sum(append(list, ']'))
}

// document is a value as an event shows it: JSON, nil where it has none.
func document(v any) json.RawMessage {
	if raw, ok := v.(json.RawMessage); ok && json.Valid(raw) {
		return bytes.Clone(raw)
	} else if ok {
		v = string(raw)
	}
	doc, err := encode(v)
	if err != nil {
		return nil
	}
	return doc
}
