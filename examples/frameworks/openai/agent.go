package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
)

// errCut says that an answer is not complete.
var errCut = errors.New("the answer is incomplete")

// model answers, in a made-up world.
const model = openai.ChatModelGPT5_2

// ask is the loop of an agent: the model is asked until it calls no more tools.
func ask(ctx context.Context, client openai.Client, question string) (string, error) {
	params := openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
		Tools:    tools(),
	}
	for range 5 {
		completion, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return "", err
		}
		if len(completion.Choices) == 0 {
			return "", errors.New("the answer has no choice")
		}
		choice := completion.Choices[0]
		switch {
		case choice.Message.Refusal != "":
			return "", fmt.Errorf("the model refused: %s", choice.Message.Refusal)
		case choice.FinishReason == "length", choice.FinishReason == "content_filter":
			return "", fmt.Errorf("%w: %s", errCut, choice.FinishReason)
		case len(choice.Message.ToolCalls) == 0:
			return choice.Message.Content, nil
		}
		params.Messages = append(params.Messages, choice.Message.ToParam())
		for _, call := range choice.Message.ToolCalls {
			params.Messages = append(params.Messages,
				openai.ToolMessage(work(call.Function.Name, call.Function.Arguments), call.ID))
		}
	}
	return "", errors.New("too many turns")
}

func tools() []openai.ChatCompletionToolUnionParam {
	return []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name:        "orders_status",
		Description: openai.String("Where an order is."),
		Parameters: openai.FunctionParameters{
			"type": "object", "required": []string{"order_id"},
			"properties": map[string]any{"order_id": map[string]string{"type": "integer"}},
		},
	})}
}

// work runs a tool. The result says what is wrong with a call, so that the model
// can make a better one.
func work(name, args string) string {
	if name != "orders_status" {
		return fmt.Sprintf("error: there is no tool %q", name)
	}
	var in struct {
		OrderID *int `json:"order_id"`
	}
	if err := json.Unmarshal([]byte(args), &in); err != nil || in.OrderID == nil {
		return "error: order_id is required, a number"
	}
	return fmt.Sprintf(`{"order_id":%d,"status":"shipped"}`, *in.OrderID)
}
