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
	p := predicate{Name: name, Type: reflect.TypeFor[T]().String()}
	if pred != nil {
		p.pred = func(v any) bool {
			t, ok := fit[T](v)
			return ok && pred(t)
		}
	}
	return args.Of(p)
}

var args = &catalog.Match[predicate]{
	Row: catalog.Row{Kind: "args", Doc: "Calls whose arguments satisfy a Go function.", Go: "when.Args(name, pred)",
		Example: `{"name":"is seven","type":"int"}`, InCode: true},
	Match:     func(predicate, chaos.Call) bool { return false }, // called only if there are no arguments
	MatchArgs: func(p predicate, _ chaos.Call, v any) bool { return p.pred != nil && v != nil && p.pred(v) },
}

type predicate struct {
	Name string `json:"name" doc:"what the function looks for or does"`
	Type string `json:"type" doc:"the Go type that it takes"`
	pred func(any) bool
}

func (p predicate) Check(c *catalog.Check) {
	c.That(p.Name != "", "name", `""`, "a name that says what pred looks for")
	c.That(p.pred != nil, "pred", nil, "a function")
}

// fit converts arguments to T: either they have that type, or they are JSON, in one
// of the three types in which tools get it, that decodes into T. An interface type
// would also accept the JSON itself; the decoded value is preferred.
func fit[T any](v any) (t T, ok bool) {
	if t, ok := v.(T); ok && reflect.TypeFor[T]().Kind() != reflect.Interface {
		return t, true
	}
	return decode[T](v)
}

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
