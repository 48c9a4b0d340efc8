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
	whole := reflect.ValueOf(v)
	if whole.Kind() == reflect.Struct { // not by other: v may be a fault that is its own parameters
		return EncodeStruct(nil, whole, Fields(whole.Type()), other)
	}
	return encode(nil, whole, other)
}

func encode(dst []byte, v reflect.Value, other func(any) json.RawMessage) ([]byte, error) {
	if !v.IsValid() {
		return append(dst, "null"...), nil
	}
	if other != nil && v.NumMethod() > 0 { // without a method it is of no type that other knows
		if text := other(v.Interface()); text != nil {
			return append(dst, text...), nil
		}
	}
	var value any
	switch kind := v.Kind(); {
	case v.Type() == rawType:
		value = v.Interface()
	case v.Type() == durationType:
		value = time.Duration(v.Int()).String()
	case kind == reflect.Uint64:
		value = strconv.FormatUint(v.Uint(), 10)
	case kind == reflect.Struct:
		return EncodeStruct(dst, v, Fields(v.Type()), other)
	case kind == reflect.Slice:
		return encodeParts(dst, '[', v.Len(), func(dst []byte, i int) ([]byte, error) {
			return encode(dst, v.Index(i), other)
		})
	case kind == reflect.Map && v.Type().Key().Kind() == reflect.String:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		return encodeParts(dst, '{', len(keys), func(dst []byte, i int) ([]byte, error) {
			return encode(append(appendQuoted(dst, keys[i].String()), ':'), v.MapIndex(keys[i]), other)
		})
	case (kind == reflect.Pointer || kind == reflect.Interface) && !v.IsNil():
		return encode(dst, v.Elem(), other)
	default:
		value = v.Interface()
	}
	text, err := json.Marshal(value)
	return append(dst, text...), err
}

// EncodeStruct is [Encode] for a struct whose [Fields] are known already, which
// saves most of the time. It appends to dst.
func EncodeStruct(dst []byte, v reflect.Value, fields []Field, other func(any) json.RawMessage) ([]byte, error) {
	kept := make([]int, 0, len(fields))
	for i := range fields {
		member := v.FieldByIndex(fields[i].Index)
		list := member.Kind() == reflect.Slice || member.Kind() == reflect.Map
		isEmpty := member.IsZero() || list && member.Len() == 0
		if !fields[i].Optional || !isEmpty {
			kept = append(kept, i)
		}
	}
	return encodeParts(dst, '{', len(kept), func(dst []byte, i int) ([]byte, error) {
		f := &fields[kept[i]]
		return encode(append(appendQuoted(dst, f.Name), ':'), v.FieldByIndex(f.Index), other)
	})
}

// encodeParts writes parts between brackets.
func encodeParts(dst []byte, open byte, n int, part func(dst []byte, i int) ([]byte, error)) (_ []byte, err error) {
	dst = append(dst, open)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = part(dst, i); err != nil {
			return nil, err
		}
	}
	return append(dst, open+2), nil // in ASCII brackets close two after they open
}
