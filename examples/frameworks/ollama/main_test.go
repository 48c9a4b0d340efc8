package main

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/ollama/ollama/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
)

// What the program prints, in virtual time.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out))
		assert.Equal(t, `a server that starts, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
an answer that breaks off, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
a server that is busy, 3 attempts on the wire: "" 503 Service Unavailable: Service Unavailable
`, out.String())
	})
}

// The client makes of the model's stream what it makes of the whole answer, and its
// messages are accepted on the next turn, with and without identifiers of calls.
func TestScriptedModel(t *testing.T) {
	for _, withIDs := range []bool{true, false} {
		client := newClient(modeltest.New(t, script()))
		history := []api.Message{{Role: "user", Content: "Where is order 1042?"}}
		for turn := range 2 {
			whole, used, err := askOnce(t.Context(), client, history, false)
			require.NoError(t, err)
			said, streamed, err := askOnce(t.Context(), client, history, true)
			require.NoError(t, err)
			assert.Equal(t, whole, said)
			assert.Equal(t, used, streamed)
			assert.Positive(t, used.PromptEvalCount*used.EvalCount)
			require.Len(t, said.ToolCalls, 2*(1-turn))
			if turn == 1 {
				assert.Equal(t, answerText, said.Content)
				break
			}
			for i := range said.ToolCalls {
				assert.Equal(t, i, said.ToolCalls[i].Function.Index)
				if !withIDs {
					said.ToolCalls[i].ID = ""
				}
			}
			history = append(history, said)
			_, _, err = askOnce(t.Context(), client, history, true)
			var status api.StatusError
			require.ErrorAs(t, err, &status, "its calls have no results")
			assert.Equal(t, 400, status.StatusCode)
			assert.Contains(t, status.ErrorMessage, "messages[1]: tool calls without a tool message")
			history = append(history, work(said.ToolCalls)...)
		}
	}
}
