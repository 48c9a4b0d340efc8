package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonhash"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// Replace lets the callee do its work and gives the caller v instead of the
// result. v has the type of the wrapped function's result. If that is JSON, as
// a tool's is, v may be any value that encodes to JSON, or nil for null;
// otherwise nil is the zero value. A v of another type is not delivered, and
// the event says why.
//
// Bytes are copied for each call. Any other v, such as a map or a pointer, is
// shared by all callers, who must not change it.
//
// An error of the callee is passed on. If v equals the real result, the fault
// is not delivered.
func Replace(v any) chaos.Fault { return replace.Of(valueOf(v)) }

var replace = &catalog.Inject[anyValue]{
	Row: catalog.Row{Kind: "replace", Doc: "The caller gets another result than the callee's.", Go: "fault.Replace(v)",
		Example: `{"value":{"status":"shipped"}}`, Class: chaos.ClassValue},
	Phase: chaos.PhaseChange,
	Inject: func(ctx context.Context, _ chaos.Call, p anyValue, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if err != nil {
			return result, err
		}
		after := kept(inForm(p.value(), result))
		if equal(result, after) {
			return result, nil
		}
		chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(result), After: jsonvalue.Document(after)})
		return after, nil
	},
}

type anyValue struct {
	Value json.RawMessage `json:"value" doc:"what the caller gets instead"`
	v     any             // of which Value is the JSON
	set   bool            // v is: it may be nil
}

func valueOf(v any) anyValue { return anyValue{jsonvalue.Document(v), kept(v), true} }

// value is the value, or the document that a plan has.
func (p anyValue) value() any {
	if p.set {
		return p.v
	}
	return kept(p.Value)
}

// Mutate lets the callee do its work and gives the caller the result of fn. The
// name says in reports what fn does. Name and fn are required.
//
// T is the type of the wrapped function's result. If that is JSON, as a tool's
// is, T may also be a Go type, [any] included; the result is decoded into it
// and encoded again. What T does not hold, such as further members of an
// object, is then lost if fn changes something. fn returns a new value and must
// not change its argument. It must be safe for concurrent use.
//
// An error of the callee is passed on. A result that fn does not change, or
// that does not fit T, reaches the caller as it is, and the fault is not
// delivered. In the latter case the event has a note.
func Mutate[T any](name string, fn func(T) T) chaos.Fault { return mutate.Of(mutationOf(name, fn)) }

var mutate = &catalog.Inject[mutation]{
	Row: catalog.Row{Kind: "mutate", Doc: "The caller gets what a Go function makes of the result.",
		Go: "fault.Mutate(name, fn)", Example: `{"name":"double the amount","type":"int"}`, InCode: true,
		Class: chaos.ClassValue},
	Phase: chaos.PhaseChange,
	Inject: func(ctx context.Context, _ chaos.Call, p mutation, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if err != nil {
			return result, err
		}
		return p.change(ctx, result), nil
	},
}

type mutation struct {
	Name    string `json:"name" doc:"what the function does"`
	Type    string `json:"type" doc:"the Go type that it takes"`
	missing bool   // the function
	change  func(ctx context.Context, result any) any
}

func (p mutation) Check(c *catalog.Check) {
	c.That(p.Name != "", "name", `""`, "a name that says what fn does")
	c.That(!p.missing, "fn", nil, "a function")
}

func mutationOf[T any](name string, fn func(T) T) mutation {
	return mutation{name, fmt.Sprint(reflect.TypeFor[T]()), fn == nil, func(ctx context.Context, result any) any {
		value, ok := fit[T](result)
		if !ok {
			chaos.Note(ctx, fmt.Sprintf("mutate %q: the result, %T, does not fit %v", name, result,
				reflect.TypeFor[T]()))
			return result
		}
		// before fn, which may write to what value points to
		before := jsonvalue.Document(result)
		given, seen := result, before
		_, isText := jsonvalue.Text(result)
		if isText {
			given, seen = value, jsonvalue.Document(value)
		}
		var changed any = fn(value)
		if _, boxed := result.(jsonvalue.Boxed); boxed {
			changed = inForm(changed, result)
		}
		made := jsonvalue.Document(changed)
		// Of JSON only the document counts; Go values may also differ in members without JSON.
		if jsonhash.Same(seen, made) && (isText || equal(given, changed)) {
			return result
		}
		after := inForm(changed, result)
		if isText {
			made = jsonvalue.Document(after)
		}
		chaos.Changed(ctx, chaos.Change{Before: before, After: made})
		return after
	}}
}

// fit converts a result to T: either it has that type, or it is JSON that
// decodes into T. An interface type would also accept the JSON itself; the
// decoded value is preferred.
func fit[T any](result any) (t T, ok bool) {
	if b, boxed := result.(jsonvalue.Boxed); boxed {
		if t, ok = b.Unbox().(T); ok {
			return t, ok
		}
	}
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

// inForm converts v to the type of result if that holds JSON, or is boxed, and v has another
// type. A value that cannot be converted is returned as it is, for the wrapper
// to refuse.
func inForm(v, result any) any {
	if reflect.TypeOf(v) == reflect.TypeOf(result) {
		return v
	}
	if b, ok := result.(jsonvalue.Boxed); ok {
		if boxed, err := b.Box(v); err == nil {
			return boxed
		}
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
	if boxed, ok := a.(jsonvalue.Boxed); ok && reflect.TypeOf(a) == reflect.TypeOf(b) {
		if same, known := boxed.SameAs(b); known {
			return same
		}
	}
	return reflect.DeepEqual(a, b)
}

// merged applies a JSON merge patch (RFC 7396, section 2) to a document:
// members of the patch replace those of the same name, and null removes one.
func merged(doc, patch []byte) (json.RawMessage, error) {
	target, err := jsonvalue.Numbers(doc)
	if err != nil {
		return nil, err
	}
	change, err := jsonvalue.Numbers(patch)
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
