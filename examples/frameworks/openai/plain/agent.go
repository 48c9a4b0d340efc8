// Package plain is an agent on OpenAI's Go client as the client's README has it ("Tool calling", "Streaming
// responses"): the client sends, and the loop over tool calls is the user's. docs/frameworks.md shows what it does when
// its tools and its model fail.
package plain

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/shakedown-go/shakedown/chaos"
)

// mostTurns ends a conversation that goes on and on.
const mostTurns = 20

// An agent asks a model through the client.
type agent struct {
	client openai.Client
	tools  chaos.ToolRegistry
	turn   func(context.Context, responses.ResponseNewParams) (turn, error)
}

// A turn is what the model says.
type turn struct {
	id, text string
	calls    []responses.ResponseFunctionToolCall
}

// ask asks one question; the answers are streamed or not.
func ask(ctx context.Context, model http.RoundTripper, tools chaos.ToolRegistry, question string, streamed bool) (string, error) {
	a := &agent{tools: tools, client: openai.NewClient(
		option.WithAPIKey("none"), option.WithBaseURL("https://api.openai.example/v1/"),
		option.WithHTTPClient(&http.Client{Transport: model}),
	)}
	a.turn = a.whole
	if streamed {
		a.turn = a.streamed
	}
	return a.converse(ctx, question)
}

// converse is the loop: the model is asked until it calls no more tools. What a tool returns goes back to the model,
// an error too.
func (a *agent) converse(ctx context.Context, question string) (string, error) {
	params := responses.ResponseNewParams{Model: openai.ChatModelGPT5_2}
	params.Input.OfString = openai.String(question)
	var err error
	if params.Tools, err = adapt(ctx, a.tools); err != nil {
		return "", err
	}
	for range mostTurns {
		said, err := a.turn(ctx, params)
		if err != nil || len(said.calls) == 0 {
			return said.text, err
		}
		var results responses.ResponseInputParam
		for _, call := range said.calls {
			result, err := a.tools.CallTool(ctx, call.Name, json.RawMessage(call.Arguments))
			if err != nil {
				result = json.RawMessage("error: " + err.Error())
			}
			output := responses.ResponseInputItemParamOfFunctionCallOutput(string(result))
			output.OfFunctionCallOutput.CallID = openai.String(call.CallID)
			results = append(results, output)
		}
		params.PreviousResponseID = openai.String(said.id)
		params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: results}
	}
	return "", errors.New("too many turns")
}

func (a *agent) whole(ctx context.Context, params responses.ResponseNewParams) (t turn, err error) {
	r, err := a.client.Responses.New(ctx, params)
	if err != nil {
		return t, err
	}
	t.id, t.text = r.ID, r.OutputText()
	for _, item := range r.Output {
		if item.Type == "function_call" {
			t.calls = append(t.calls, item.AsFunctionCall())
		}
	}
	return t, nil
}

func (a *agent) streamed(ctx context.Context, params responses.ResponseNewParams) (t turn, err error) {
	stream := a.client.Responses.NewStreaming(ctx, params)
	defer stream.Close()
	for stream.Next() {
		switch event := stream.Current(); event.Type {
		case "response.created":
			t.id = event.Response.ID
		case "response.output_text.delta":
			t.text += event.Delta
		case "response.output_item.done":
			if event.Item.Type == "function_call" {
				t.calls = append(t.calls, event.Item.AsFunctionCall())
			}
		}
	}
	return t, stream.Err()
}

// adapt declares the tools of a registry to the model. That is all there is to an adapter here: the loop calls the
// registry itself, with its context.
func adapt(ctx context.Context, tools chaos.ToolRegistry) (declared []responses.ToolUnionParam, err error) {
	all, err := tools.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, tool := range all {
		var schema map[string]any
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			return nil, err
		}
		function := &responses.FunctionToolParam{Name: tool.Name, Description: openai.String(tool.Description), Parameters: schema}
		declared = append(declared, responses.ToolUnionParam{OfFunction: function})
	}
	return declared, nil
}
