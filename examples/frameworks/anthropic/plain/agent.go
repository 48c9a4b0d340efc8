// Package plain is an agent on Anthropic's Go client and its tool runner, the loop over tool calls that the client
// brings (Beta.Messages.NewToolRunner). docs/frameworks.md shows what it does when its tools and its model fail.
package plain

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"

	"github.com/shakedown-go/shakedown/chaos"
)

func newClient(model http.RoundTripper) anthropic.Client {
	return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("none"),
		option.WithBaseURL("https://api.anthropic.example/"), option.WithHTTPClient(&http.Client{Transport: model}))
}

func params(question string) anthropic.BetaToolRunnerParams {
	return anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 1024,
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(question))},
	}}
}

// ask asks one question.
func ask(ctx context.Context, model http.RoundTripper, registry chaos.ToolRegistry, question string) (string, error) {
	tools, err := adapt(ctx, registry)
	if err != nil {
		return "", err
	}
	client := newClient(model)
	last, err := client.Beta.Messages.NewToolRunner(tools, params(question)).RunToCompletion(ctx)
	if err != nil {
		return "", err
	}
	text := ""
	for _, block := range last.Content {
		text += block.Text
	}
	return text, nil
}

// askStreamed shows the answer while it comes: it returns the text of the last message.
func askStreamed(ctx context.Context, model http.RoundTripper, registry chaos.ToolRegistry, question string) (text string, err error) {
	tools, err := adapt(ctx, registry)
	if err != nil {
		return "", err
	}
	client := newClient(model)
	for events, err := range client.Beta.Messages.NewToolRunnerStreaming(tools, params(question)).AllStreaming(ctx) {
		if err != nil {
			return text, err
		}
		for event, err := range events {
			if err != nil {
				return text, err
			}
			if event.Type == "message_start" {
				text = ""
			}
			text += event.Delta.Text
		}
	}
	return text, nil
}

// adapt makes tools of the runner of those of a registry. Arguments and context pass through unchanged, and so does
// an error: the runner decides what the model gets to know of it.
func adapt(ctx context.Context, registry chaos.ToolRegistry) (tools []anthropic.BetaTool, err error) {
	all, err := registry.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, tool := range all {
		run := func(ctx context.Context, args json.RawMessage) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			result, err := registry.CallTool(ctx, tool.Name, args)
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: string(result)}}, err
		}
		adapted, err := toolrunner.NewBetaToolFromBytes(tool.Name, tool.Description, tool.InputSchema, run)
		if err != nil {
			return nil, err
		}
		tools = append(tools, adapted)
	}
	return tools, nil
}
