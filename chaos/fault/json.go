package fault

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos/internal/jsonvalue"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// fit brings a result into T: it is one, or it is JSON that decodes into one.
// An interface type admits the JSON itself too, but its contents are meant.
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

// inForm brings v into the type of result where that holds JSON and v does
// not have it already. What cannot be brought there is left for the wrapper to
// refuse.
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
