package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/internal/jsonhash"
)

// A ToolRegistry is what an agent calls its tools through. Both methods must
// be safe for concurrent use.
type ToolRegistry interface {
	// Tools lists the tools.
	Tools(ctx context.Context) ([]Tool, error)
	// CallTool calls one with its arguments, a JSON object, and returns its
	// result, a JSON value.
	CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
}

// A Tool is the description of a tool: what a model gets, and what a contract needs
// to know.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // a JSON Schema; empty: not stated
	// OutputSchema is a JSON Schema of the results; empty: not stated. Nothing here enforces it: see
	// package contract/habits.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Effect is what a successful call does to the world; empty: unknown.
	Effect Effect `json:"effect,omitempty"`
	// IdempotencyKey is a JSON pointer (RFC 6901) to the argument by which the
	// tool knows a repeated request; empty: it does not.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	// Audit is what an audit found about calling the tool again, in words that follow "an audit found that",
	// such as "it doubles"; empty: nothing is known. Findings say it.
	Audit string `json:"audit,omitempty"`
}

// ListTarget is the injection point of a wrapped registry's Tools method.
const ListTarget = "tools/list"

// WrapRegistry makes an injection point of every tool of a registry, under the
// tool's name, and one of its listing, [ListTarget]. in binds it to an injector; nil: the
// one in the context of each call. A call's key is a hash of its canonical JSON arguments:
// the order of members, white space, the spelling of numbers and of escapes do not matter.
// No arguments, null and {} have one key.
//
// What a tool declares ([Tool].Effect) is known from the start for a [*Registry], and
// for a registry with a method Known() []Tool from what that returns; for another one once
// Tools was called. Before, effects are unknown.
//
// Wrapping a wrapped registry with the same in returns it as it is. r must not be nil.
func WrapRegistry(r ToolRegistry, in *Injector) ToolRegistry {
	if w, ok := r.(*wrappedRegistry); ok && w.in == in {
		return w
	}
	w := &wrappedRegistry{inner: r, in: in, call: r.CallTool}
	w.list = WrapWith(ListTarget, w.listInner,
		&WrapOptions[struct{}]{Injector: in, Layer: LayerTool, effect: EffectNone})
	if known, ok := r.(interface{ Known() []Tool }); ok {
		w.learn(known.Known())
	}
	return w
}

type wrappedRegistry struct {
	inner ToolRegistry
	in    *Injector
	list  func(context.Context, struct{}) ([]Tool, error)
	call  func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) // of inner
	known atomic.Pointer[map[string]Effect]
}

func (w *wrappedRegistry) Tools(ctx context.Context) ([]Tool, error) { return w.list(ctx, struct{}{}) }

func (w *wrappedRegistry) listInner(ctx context.Context, _ struct{}) ([]Tool, error) {
	tools, err := w.inner.Tools(ctx)
	if err == nil {
		w.learn(tools)
	}
	return tools, err
}

func (w *wrappedRegistry) learn(tools []Tool) {
	known := make(map[string]Effect, len(tools))
	for _, t := range tools {
		known[t.Name] = t.Effect
	}
	w.known.Store(&known)
}

func (w *wrappedRegistry) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	f, in := frameOf(ctx), w.in
	if in == nil {
		if f == nil || f.in == nil {
			return w.inner.CallTool(ctx, name, args)
		}
		in = f.in
	}
	p := newPoint(name, LayerTool) // a name that the model made up is a point like any other
	if known := w.known.Load(); known != nil {
		p.effect = (*known)[name]
	}
	return callNamed(ctx, f, in, &p, args, jsonKey, w.call)
}

// WrapDispatch makes injection points of a dispatch function, the switch by
// which many agents call their tools: the target is the name. The key is that
// of [WrapRegistry] when A is JSON (json.RawMessage, []byte or string); other
// arguments are encoded first, which costs what encoding/json costs.
func WrapDispatch[A, R any](
	fn func(ctx context.Context, name string, args A) (R, error),
) func(ctx context.Context, name string, args A) (R, error) {
	return func(ctx context.Context, name string, args A) (R, error) {
		f := frameOf(ctx)
		if f == nil || f.in == nil {
			return fn(ctx, name, args)
		}
		p := newPoint(name, LayerTool)
		return callNamed(ctx, f, f.in, &p, args, argsKey, fn)
	}
}

func jsonKey(args json.RawMessage) uint64 { return jsonhash.Sum(args) }

func argsKey[A any](args A) uint64 {
	switch doc := any(args).(type) {
	case json.RawMessage:
		return jsonhash.Sum(doc)
	case []byte:
		return jsonhash.Sum(doc)
	case string:
		return jsonhash.Sum([]byte(doc))
	}
	doc, err := encode(args)
	if err != nil {
		return 0 // without JSON: the empty key
	}
	return jsonhash.Sum(doc)
}

