package main

import (
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// script calls the tool twice, and answers once an order was shipped.
func script() modeltest.Func {
	call := modeltest.Call{Name: toolName, Args: toolArgs}
	return modeltest.Script(
		modeltest.Answer{Text: "Let me look.", Calls: []modeltest.Call{call, call}, InputTokens: 20, OutputTokens: 9},
		modeltest.Answer{After: "shipped", Text: answerText},
	)
}

func clientOf(model http.RoundTripper) openai.Client {
	return openai.NewClient(option.WithAPIKey("sk-none"), option.WithBaseURL("https://api.openai.example/v1/"),
		option.WithHTTPClient(&http.Client{Transport: model}))
}

// The client's own accumulator makes of the model's stream what it makes of the
// whole answer, and its messages are accepted on the next turn.
func TestScriptedChat(t *testing.T) {
	client := clientOf(modeltest.New(t, script()))
	p := params(true)
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	for turn := range 2 {
		whole, err := client.Chat.Completions.New(t.Context(), p)
		require.NoError(t, err)
		stream, all := client.Chat.Completions.NewStreaming(t.Context(), p), openai.ChatCompletionAccumulator{}
		for stream.Next() {
			require.True(t, all.AddChunk(stream.Current()))
		}
		require.NoError(t, stream.Err())
		got, want := all.Choices[0], whole.Choices[0]
		assert.Equal(t, want.Message.Content, got.Message.Content)
		assert.Equal(t, want.FinishReason, got.FinishReason)
		assert.Equal(t, whole.ID, all.ID)
		assert.Equal(t, whole.Usage.TotalTokens, all.Usage.TotalTokens)
		require.Len(t, got.Message.ToolCalls, 2*(1-turn))
		for i, call := range want.Message.ToolCalls {
			assert.Equal(t, call.ID, got.Message.ToolCalls[i].ID)
			assert.Equal(t, toolName+toolArgs, got.Message.ToolCalls[i].Function.Name+got.Message.ToolCalls[i].Function.Arguments)
		}
		p.Messages = append(p.Messages, got.Message.ToParam())
		if turn == 0 {
			_, err = client.Chat.Completions.New(t.Context(), p)
			var api *openai.Error
			require.ErrorAs(t, err, &api, "its calls have no results")
			assert.Equal(t, http.StatusBadRequest, api.StatusCode)
			assert.Contains(t, api.Message, "tool calls without a result: "+got.Message.ToolCalls[0].ID)
		}
		for _, call := range got.Message.ToolCalls {
			p.Messages = append(p.Messages, openai.ToolMessage(work(call.Function.Name, call.Function.Arguments), call.ID))
		}
	}
}

// The same script answers the other API, whose conversation the model remembers.
func TestScriptedResponses(t *testing.T) {
	client := clientOf(modeltest.New(t, script()))
	p := responses.ResponseNewParams{
		Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Where is it?")},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction(toolName, map[string]any{"type": "object"}, true)},
	}
	first, err := client.Responses.New(t.Context(), p)
	require.NoError(t, err)
	assert.EqualValues(t, 29, first.Usage.TotalTokens)
	var results responses.ResponseInputParam
	for _, item := range first.Output {
		if item.Type == "function_call" {
			call := item.AsFunctionCall()
			result := responses.ResponseInputItemParamOfFunctionCallOutput(work(call.Name, call.Arguments))
			result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
			results = append(results, result)
		}
	}
	require.Len(t, results, 2)
	p.PreviousResponseID, p.Input = openai.String(first.ID), responses.ResponseNewParamsInputUnion{OfInputItemList: results[:1]}
	_, err = client.Responses.New(t.Context(), p)
	var api *openai.Error
	require.ErrorAs(t, err, &api)
	assert.Equal(t, "previous_response_id: tool calls without a result: "+results[1].OfFunctionCallOutput.CallID.Value, api.Message)
	p.Input.OfInputItemList = results
	second, err := client.Responses.New(t.Context(), p)
	require.NoError(t, err)
	assert.Equal(t, answerText, second.OutputText())
}
