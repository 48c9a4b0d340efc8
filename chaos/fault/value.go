package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
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
func Replace(v any) chaos.Fault { return replace{v: kept(v)} }

type replace struct {
	v any
	*label
}

func (r replace) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	after := kept(inForm(r.v, result))
	if equal(result, after) {
		return result, nil
	}
	chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(result), After: jsonvalue.Document(after)})
	return after, nil
}

func (r replace) Phase() chaos.Phase { return chaos.PhaseChange }

func (r replace) Describe() chaos.Description {
	return param.With(r.on(chaos.Description{
		Kind: "replace", Class: chaos.ClassValue, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}), struct {
		Value any `json:"value"`
	}{jsonvalue.Document(r.v)})
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
func Mutate[T any](name string, fn func(T) T) chaos.Fault { return mutate[T]{name, fn} }

type mutate[T any] struct {
	name string
	fn   func(T) T
}

func (m mutate[T]) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	value, ok := fit[T](result)
	if !ok {
		chaos.Note(ctx, fmt.Sprintf("mutate %q: the result, %T, does not fit %v", m.name, result, reflect.TypeFor[T]()))
		return result, nil
	}
	before, seen := jsonvalue.Document(result), jsonvalue.Document(value) // before fn, which may write to what value points to
	changed := m.fn(value)
	if m.same(seen, value, changed, result) {
		return result, nil
	}
	after := inForm(changed, result)
	chaos.Changed(ctx, chaos.Change{Before: before, After: jsonvalue.Document(after)})
	return after, nil
}

// same reports whether fn left the value as it was. Of JSON only the document
// counts; Go values may also differ in members without JSON.
func (m mutate[T]) same(seen json.RawMessage, value, changed T, result any) bool {
	if !equal(seen, jsonvalue.Document(changed)) {
		return false
	}
	_, isText := jsonvalue.Text(result)
	return isText || reflect.DeepEqual(value, changed)
}

func (m mutate[T]) Phase() chaos.Phase { return chaos.PhaseChange }

func (m mutate[T]) Check() error {
	c := param.Check{Kind: "mutate"}
	c.That(m.name != "", "name", `""`, "a name that says what fn does")
	c.That(m.fn != nil, "fn", nil, "a function")
	return c.Err()
}

func (m mutate[T]) Describe() chaos.Description {
	return param.With(chaos.Description{
		Kind: "mutate", Class: chaos.ClassValue, Visibility: chaos.Implicit,
		Persistence: chaos.Transient, Effect: chaos.EffectDone,
	}, struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}{m.name, fmt.Sprint(reflect.TypeFor[T]())})
}
