package lies

import (
	"context"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonedit"
)

// ChangeArguments renames an argument of a tool on the other side. The listing
// shows the new name. A call with the old name is refused with a
// [*chaos.ArgumentError] and does not reach the tool; a call with the new name
// works. So an agent that lists the tools again recovers. The rule's target is
// both, such as "{refund,tools/list}"; with "refund" alone the listing is out
// of date.
//
// It acts in the callee's place, so at most one such fault acts on a call.
func ChangeArguments(tool, argument, to string) chaos.Fault {
	return changeArguments{tool, argument, to}
}

type changeArguments struct{ tool, argument, to string }

func (f changeArguments) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if c.Target == chaos.ListTarget {
		return f.list(ctx, c, args, next)
	}
	in, why := open(args)
	if c.Target != f.tool {
		why = "another tool than " + f.tool
	}
	if why != "" {
		chaos.Note(ctx, "changed_arguments: "+why)
		return next(ctx, args)
	}
	if _, old := in.doc.Member(0, f.argument); old {
		return nil, &chaos.ArgumentError{Tool: f.tool, Err: fmt.Errorf("missing required property %q; additional property %q is not allowed", f.to, f.argument)}
	}
	i, ok := in.doc.Member(0, f.to)
	if !ok {
		return next(ctx, args)
	}
	if translated, why := in.close(in.doc.Apply(in.doc.Rename(i, f.argument))); why == "" {
		args = translated
	}
	return next(ctx, args)
}

// list shows the new name in the schema of the tool.
func (f changeArguments) list(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	result, err := next(ctx, args)
	if err != nil {
		return result, err
	}
	in, why := open(result)
	if why != "" {
		chaos.Note(ctx, "changed_arguments: "+why)
		return result, nil
	}
	e := &edit{call: c, doc: in.doc}
	e.applyToOne(isTools, func(e *edit, i int) bool {
		tool, ok := toolIn(e, i, f.tool)
		schema, has := schemaOf(e, tool)
		return ok && has && f.rename(e, schema)
	})
	return e.finish(ctx, in, "changed_arguments", "tool with such an argument in its schema")
}

func (f changeArguments) rename(e *edit, schema int) (done bool) {
	if properties, ok := e.doc.Member(schema, "properties"); ok {
		if i, ok := e.doc.Member(properties, f.argument); ok {
			done = e.rename(i, f.to)
		}
	}
	if required, ok := e.doc.Member(schema, "required"); ok {
		for _, i := range e.doc.Children(required) {
			if e.doc.String(i) == f.argument {
				done = e.replace(i, jsonedit.Quote(f.to)) || done
			}
		}
	}
	return done
}

func (f changeArguments) Check() error {
	c := &param.Check{Kind: "changed_arguments"}
	for _, p := range [][2]string{{"tool", f.tool}, {"argument", f.argument}, {"to", f.to}} {
		c.That(strings.TrimSpace(p[1]) != "", p[0], fmt.Sprintf("%q", p[1]), "a name that is not empty")
	}
	c.That(f.to != f.argument || f.to == "", "to", fmt.Sprintf("%q", f.to), "another name than the argument's")
	return c.Err()
}

func (f changeArguments) Describe() chaos.Description {
	return param.With(chaos.Description{Kind: "changed_arguments", Class: chaos.ClassProtocol, Visibility: chaos.Explicit,
		Persistence: chaos.Permanent, Effect: chaos.EffectNone},
		map[string]string{"tool": f.tool, "argument": f.argument, "to": f.to})
}
