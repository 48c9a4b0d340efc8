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
	Row: catalog.Row{
		Kind: "replace", Doc: "The caller gets another result than the callee's.", Go: "fault.Replace(v)",
		Example: `{"value":{"status":"shipped"}}`,
		Class:   chaos.ClassValue, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Phase:   chaos.PhaseChange,
	Prepare: anyValue.given,
	Inject: func(ctx context.Context, _ chaos.Call, p anyValue, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if err != nil {
			return result, err
		}
		after := kept(inForm(p.v, result))
		if equal(result, after) {
			return result, nil
		}
		chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(result), After: jsonvalue.Document(after)})
		return after, nil
	},
}

// anyValue are the parameters of a fault that gives a value.
type anyValue struct {
	Value json.RawMessage `json:"value" doc:"what the caller gets instead"`
	v     any             // of which Value is the JSON
	set   bool            // v is: it may be nil
}

func valueOf(v any) anyValue { return anyValue{jsonvalue.Document(v), kept(v), true} }

// given takes the value from the document unless it is there.
func (p anyValue) given() anyValue {
	if p.set {
		return p
	}
	return valueOf(p.Value)
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
	Row: catalog.Row{
		Kind: "mutate", Doc: "The caller gets what a Go function makes of the result.", Go: "fault.Mutate(name, fn)",
		Example: `{"name":"double the amount","type":"int"}`, InCode: true,
		Class: chaos.ClassValue, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Phase: chaos.PhaseChange,
	Inject: func(ctx context.Context, _ chaos.Call, p mutation, args any, next chaos.Next) (any, error) {
		result, err := next(ctx, args)
		if err != nil {
			return result, err
		}
		return p.change(ctx, result), nil
	},
}

// mutation is a function on results.
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
		made := jsonvalue.Document(changed)
		// Of JSON only the document counts; Go values may also differ in members without JSON.
		if jsonhash.Same(seen, made) && (isText || reflect.DeepEqual(given, changed)) {
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
