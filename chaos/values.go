package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/shakedown-go/shakedown/internal/jsonbytes"
	"github.com/shakedown-go/shakedown/internal/usercode"
)

// as converts a value into a type of the call. nil becomes the zero value, a Go value
// becomes JSON and JSON a Go value. So a fault made for JSON works on Go values too,
// and the other way round.
func as[T any](v any) (T, error) {
	var t T
	if v == nil {
		return t, nil
	}
	if t, ok := v.(T); ok {
		return t, nil
	}
	if raw, ok := any(&t).(*json.RawMessage); ok {
		encoded, err := marshal(v)
		if err != nil {
			return t, fmt.Errorf("%T has no JSON: %w", v, err)
		}
		*raw = encoded
		return t, nil
	}
	if raw, ok := v.(json.RawMessage); ok {
		if doc, ok := any(&t).(*[]byte); ok { // also a document: encoding/json would read base64
			*doc = raw
			return t, nil
		}
		if err := unmarshal(raw, &t); err == nil {
			return t, nil
		}
		var none T
		return none, fmt.Errorf("JSON that does not decode into %T", none)
	}
	return t, fmt.Errorf("%T, want %T", v, t)
}

// marshal is json.Marshal of user values, whose methods may panic.
func marshal(v any) (raw json.RawMessage, err error) {
	defer usercode.Recover(&err, "its MarshalJSON")
	return json.Marshal(v)
}

// unmarshal is json.Unmarshal into user values, whose methods may panic.
func unmarshal(raw json.RawMessage, v any) (err error) {
	defer usercode.Recover(&err, "its UnmarshalJSON")
	return json.Unmarshal(raw, v)
}

// encode returns a value as the event keeps it: JSON, copied. The usual types are
// encoded without boxing them.
func encode[T any](v T) (json.RawMessage, error) {
	if raw, ok := any(v).(json.RawMessage); ok {
		return slices.Clone(raw), nil
	}
	if n, ok := any(v).(int); ok {
		return strconv.AppendInt(make([]byte, 0, 20), int64(n), 10), nil
	}
	if _, ok := any(v).(struct{}); ok {
		return nil, nil
	}
	if doc, ok := any(v).([]byte); ok {
		return jsonbytes.Of(doc), nil
	}
	return marshal(v)
}

func keepArgs[T any](r *record, v T) {
	raw, err := encode(v)
	if err != nil {
		r.note(notKept("arguments", err))
	}
	r.values = &values{args: raw}
}

func keepResult[T any](r *record, v T) {
	raw, err := encode(v)
	if err != nil {
		r.note(notKept("result", err))
	}
	r.values.result = raw
}

func notKept(what string, err error) string { return fmt.Sprintf("%s not kept: %v", what, err) }
