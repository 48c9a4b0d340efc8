package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

func valueRows() []*catalog.Row { return []*catalog.Row{replaceRow, mutateRow} }

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

var replaceRow = catalog.Fault(catalog.Row{
	Kind: "replace", Doc: "The caller gets another result than the callee's.", Go: "fault.Replace(v)",
	Example: `{"value":{"status":"shipped"}}`,
	Class:   chaos.ClassValue, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p anyValue) chaos.Fault { return Replace(p.Value) })

// anyValue are the parameters of a fault that gives a value.
type anyValue struct {
	Value json.RawMessage `json:"value" doc:"what the caller gets instead"`
}

type replace struct {
	label
	v any
}

func (r replace) as(kind string) chaos.Fault  { return replace{label{kind}, r.v} }
func (r replace) Check() error                { return r.check(replaceRow, r.params()).Err() }
func (r replace) Describe() chaos.Description { return r.of(replaceRow).Describe(r.params()) }
func (r replace) Phase() chaos.Phase          { return chaos.PhaseChange }
func (r replace) params() anyValue            { return anyValue{jsonvalue.Document(r.v)} }

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

var mutateRow = catalog.InCode[function](catalog.Row{
	Kind: "mutate", Doc: "The caller gets what a Go function makes of the result.", Go: "fault.Mutate(name, fn)",
	Example: `{"name":"double the amount","type":"int"}`,
	Class:   chaos.ClassValue, Visibility: chaos.Implicit, Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, false)

// function are the parameters of a fault that calls a Go function.
type function struct {
	Name string `json:"name" doc:"what the function does"`
	Type string `json:"type" doc:"the Go type that it takes"`
}

// functionOf returns the parameters of a function on values of type T.
func functionOf[T any](name string) function { return function{name, fmt.Sprint(reflect.TypeFor[T]())} }

// check adds the problems of a function, which is missing if fn is false.
func (f function) check(c *catalog.Check, fn bool) {
	c.That(f.Name != "", "name", `""`, "a name that says what fn does")
	c.That(fn, "fn", nil, "a function")
}

type mutate[T any] struct {
	name string
	fn   func(T) T
}

func (m mutate[T]) Check() error {
	p := functionOf[T](m.name)
	c := mutateRow.Check(p)
	p.check(c, m.fn != nil)
	return c.Err()
}

func (m mutate[T]) Describe() chaos.Description { return mutateRow.Describe(functionOf[T](m.name)) }
func (m mutate[T]) Phase() chaos.Phase          { return chaos.PhaseChange }

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
	// before fn, which may write to what value points to
	before, seen := jsonvalue.Document(result), jsonvalue.Document(value)
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
