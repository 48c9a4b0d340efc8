package trpc

import (
	"context"
	"encoding/json"
	"fmt"

	"trpc.group/trpc-go/trpc-agent-go/tool"

	"github.com/shakedown-go/shakedown/chaos"
)

// Tools are the tools of a registry as those of the framework. Arguments, contexts and errors pass unchanged.
func Tools(ctx context.Context, registry chaos.ToolRegistry) (tools []tool.Tool, err error) {
	list, err := registry.Tools(ctx)
	for _, t := range list {
		d := &tool.Declaration{Name: t.Name, Description: t.Description, InputSchema: &tool.Schema{Type: "object"}}
		if len(t.InputSchema) > 0 {
			if err := json.Unmarshal(t.InputSchema, d.InputSchema); err != nil {
				return nil, fmt.Errorf("trpc: schema of %s: %w", t.Name, err)
			}
		}
		tools = append(tools, &registered{d, registry})
	}
	return tools, err
}

type registered struct {
	declaration *tool.Declaration
	registry    chaos.ToolRegistry
}

func (t *registered) Declaration() *tool.Declaration { return t.declaration }

func (t *registered) Call(ctx context.Context, args []byte) (any, error) {
	return t.registry.CallTool(ctx, t.declaration.Name, args)
}

// Point makes an injection point of a user's own tool, under its name, with the injector of the context of each call. The
// framework's callbacks stand before and after a tool, not around it, so that the tool is what is wrapped. Of the tool's
// other interfaces (streams, long runs) none is kept.
func Point(t tool.CallableTool) tool.CallableTool { return &point{t} }

type point struct{ tool.CallableTool }

func (p *point) Call(ctx context.Context, args []byte) (any, error) {
	call := func(ctx context.Context, _ string, args []byte) (any, error) { return p.CallableTool.Call(ctx, args) }
	return chaos.WrapDispatch(call)(ctx, p.Declaration().Name, args)
}
