package temporal

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"go.temporal.io/sdk/activity"

	"github.com/shakedown-go/shakedown/chaos"
)

// An ActivityRegistry is a worker, or a test environment.
type ActivityRegistry interface {
	RegisterActivityWithOptions(activity any, o activity.RegisterOptions)
}

// Register registers each tool of a registry as an activity of its name, and declares them to a model. Arguments and
// errors pass unchanged; the context is the activity's.
func Register(ctx context.Context, w ActivityRegistry, registry chaos.ToolRegistry) (declared []openai.ChatCompletionToolUnionParam, err error) {
	list, err := registry.Tools(ctx)
	for _, t := range list {
		function := openai.FunctionDefinitionParam{Name: t.Name, Description: openai.String(t.Description)}
		if len(t.InputSchema) > 0 {
			if err := json.Unmarshal(t.InputSchema, &function.Parameters); err != nil {
				return nil, fmt.Errorf("temporal: schema of %s: %w", t.Name, err)
			}
		}
		declared = append(declared, openai.ChatCompletionFunctionTool(function))
		call := func(ctx context.Context, args string) (string, error) {
			result, err := registry.CallTool(ctx, t.Name, json.RawMessage(args))
			return string(result), err
		}
		w.RegisterActivityWithOptions(call, activity.RegisterOptions{Name: t.Name})
	}
	return declared, err
}
