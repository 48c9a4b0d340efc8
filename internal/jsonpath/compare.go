package jsonpath

import (
	"cmp"
	"encoding/json"
)

// equal holds for two values that compare as equal, and for the same true, false or null.
func equal(a, b any) bool {
	if order, ok := compare(a, b); ok {
		return order == 0
	}
	switch a.(type) {
	case bool, nil:
		return a == b
	}
	return false
}

// compare orders numbers and strings among themselves.
func compare(a, b any) (order int, ok bool) {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return cmp.Compare(x, y), ok
	}
	x, isText := a.(string)
	y, isToo := b.(string)
	return cmp.Compare(x, y), isText && isToo
}

func number(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}