// A ToolFunc is a tool made from a Go function by [Func].
type ToolFunc struct {
	tool Tool
	call func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)
}

// Func makes a tool of a typed Go function: the arguments are decoded into In, the
// result is encoded. Empty arguments and null leave In at its zero value. Arguments
// that do not fit are an [*ArgumentError], which a model can correct.
func Func[In, Out any](tool Tool, fn func(context.Context, In) (Out, error)) ToolFunc {
	t := ToolFunc{tool: tool}
	if fn == nil {
		return t
	}
	t.call = func(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
		var in In
		if len(args) > 0 {
			if err := json.Unmarshal(args, &in); err != nil {
				return nil, &ArgumentError{Tool: tool.Name, Err: err}
			}
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}
	return t
}

// An ArgumentError is the error of a tool that could not decode its arguments. The
// tool was not called.
type ArgumentError struct {
	Tool string
	Err  error // of encoding/json
}

// Error reads as a model should see it: the tool, and what is wrong.
func (e *ArgumentError) Error() string {
	return fmt.Sprintf("invalid arguments for tool %q: %v", e.Tool, e.Err)
}

// Unwrap returns the error of encoding/json.
func (e *ArgumentError) Unwrap() error { return e.Err }

// A Registry is a fixed set of tools made from Go functions. It is safe for
// concurrent use.
type Registry struct {
	list  []Tool
	calls map[string]ToolFunc
}

// NewRegistry makes a registry. The error joins every problem, each a
// [*ParamError]: a missing or repeated name, a nil function, a schema that is
// not a JSON object, an unknown effect, a malformed JSON pointer.
func NewRegistry(tools ...ToolFunc) (*Registry, error) {
	r := &Registry{calls: make(map[string]ToolFunc, len(tools))}
	var problems []error
	for i, t := range tools {
		_, taken := r.calls[t.tool.Name]
		problems = append(problems, t.check(i, taken)...)
		r.calls[t.tool.Name] = t
		r.list = append(r.list, t.tool)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return r, nil
}

func (t ToolFunc) check(i int, taken bool) (problems []error) {
	refuse := func(field string, value any, allowed string) {
		problems = append(problems, &ParamError{Kind: fmt.Sprintf("tool #%d (%q)", i, t.tool.Name), Param: field,
			Value: value, Allowed: allowed})
	}
	if t.tool.Name == "" {
		refuse("Name", `""`, "a name that is not empty")
	}
	if t.call == nil {
		refuse("the function", nil, "a function that is not nil, given to Func")
	}
	schema := func(field string, s json.RawMessage) {
		var object map[string]json.RawMessage
		if len(s) > 0 && (json.Unmarshal(s, &object) != nil || object == nil) {
			refuse(field, string(s), "a JSON object, or nothing")
		}
	}
	schema("InputSchema", t.tool.InputSchema)
	schema("OutputSchema", t.tool.OutputSchema)
	if e := t.tool.Effect; !slices.Contains([]Effect{"", EffectUnknown, EffectNone, EffectDone}, e) {
		refuse("Effect", fmt.Sprintf("%q", e), "none, done, unknown, or empty")
	}
	if p := t.tool.IdempotencyKey; p != "" && !isPointer(p) {
		refuse("IdempotencyKey", fmt.Sprintf("%q", p), `a JSON pointer to an argument, such as "/key", or empty`)
	}
	if taken {
		refuse("Name", fmt.Sprintf("%q", t.tool.Name), "a name of its own: this one is taken")
	}
	return problems
}

// isPointer reports whether p is a JSON pointer (RFC 6901, section 3) to a part of a document.
func isPointer(p string) bool {
	escapes := strings.Count(p, "~0") + strings.Count(p, "~1")
	return strings.HasPrefix(p, "/") && strings.Count(p, "~") == escapes
}

// Tools lists the tools in the order in which they were given.
func (r *Registry) Tools(ctx context.Context) ([]Tool, error) {
	if err := orBackground(ctx).Err(); err != nil {
		return nil, err
	}
	return slices.Clone(r.list), nil
}

// Known returns the tools as Tools does.
func (r *Registry) Known() []Tool { return slices.Clone(r.list) }

// CallTool calls a tool; an unknown name is an error that matches [ErrUnknownTool].
func (r *Registry) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	t, ok := r.calls[name]
	if !ok {
		return nil, &unknownTool{name}
	}
	return t.call(ctx, args)
}

// unknownTool reads as a real server's answer would: a model may see it.
type unknownTool struct{ name string }

func (e *unknownTool) Error() string        { return fmt.Sprintf("unknown tool %q", e.name) }
func (e *unknownTool) Is(target error) bool { return target == ErrUnknownTool }
