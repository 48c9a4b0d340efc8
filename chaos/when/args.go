package when

import (
	"encoding/json"
	"reflect"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Args matches the calls whose arguments satisfy pred. The name says in reports
// what pred looks for. Name and pred are required.
//
// T is the type of the wrapped function's argument. If the arguments are JSON,
// as those of tools are, T may also be a Go type into which they are decoded,
// [any] included; empty arguments decode like null. Arguments of another type,
// or that do not decode into T, do not match. Neither does a call without
// arguments ([chaos.Injector.InjectNow]).
//
// pred must be a pure function, safe for concurrent use, and must not change
// its argument. A panic of pred reaches the caller. Decoding costs what
// encoding/json costs, on every call to a target that the rule covers.
func Args[T any](name string, pred func(T) bool) chaos.When {
	return args[T]{predicate{name, reflect.TypeFor[T]().String()}, pred}
}

var argsRow = catalog.InCode[predicate](catalog.Row{
	Kind: "args", Doc: "Calls whose arguments satisfy a Go function.",
	Go: "when.Args(name, pred)", Example: `{"name":"is seven","type":"int"}`,
}, true)

type predicate struct {
	Name string `json:"name" doc:"what the function looks for or does"`
	Type string `json:"type" doc:"the Go type that it takes"`
}

type args[T any] struct {
	predicate
	pred func(T) bool
}

// Match is called only if there are no arguments.
func (w args[T]) Match(chaos.Call) bool { return false }

func (w args[T]) MatchArgs(_ chaos.Call, v any) bool {
	if w.pred == nil || v == nil {
		return false
	}
	if t, ok := v.(T); ok && reflect.TypeFor[T]().Kind() != reflect.Interface {
		return w.pred(t)
	}
	t, ok := decode[T](v)
	return ok && w.pred(t)
}

func (w args[T]) Check() error {
	c := argsRow.Check(w.predicate)
	c.That(w.Name != "", "name", `""`, "a name that says what pred looks for")
	c.That(w.pred != nil, "pred", nil, "a function")
	return c.Err()
}

func (w args[T]) Describe() chaos.Description { return argsRow.Describe(w.predicate) }

// decode converts arguments to T: JSON, in one of the three types in which
// tools get it, is decoded; a value of another type must have the type T, or
// implement it.
func decode[T any](v any) (t T, ok bool) {
	var doc []byte
	switch v := v.(type) {
	case json.RawMessage:
		doc = v
	case []byte:
		doc = v
	case string:
		doc = []byte(v)
	default:
		t, ok = v.(T)
		return t, ok
	}
	if len(doc) == 0 {
		return t, true
	}
	ok = json.Unmarshal(doc, &t) == nil
	return t, ok
}
