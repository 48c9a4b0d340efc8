package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A ToolFunc is a tool made from a Go function by [Func].
type ToolFunc struct {
	tool Tool
	call func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)
}

// Func makes a tool of a typed Go function: the arguments are decoded into In, the
// result is encoded. Empty arguments and null leave In at its zero value. Arguments
// that do not fit are an [*ArgumentError], which a model can correct. A nil fn is an
// error of [NewRegistry].
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
		problems = append(problems, t.check(i)...)
		if _, twice := r.calls[t.tool.Name]; twice {
			problems = append(problems, t.problem(i, "Name", fmt.Sprintf("%q", t.tool.Name), "a name of its own: this one is taken"))
		}
		r.calls[t.tool.Name] = t
		r.list = append(r.list, t.tool)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return r, nil
}

func (t ToolFunc) check(i int) (problems []error) {
	refuse := func(field string, value any, allowed string) {
		problems = append(problems, t.problem(i, field, value, allowed))
	}
	if t.tool.Name == "" {
		refuse("Name", `""`, "a name that is not empty")
	}
	if t.call == nil {
		refuse("the function", nil, "a function that is not nil, given to Func")
	}
	var object map[string]json.RawMessage
	if s := t.tool.InputSchema; len(s) > 0 && (json.Unmarshal(s, &object) != nil || object == nil) {
		refuse("InputSchema", string(s), "a JSON object, or nothing")
	}
	if e := t.tool.Effect; !slices.Contains([]Effect{"", EffectUnknown, EffectNone, EffectDone}, e) {
		refuse("Effect", fmt.Sprintf("%q", e), "none, done, unknown, or empty")
	}
	if p := t.tool.IdempotencyKey; p != "" && !isPointer(p) {
		refuse("IdempotencyKey", fmt.Sprintf("%q", p), `a JSON pointer to an argument, such as "/key", or empty`)
	}
	return problems
}

func (t ToolFunc) problem(i int, field string, value any, allowed string) error {
	return &ParamError{Kind: fmt.Sprintf("tool #%d (%q)", i, t.tool.Name), Param: field, Value: value, Allowed: allowed}
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
