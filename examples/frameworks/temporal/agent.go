// Package temporal has a plain agent as a Temporal workflow, whose calls of its model and of its tools are activities,
// and what puts activities behind injection points.
package temporal

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/openai/openai-go/v3"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// options are those of all activities: a time for each attempt, and the retry policy that a server takes where none is
// given. The test suite would take another one, of ten attempts and equal waits.
func options(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 100 * time.Second,
			MaximumAttempts: math.MaxInt32}, // for ever
	})
}

// Answer is the workflow: the model is asked until it calls no more tools, whose calls of one turn run side by side. It
// fails with the first activity that does, as in Temporal's cookbook.
func Answer(ctx workflow.Context, question string) (string, error) {
	ctx = options(ctx)
	history := []json.RawMessage{message(openai.UserMessage(question))}
	for {
		var said openai.ChatCompletionMessage
		if err := workflow.ExecuteActivity(ctx, (*Model).Ask, history).Get(ctx, &said); err != nil {
			return "", err
		}
		if len(said.ToolCalls) == 0 {
			return said.Content, nil
		}
		history = append(history, message(said.ToParam()))
		var results []workflow.Future
		for _, call := range said.ToolCalls {
			results = append(results, workflow.ExecuteActivity(ctx, call.Function.Name, call.Function.Arguments))
		}
		for i, call := range said.ToolCalls {
			var result string
			if err := results[i].Get(ctx, &result); err != nil {
				return "", err
			}
			history = append(history, message(openai.ToolMessage(result, call.ID)))
		}
	}
}

func message(m openai.ChatCompletionMessageParamUnion) json.RawMessage {
	doc, err := json.Marshal(m)
	if err != nil {
		panic(err) // text always has JSON
	}
	return doc
}

// Model is the activity that asks a model. Its client does not retry: Temporal does.
type Model struct {
	Client openai.Client // with option.WithMaxRetries(0)
	Tools  []openai.ChatCompletionToolUnionParam
}

// Ask sends a conversation, and returns the model's next message.
func (m *Model) Ask(ctx context.Context, history []json.RawMessage) (json.RawMessage, error) {
	var messages []openai.ChatCompletionMessageParamUnion
	for _, doc := range history {
		var one openai.ChatCompletionMessageParamUnion
		if err := json.Unmarshal(doc, &one); err != nil {
			return nil, err
		}
		messages = append(messages, one)
	}
	params := openai.ChatCompletionNewParams{Model: openai.ChatModelGPT5_2, Messages: messages, Tools: m.Tools}
	completion, err := m.Client.Chat.Completions.New(ctx, params)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(completion.Choices[0].Message.RawJSON()), nil
}
