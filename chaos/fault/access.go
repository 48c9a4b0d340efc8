package fault

import (
	"context"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/form"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

// AuthExpired makes a call fail with [ErrTokenExpired]; the callee is not
// reached. With when.After(n) the credentials are good for n calls; it does not
// heal by trying again.
func AuthExpired() chaos.Fault {
	return failure{err: ErrTokenExpired, label: label{kind: "auth_expired", persistence: chaos.Permanent}}
}

// ToolRemoved takes tools out of a registry: its listing does not have them,
// and a call of one fails as that of an unknown tool, with an error that
// matches [chaos.ErrUnknownTool]. The target of the rule takes in the listing
// and the tools, "{tools/list,refund}" or "*"; with when.Since(d) they are
// removed in mid-run. At least one name is required.
//
// A listing that had none of them, and calls of other tools, pass.
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
			chaos.Changed(ctx, chaos.Change{Path: place(i), Before: form.Document(t)})
		}
	}
	return slices.DeleteFunc(slices.Clone(list), gone), nil
}

// Phase puts it before what else may happen to a tool that is not there.
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

// unknownTool reads as a registry's own error for a name that it does not have.
type unknownTool struct{ name string }

func (e *unknownTool) Error() string        { return fmt.Sprintf("unknown tool %q", e.name) }
func (e *unknownTool) Is(target error) bool { return target == chaos.ErrUnknownTool }
