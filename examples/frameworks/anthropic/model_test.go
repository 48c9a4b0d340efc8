package main

import (
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// The client's own accumulator makes of the model's stream what it makes of the
// whole answer, and its messages are accepted on the next turn.
func TestScriptedMessages(t *testing.T) {
	call := modeltest.Call{Name: toolName, Args: toolArgs}
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("sk-none"), option.WithBaseURL("https://api.anthropic.example/"),
		option.WithHTTPClient(&http.Client{Transport: modeltest.New(t, modeltest.Script(
			modeltest.Answer{Text: "Let me look.", Calls: []modeltest.Call{call, call}, InputTokens: 20, OutputTokens: 9},
			modeltest.Answer{After: "shipped", Text: answerText},
		))}))
	p := params(true)
	for turn := range 2 {
		whole, err := client.Messages.New(t.Context(), p)
		require.NoError(t, err)
		stream, all := client.Messages.NewStreaming(t.Context(), p), anthropic.Message{}
		for stream.Next() {
			require.NoError(t, all.Accumulate(stream.Current()))
		}
		require.NoError(t, stream.Err())
		assert.Equal(t, seenMessage(whole), seenMessage(&all))
		assert.Equal(t, whole.ID, all.ID)
		assert.Equal(t, whole.Usage.InputTokens, all.Usage.InputTokens)
		assert.Equal(t, whole.Usage.OutputTokens, all.Usage.OutputTokens)
		require.Len(t, all.Content, 3-2*turn)
		p.Messages = append(p.Messages, all.ToParam())
		if turn == 0 {
			_, err = client.Messages.New(t.Context(), p)
			var api *anthropic.Error
			require.ErrorAs(t, err, &api, "its calls have no results")
			assert.Equal(t, http.StatusBadRequest, api.StatusCode)
			assert.Equal(t, anthropic.ErrorTypeInvalidRequestError, api.Type())
			assert.ErrorContains(t, err, "tool calls without a result: "+all.Content[1].ID)
		}
		var results []anthropic.ContentBlockParamUnion
		for _, b := range all.Content[1:] {
			result, failed := work(b.Name, b.Input)
			results = append(results, anthropic.NewToolResultBlock(b.ID, result, failed))
		}
		p.Messages = append(p.Messages, anthropic.NewUserMessage(results...))
	}
}
