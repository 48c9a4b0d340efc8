package eino

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/shakedown-go/shakedown/chaos"
)

// Tools are the tools of a registry as those of Eino. Arguments, contexts and errors pass unchanged.
func Tools(ctx context.Context, registry chaos.ToolRegistry) (tools []tool.BaseTool, err error) {
	list, err := registry.Tools(ctx)
	for _, t := range list {
		info := &schema.ToolInfo{Name: t.Name, Desc: t.Description}
		if len(t.InputSchema) > 0 {
			var s jsonschema.Schema
			if err := json.Unmarshal(t.InputSchema, &s); err != nil {
				return nil, fmt.Errorf("eino: schema of %s: %w", t.Name, err)
			}
			info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(&s)
		}
		tools = append(tools, &registered{info, registry})
	}
	return tools, err
}

type registered struct {
	info     *schema.ToolInfo
	registry chaos.ToolRegistry
}

func (t *registered) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

func (t *registered) InvokableRun(ctx context.Context, args string, _ ...tool.Option) (string, error) {
	result, err := t.registry.CallTool(ctx, t.info.Name, json.RawMessage(args))
	return string(result), err
}
