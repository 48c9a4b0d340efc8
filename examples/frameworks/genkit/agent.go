// Package genkit is an agent on Genkit, as its documentation has it, and the adapter
// that gives it the tools of a [chaos.ToolRegistry].
package genkit

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/googlegenai"

	"github.com/shakedown-go/shakedown/chaos"
)

// toolsOf is the adapter: each tool of the registry as a tool of Genkit. The context of
// the call is the one that the framework gives, which has the caller's values.
func toolsOf(ctx context.Context, g *genkit.Genkit, registry chaos.ToolRegistry) (tools []ai.ToolRef, err error) {
	list, err := registry.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		var options []ai.ToolOption
		if len(t.InputSchema) > 0 {
			var schema map[string]any
			if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
				return nil, err
			}
			options = append(options, ai.WithInputSchema(schema))
		}
		call := func(ctx *ai.ToolContext, args any) (json.RawMessage, error) {
			doc, err := json.Marshal(args)
			if err != nil {
				return nil, err
			}
			return registry.CallTool(ctx, t.Name, doc)
		}
		tools = append(tools, genkit.DefineTool(g, t.Name, t.Description, call, options...))
	}
	return tools, nil
}

// newAgent makes what a program makes once: the model's provider and the tools. ctx ends
// what Init starts, a goroutine that waits for signals.
func newAgent(ctx context.Context, answers http.RoundTripper, registry chaos.ToolRegistry) (
	g *genkit.Genkit, options []ai.GenerateOption, err error) {
	g = genkit.Init(ctx, genkit.WithPlugins(&googlegenai.GoogleAI{
		APIKey: "none", BaseURL: "https://gemini.example/", HTTPClient: &http.Client{Transport: answers},
	}))
	tools, err := toolsOf(ctx, g, registry)
	return g, []ai.GenerateOption{
		ai.WithModelName("googleai/gemini-3-pro"),
		ai.WithSystem("Help customers with their orders. Use the tools."),
		ai.WithTools(tools...),
	}, err
}

// ask asks the agent one question.
func ask(ctx context.Context, answers http.RoundTripper, registry chaos.ToolRegistry, question string) (string, error) {
	own, stop := context.WithCancel(ctx)
	defer stop()
	g, options, err := newAgent(own, answers, registry)
	if err != nil {
		return "", err
	}
	return genkit.GenerateText(ctx, g, append(options, ai.WithPrompt("%s", question))...)
}

// askStreamed is ask with streamed answers. It returns the text of the last response.
func askStreamed(ctx context.Context, answers http.RoundTripper, registry chaos.ToolRegistry, question string) (string, error) {
	own, stop := context.WithCancel(ctx)
	defer stop()
	g, options, err := newAgent(own, answers, registry)
	if err != nil {
		return "", err
	}
	for piece, err := range genkit.GenerateStream(ctx, g, append(options, ai.WithPrompt("%s", question))...) {
		if err != nil {
			return "", err
		}
		if piece.Done {
			return piece.Response.Text(), nil
		}
	}
	return "", nil
}
