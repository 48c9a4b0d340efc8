package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// fit converts a result to T: either it has that type, or it is JSON that
// decodes into T. An interface type would also accept the JSON itself; the
// decoded value is preferred.
func fit[T any](result any) (t T, ok bool) {
	t, ok = result.(T)
	doc, isText := jsonvalue.Text(result)
	if !isText || ok && reflect.TypeFor[T]().Kind() != reflect.Interface {
		return t, ok
	}
	decoded, err := jsonvalue.Decode[T](doc)
	if err != nil {
		return t, ok
	}
	return decoded, true
}

// inForm converts v to the type of result if that holds JSON and v has another
// type. A value that cannot be converted is returned as it is, for the wrapper
// to refuse.
func inForm(v, result any) any {
	if reflect.TypeOf(v) == reflect.TypeOf(result) {
		return v
	}
	if _, ok := jsonvalue.Text(result); !ok {
		return v
	}
	doc, ok := v.(json.RawMessage)
	if !ok {
		var err error
		if doc, err = jsonvalue.Encode(v); err != nil {
			return v
		}
	}
	return jsonvalue.Like(doc, result)
}

// equal reports whether a caller would see no difference between a and b.
// Documents are compared by value, without the order of members and the
// spelling of numbers.
func equal(a, b any) bool {
	x, ok := a.(json.RawMessage)
	y, also := b.(json.RawMessage)
	if ok && also {
		return jsonhash.Same(x, y)
	}
	if b == nil && a != nil {
		return reflect.ValueOf(a).IsZero()
	}
	return reflect.DeepEqual(a, b)
}

// merged applies a JSON merge patch (RFC 7396, section 2) to a document:
// members of the patch replace those of the same name, and null removes one.
func merged(doc, patch []byte) (json.RawMessage, error) {
	target, err := numbered(doc)
	if err != nil {
		return nil, err
	}
	change, err := numbered(patch)
	if err != nil {
		return nil, err
	}
	return json.Marshal(merge(target, change))
}

func merge(target, patch any) any {
	change, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range change {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = merge(object[name], value)
		}
	}
	return object
}

// numbered decodes one document and keeps its numbers as they are spelled.
func numbered(doc []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err = d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err = d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more behind the document")
	}
	return v, nil
}
