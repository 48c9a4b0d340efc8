package fault

import (
	"encoding/json"
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
