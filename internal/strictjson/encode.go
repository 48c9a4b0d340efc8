package strictjson

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Encode writes a value as a [Reader] reads it: durations as texts such as
// "1.5s", 64 bits as decimal strings, members in the order of the fields, and no
// optional member that is zero. other writes parts of v of the package's own types;
// it returns nil for any other. A number without JSON, such as NaN, is an error.
func Encode(v any, other func(any) json.RawMessage) (json.RawMessage, error) {
	if whole := reflect.ValueOf(v); whole.Kind() == reflect.Struct {
		// not by other: v may be a fault that is its own parameters
		return encodeStruct(whole, Fields(whole.Type()), other)
	}
	return encode(reflect.ValueOf(v), other)
}

// EncodeStruct is [Encode] for a struct whose [Fields] are known already, which
// saves most of the time.
func EncodeStruct(v any, fields []Field, other func(any) json.RawMessage) (json.RawMessage, error) {
	return encodeStruct(reflect.ValueOf(v), fields, other)
}

func encode(v reflect.Value, other func(any) json.RawMessage) (json.RawMessage, error) {
	if !v.IsValid() {
		return json.RawMessage("null"), nil
	}
	if other != nil && v.NumMethod() > 0 { // without a method it is of no type that other knows
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
		return encodeStruct(v, Fields(v.Type()), other)
	case reflect.Int, reflect.Int64:
		if v.NumMethod() == 0 {
			return strconv.AppendInt(nil, v.Int(), 10), nil
		}
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
	case reflect.Map:
		return encodeMap(v, other)
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return encode(v.Elem(), other)
		}
	}
	return json.Marshal(v.Interface())
}

// encodeMap writes the members of a map, whose keys are texts, in their order.
func encodeMap(v reflect.Value, other func(any) json.RawMessage) (json.RawMessage, error) {
	if v.Type().Key().Kind() != reflect.String {
		return json.Marshal(v.Interface())
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	text := []byte{'{'}
	for i, key := range keys {
		if i > 0 {
			text = append(text, ',')
		}
		value, err := encode(v.MapIndex(key), other)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, Quote(key.String())...), ':'), value...)
	}
	return append(text, '}'), nil
}

func encodeStruct(v reflect.Value, fields []Field, other func(any) json.RawMessage) (json.RawMessage, error) {
	text := []byte{'{'}
	for i := range fields {
		f := &fields[i]
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
