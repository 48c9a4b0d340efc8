package main

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// What the program prints, in virtual time.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out))
		assert.Equal(t, `one rate limit, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
a connection that is reset, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
an answer that breaks off, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
no quota left, 3 attempts on the wire: "" Error 429, Message: Too Many Requests
, Status: 429 Too Many Requests, Details: []
`, out.String())
	})
}

// The client makes of the model's stream what it makes of the whole answer, and its
// messages are accepted on the next turn, with and without identifiers of calls.
func TestScriptedModel(t *testing.T) {
	for _, withIDs := range []bool{true, false} {
		client, err := newClient(t.Context(), modeltest.New(t, script()))
		require.NoError(t, err)
		history := []*genai.Content{genai.NewContentFromText("Where is order 1042?", genai.RoleUser)}
		for turn := range 2 {
			whole, err := client.Models.GenerateContent(t.Context(), model, history, tools())
			require.NoError(t, err)
			all := &genai.Content{Role: genai.RoleModel}
			var last *genai.GenerateContentResponse
			for last, err = range client.Models.GenerateContentStream(t.Context(), model, history, tools()) {
				require.NoError(t, err)
				all.Parts = append(all.Parts, last.Candidates[0].Content.Parts...)
			}
			text := textOf(all)
			assert.Equal(t, textOf(whole.Candidates[0].Content), text)
			assert.Equal(t, whole.UsageMetadata, last.UsageMetadata)
			assert.Equal(t, whole.ResponseID, last.ResponseID)
			assert.Equal(t, genai.FinishReasonStop, last.Candidates[0].FinishReason)
			calls := whole.FunctionCalls()
			require.Len(t, calls, 2*(1-turn))
			if turn == 1 {
				assert.Equal(t, answerText, text)
				break
			}
			history = append(history, all)
			if !withIDs {
				for _, p := range all.Parts {
					if p.FunctionCall != nil {
						p.FunctionCall.ID = ""
					}
				}
				for _, c := range calls {
					c.ID = ""
				}
			}
			_, err = client.Models.GenerateContent(t.Context(), model, history, tools())
			var api genai.APIError
			require.True(t, errors.As(err, &api), "its calls have no results: %v", err)
			assert.Equal(t, 400, api.Code)
			assert.Equal(t, "INVALID_ARGUMENT", api.Status)
			assert.Contains(t, api.Message, "number of function response parts")
			history = append(history, work(calls))
		}
	}
}

func textOf(c *genai.Content) (text string) {
	for _, p := range c.Parts {
		text += p.Text
	}
	return text
}
