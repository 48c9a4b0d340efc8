// Package eino has a plain agent on Eino and what puts tools and tool calls of Eino behind injection points.
package eino

import (
	"context"
	"net/http"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// An Agent is what a question is asked. Model answers the requests of Eino's client; the rest may be empty.
type Agent struct {
	Model       http.RoundTripper
	Tools       []tool.BaseTool
	Middlewares []compose.ToolMiddleware
	Streaming   bool
}

// Ask builds the agent as Eino's README does, and returns the text of the model's last message.
func (a Agent) Ask(ctx context.Context, question string) (answer string, err error) {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{
		Model: "gpt-4o", APIKey: "none", BaseURL: "https://api.openai.example/v1",
		HTTPClient: &http.Client{Transport: a.Model},
	})
	if err != nil {
		return "", err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "desk", Description: "Answers questions about orders.", Model: model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
			Tools: a.Tools, ToolCallMiddlewares: a.Middlewares,
		}},
	})
	if err != nil {
		return "", err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: a.Streaming})
	for events := runner.Query(ctx, question); ; {
		event, ok := events.Next()
		if !ok {
			return answer, nil
		}
		if event.Err != nil {
			return answer, event.Err
		}
		message, _, err := adk.GetMessage(event)
		if err != nil {
			return answer, err
		}
		if message != nil && message.Role == schema.Assistant {
			answer = message.Content
		}
	}
}
