package timeline

import (
	"encoding/json"
	"math"
	"strconv"
)

// A Value is a number that may be undefined, such as served/arrivals where nothing
// arrived. An undefined one is null in JSON and NaN in Go. The zero value is a
// defined 0.
type Value float64

// Defined reports whether v is a finite number.
func (v Value) Defined() bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// MarshalJSON writes the number, or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Defined() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// UnmarshalJSON reads a number, or null.
func (v *Value) UnmarshalJSON(text []byte) error {
	var number *float64
	if err := json.Unmarshal(text, &number); err != nil {
		return fields.Wrong("value", json.RawMessage(text), "a number or null")
	}
	*v = undefined()
	if number != nil {
		*v = Value(*number)
	}
	return nil
}

// String returns the number, to at least four significant digits, or "n/a".
func (v Value) String() string {
	f := float64(v)
	switch {
	case !v.Defined():
		return "n/a"
	case f == math.Trunc(f):
		return strconv.FormatFloat(f, 'f', -1, 64)
	case math.Abs(f) >= 100:
		return strconv.FormatFloat(f, 'f', 1, 64)
	default:
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
}

func undefined() Value { return Value(math.NaN()) }

// ratio returns a/b, undefined where b is 0.
func ratio[A, B int64 | float64](a A, b B) Value {
	if b == 0 {
		return undefined()
	}
	return Value(float64(a) / float64(b))
}
