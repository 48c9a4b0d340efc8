package strictjson

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

// Encode writes a value as a [Reader] reads it: durations as texts such as
// "1.5s", 64 bits as decimal strings, members in the order of the fields, and no
// optional member that is zero. other writes values of the package's own types;
// it returns nil for any other. A number without JSON, such as NaN, is an error.
func Encode(v any, other func(any) json.RawMessage) (json.RawMessage, error) {
	return encode(reflect.ValueOf(v), other)
}

func encode(v reflect.Value, other func(any) json.RawMessage) (json.RawMessage, error) {
	if !v.IsValid() {
		return json.RawMessage("null"), nil
	}
	if other != nil {
		if text := other(v.Interface()); text != nil {
			return text, nil
		}
	}
	switch v.Type() {
	case durationType:
		return json.Marshal(time.Duration(v.Int()).String())
	case rawType:
		return json.Marshal(v.Interface())
	}
	switch v.Kind() {
	case reflect.Uint64:
		return json.Marshal(strconv.FormatUint(v.Uint(), 10))
	case reflect.Struct:
		return encodeStruct(v, other)
	case reflect.Slice:
		text := []byte{'['}
		for i := range v.Len() {
			if i > 0 {
				text = append(text, ',')
			}
			elem, err := encode(v.Index(i), other)
			if err != nil {
				return nil, err
			}
			text = append(text, elem...)
		}
		return append(text, ']'), nil
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return encode(v.Elem(), other)
		}
	}
	return json.Marshal(v.Interface())
}

func encodeStruct(v reflect.Value, other func(any) json.RawMessage) (json.RawMessage, error) {
	text := []byte{'{'}
	for _, f := range Fields(v.Type()) {
		member := v.FieldByIndex(f.Index)
		if f.Optional && (member.IsZero() || isList(member.Kind()) && member.Len() == 0) {
			continue
		}
		value, err := encode(member, other)
		if err != nil {
			return nil, err
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(append(text, Quote(f.Name)...), ':'), value...)
	}
	return append(text, '}'), nil
}

func isList(k reflect.Kind) bool { return k == reflect.Slice || k == reflect.Map }
