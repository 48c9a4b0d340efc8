package fault

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// AuthExpired makes a call fail with [ErrTokenExpired]; the callee is not
// reached. With when.After(n) the credentials are valid for n calls. A retry
// does not help.
func AuthExpired() chaos.Fault {
	return failure{err: ErrTokenExpired, label: &label{kind: "auth_expired", persistence: chaos.Permanent}}
}

// ToolRemoved removes tools from a registry: the listing lacks them, and a call
// to one fails with an error that matches [chaos.ErrUnknownTool]. The rule's
// target must cover the listing and the tools, such as "{tools/list,refund}" or
// "*". With when.Since(d) they disappear in mid-run. At least one name is
// required.
//
// A listing that contains none of them is not changed. Calls to other tools
// pass.
func ToolRemoved(tools ...string) chaos.Fault { return toolRemoved{slices.Clone(tools)} }

type toolRemoved struct{ tools []string }

func (r toolRemoved) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if slices.Contains(r.tools, c.Target) {
		return nil, &unknownTool{c.Target}
	}
	skip(ctx)
	result, err := next(ctx, args)
	list, ok := result.([]chaos.Tool)
	if err != nil || !ok {
		return result, err
	}
	gone := func(t chaos.Tool) bool { return slices.Contains(r.tools, t.Name) }
	if !slices.ContainsFunc(list, gone) {
		return result, nil
	}
	for i, t := range list {
		if gone(t) {
			chaos.Changed(ctx, chaos.Change{Path: place(i), Before: jsonvalue.Document(t)})
		}
	}
	return slices.DeleteFunc(slices.Clone(list), gone), nil
}

// Phase puts the fault before all others: a tool that is missing cannot fail in
// another way.
func (r toolRemoved) Phase() chaos.Phase { return chaos.PhaseBefore }

func (r toolRemoved) Check() error {
	c := param.Check{Kind: "tool_removed"}
	c.That(len(r.tools) > 0, "tools", nil, "at least one name of a tool")
	c.That(!slices.Contains(r.tools, ""), "tools", fmt.Sprintf("%q", r.tools), "names that are not empty")
	return c.Err()
}

func (r toolRemoved) Describe() chaos.Description {
	return param.With(chaos.Description{
		Kind: "tool_removed", Layer: chaos.LayerTool, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
		Persistence: chaos.Permanent, Effect: chaos.EffectNone,
	}, struct {
		Tools []string `json:"tools"`
	}{append([]string{}, r.tools...)})
}

// unknownTool reads like a registry's own error for an unknown name.
type unknownTool struct{ name string }

func (e *unknownTool) Error() string        { return fmt.Sprintf("unknown tool %q", e.name) }
func (e *unknownTool) Is(target error) bool { return target == chaos.ErrUnknownTool }
