package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/shakedown-go/shakedown/internal/blame"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// A Comparer is an argument or a result with its own comparison, since it holds what
// must not be read, such as the body of an HTTP response. SameAs reports whether a
// receiver of other, a value of the same type, would see the same. known is false if
// that cannot be known. Then a change counts if its fault declared it with [Changed].
//
// Other values are compared as [reflect.DeepEqual] does, a [json.RawMessage] by the
// values in it. Two kinds cannot be compared: one with a function or a NaN in it, and one
// whose memory the fault may have written to, because it declared a change and passed on
// the same map, pointer or bytes. A panic in SameAs counts as not known.
type Comparer interface {
	SameAs(other any) (same, known bool)
}

type likeness uint8

const (
	alike      likeness = iota // the same to a receiver
	unlike                     // not the same
	unknowable                 // it cannot be known
	moved                      // an item of a stream: put in another place
	created                    // an item of a stream: made by the fault, or the error in its place
)

// compare reports whether a receiver of b in place of a would see a difference.
// Documents are compared by their values: white space, the order of members and the
// spelling of numbers make none.
func compare(a, b any) likeness {
	switch x := a.(type) {
	case nil:
		return either(b == nil)
	case json.RawMessage:
		y, ok := b.(json.RawMessage)
		return either(ok && sameDocument(x, y))
	case []byte:
		y, ok := b.([]byte)
		return either(ok && bytes.Equal(x, y))
	case string:
		y, ok := b.(string)
		return either(ok && x == y)
	case Comparer:
		return compareOwn(x, b)
	}
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return unlike
	}
	if v := reflect.ValueOf(a); v.Kind() != reflect.Pointer && v.Comparable() && a == b {
		return alike
	}
	switch {
	case reflect.DeepEqual(a, b):
		return alike
	case reflect.DeepEqual(a, a) && reflect.DeepEqual(b, b):
		return unlike
	}
	return unknowable // there is a function or a NaN in it, which equals nothing
}

func either(same bool) likeness {
	if same {
		return alike
	}
	return unlike
}

// compareOwn asks a method of a user's value, which may panic.
func compareOwn(a Comparer, b any) (l likeness) {
	defer func() {
		if recover() != nil {
			l = unknowable
		}
	}()
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return unlike
	}
	if same, known := a.SameAs(b); known {
		return either(same)
	}
	return unknowable
}

func sameDocument(a, b []byte) bool {
	return bytes.Equal(a, b) || !differsAtOnce(a, b) && jsonhash.Same(a, b)
}

// differsAtOnce finds, cheaply, that two documents differ: they are equal up to a
// place, and there stands another number or a value of another kind. false means
// that they may still differ.
func differsAtOnce(a, b []byte) bool {
	at := blame.Common(a, b)
	if blame.InString(a[:at]) {
		return false
	}
	x, y := scalar(a, at), scalar(b, at)
	return len(x) > 0 && len(y) > 0 && jsonhash.Sum(x) != jsonhash.Sum(y)
}

func scalar(doc []byte, at int) []byte {
	from, to := at, at
	for from > 0 && blame.InScalar(doc[from-1]) {
		from--
	}
	for to < len(doc) && blame.InScalar(doc[to]) {
		to++
	}
	return doc[from:to]
}

// shared reports whether two equal values have memory in common that can be written
// to: comparing them does not show a change made in place.
func shared(a, b any) bool {
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	if _, ok := a.(jsonvalue.Boxed); ok {
		return false // a box is not written to; its SameAs looks into it
	}
	return sharedIn(reflect.ValueOf(a), reflect.ValueOf(b))
}

func sharedIn(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan:
		return !a.IsNil() && a.Pointer() == b.Pointer()
	case reflect.Slice:
		return a.Len() > 0 && b.Len() > 0 && a.Pointer() == b.Pointer()
	case reflect.Interface:
		return !a.IsNil() && !b.IsNil() && a.Elem().Type() == b.Elem().Type() && sharedIn(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if sharedIn(a.Field(i), b.Field(i)) {
				return true
			}
		}
	case reflect.Array:
		for i := range a.Len() {
			if sharedIn(a.Index(i), b.Index(i)) {
				return true
			}
		}
	}
	return false
}

// textOf is the text in which changes of a value are located place by place; nil:
// there is none, and the value changes as a whole.
func textOf(v any) []byte {
	if doc, ok := jsonvalue.Text(v); ok {
		return orEmpty(doc)
	}
	if _, ok := v.(Comparer); ok {
		return nil
	}
	doc, err := jsonvalue.Encode(v)
	if err != nil {
		return nil
	}
	return doc
}

// isWhole reports whether a value changes as a whole: a number or a truth value.
func isWhole(v any) bool {
	k := reflect.ValueOf(v).Kind()
	return k >= reflect.Bool && k <= reflect.Complex128
}

func orEmpty(text []byte) []byte {
	if text == nil {
		return []byte{}
	}
	return text
}

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
		encoded, err := jsonvalue.Encode(v)
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
		if t, err := jsonvalue.Decode[T](raw); err == nil {
			return t, nil
		}
		return t, fmt.Errorf("JSON that does not decode into %T", t)
	}
	return t, fmt.Errorf("%T, want %T", v, t)
}

func fitted[T any](v any) (any, error) {
	if _, ok := v.(T); ok {
		return v, nil
	}
	return as[T](v)
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
		return jsonvalue.OfBytes(doc), nil
	}
	return jsonvalue.Encode(v)
}

func keepArgs[T any](r *record, v T) {
	raw, err := encode(v)
	if err != nil {
		r.note(notKept("arguments", err))
	}
	r.values = &values{args: raw}
	if r.site.in.opts.KeepExchanges {
		r.values.exchange = exchangeOf(v)
	}
}

// exchanger is the arguments of a call that has an [Exchange]. KeepExchange is called
// as the call begins, possibly more than once. What it returns is called for every
// event that is made of the call, from any goroutine: the answer is read after the
// call has returned.
type exchanger interface{ KeepExchange() func() *Exchange }

func exchangeOf[T any](args T) func() *Exchange {
	switch any((*T)(nil)).(type) {
	case exchanger, *any: // an interface of another value may cost an allocation
		if x, ok := any(args).(exchanger); ok {
			return x.KeepExchange()
		}
	}
	return nil
}

func (r *record) keepResult(raw json.RawMessage, err error) {
	if err != nil {
		r.note(notKept("result", err))
	}
	r.values.result = raw
}

func notKept(what string, err error) string { return fmt.Sprintf("%s not kept: %v", what, err) }
