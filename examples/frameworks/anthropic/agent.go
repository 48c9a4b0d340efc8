package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// errCut says that an answer is not complete.
var errCut = errors.New("the answer is incomplete")

// model answers, in a made-up world.
const model = anthropic.Model("claude-sonnet-4-5")

// ask is the loop of an agent: the model is asked until it calls no more tools.
func ask(ctx context.Context, client anthropic.Client, question string) (string, error) {
	params := anthropic.MessageNewParams{
		Model: model, MaxTokens: 1024, Tools: tools(),
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
	for range 5 {
		message, err := client.Messages.New(ctx, params)
		if err != nil {
			return "", err
		}
		var text string
		var results []anthropic.ContentBlockParamUnion
		for _, block := range message.Content {
			switch block.Type {
			case "text":
				text += block.Text
			case "tool_use":
				result, failed := work(block.Name, block.Input)
				results = append(results, anthropic.NewToolResultBlock(block.ID, result, failed))
			}
		}
		switch {
		case message.StopReason == anthropic.StopReasonRefusal:
			return "", fmt.Errorf("the model refused: %s", text)
		case message.StopReason == anthropic.StopReasonMaxTokens:
			return "", fmt.Errorf("%w: %s", errCut, message.StopReason)
		case len(results) == 0:
			return text, nil
		}
		params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(results...))
	}
	return "", errors.New("too many turns")
}

func tools() []anthropic.ToolUnionParam {
	return []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name: "orders_status", Description: anthropic.String("Where an order is."),
		InputSchema: anthropic.ToolInputSchemaParam{
			Properties: map[string]any{"order_id": map[string]string{"type": "integer"}},
			Required:   []string{"order_id"},
		},
	}}}
}

// work runs a tool. The result says what is wrong with a call, so that the model
// can make a better one.
func work(name string, args json.RawMessage) (result string, failed bool) {
	if name != "orders_status" {
		return fmt.Sprintf("there is no tool %q", name), true
	}
	var in struct {
		OrderID *int `json:"order_id"`
	}
	if err := json.Unmarshal(args, &in); err != nil || in.OrderID == nil {
		return "order_id is required, a number", true
	}
	return fmt.Sprintf(`{"order_id":%d,"status":"shipped"}`, *in.OrderID), false
}
