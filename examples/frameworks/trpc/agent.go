// Package trpc has a plain agent on tRPC-Agent-Go and what puts its tools behind injection points.
package trpc

import (
	"context"
	"errors"
	"net/http"

	"trpc.group/trpc-go/trpc-agent-go/agent/llmagent"
	"trpc.group/trpc-go/trpc-agent-go/model"
	"trpc.group/trpc-go/trpc-agent-go/model/openai"
	"trpc.group/trpc-go/trpc-agent-go/runner"
	"trpc.group/trpc-go/trpc-agent-go/tool"
)

// An Agent is what a question is asked. Model answers the requests of the framework's client; the rest may be empty.
type Agent struct {
	Model     http.RoundTripper
	Tools     []tool.Tool
	Streaming bool
	Options   []llmagent.Option // beyond those of the README
}

// Ask builds the agent as the framework's README does, and returns the text of the model's last whole message.
func (a Agent) Ask(ctx context.Context, question string) (answer string, err error) {
	assistant := llmagent.New("desk", append([]llmagent.Option{
		llmagent.WithModel(openai.New("gpt-4o",
			openai.WithAPIKey("none"), openai.WithBaseURL("https://api.openai.example/v1"),
			openai.WithHTTPClientOptions(openai.WithHTTPClientTransport(a.Model)))),
		llmagent.WithTools(a.Tools),
		llmagent.WithGenerationConfig(model.GenerationConfig{Stream: a.Streaming}),
	}, a.Options...)...)
	desk := runner.NewRunner("desk", assistant)
	defer func() { err = errors.Join(err, desk.Close()) }()
	events, err := desk.Run(ctx, "user-1", "session-1", model.NewUserMessage(question))
	if err != nil {
		return "", err
	}
	for event := range events {
		if event.Error != nil {
			return answer, event.Error
		}
		if event.Response == nil || event.IsPartial {
			continue
		}
		for _, choice := range event.Choices {
			if choice.Message.Role == model.RoleAssistant {
				answer = choice.Message.Content
			}
		}
	}
	return answer, nil
}
