// Package adk is an agent on Google's Agent Development Kit, as its documentation has
// it, and the adapter that gives it the tools of a [chaos.ToolRegistry].
package adk

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model/gemini"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/shakedown-go/shakedown/chaos"
)

// toolsOf is the adapter: each tool of the registry as a function tool. The context of
// the call is the one that the framework gives, which has the caller's values.
func toolsOf(ctx context.Context, registry chaos.ToolRegistry) (tools []tool.Tool, err error) {
	list, err := registry.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		config := functiontool.Config{Name: t.Name, Description: t.Description}
		if len(t.InputSchema) > 0 {
			config.InputSchema = &jsonschema.Schema{}
			if err := json.Unmarshal(t.InputSchema, config.InputSchema); err != nil {
				return nil, err
			}
		}
		made, err := functiontool.New(config, func(ctx agent.Context, args map[string]any) (any, error) {
			doc, err := json.Marshal(args)
			if err != nil {
				return nil, err
			}
			return registry.CallTool(ctx, t.Name, doc)
		})
		if err != nil {
			return nil, err
		}
		tools = append(tools, made)
	}
	return tools, nil
}

// newRunner makes the agent: a model, an instruction, the tools.
func newRunner(ctx context.Context, answers http.RoundTripper, registry chaos.ToolRegistry) (*runner.Runner, error) {
	model, err := gemini.NewModel(ctx, "gemini-3-pro", &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "none",
		HTTPOptions: genai.HTTPOptions{BaseURL: "https://gemini.example/"},
		HTTPClient:  &http.Client{Transport: answers},
	})
	if err != nil {
		return nil, err
	}
	tools, err := toolsOf(ctx, registry)
	if err != nil {
		return nil, err
	}
	desk, err := llmagent.New(llmagent.Config{
		Name: "order_desk", Model: model, Description: "Answers questions about orders.",
		Instruction: "Help customers with their orders. Use the tools.", Tools: tools,
	})
	if err != nil {
		return nil, err
	}
	return runner.NewInMemory("orders", desk)
}

// ask asks the agent one question, in a session of its own.
func ask(ctx context.Context, answers http.RoundTripper, registry chaos.ToolRegistry,
	question string, mode agent.StreamingMode) (string, error) {
	desk, err := newRunner(ctx, answers, registry)
	if err != nil {
		return "", err
	}
	message := genai.NewContentFromText(question, genai.RoleUser)
	return answerOf(desk.Run(ctx, "customer", "session", message, agent.RunConfig{StreamingMode: mode}))
}

// answerOf is the text of the final response.
func answerOf(events iter.Seq2[*session.Event, error]) (answer string, err error) {
	for event, err := range events {
		if err != nil {
			return answer, err
		}
		if !event.IsFinalResponse() || event.Content == nil {
			continue
		}
		for _, part := range event.Content.Parts {
			answer += part.Text
		}
	}
	return answer, nil
}
