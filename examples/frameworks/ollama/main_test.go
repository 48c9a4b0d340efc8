package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/ollama/ollama/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/contract/cassette"
)

const printed = `a server that starts, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
an answer that breaks off, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
a server that is busy, 3 attempts on the wire: "" 503 Service Unavailable: Service Unavailable
`

// What the program prints, in virtual time: before the provider, and before a tape of
// its answers.
func TestRun(t *testing.T) {
	tape := recorded(t)
	for name, provider := range map[string]func() http.RoundTripper{
		"live": newProvider, "from a tape": func() http.RoundTripper { return tape.Player() },
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), &out, provider))
			assert.Equal(t, printed, out.String(), name)
		})
	}
}

// recorded is a tape of an agent without faults, streamed and not, which answers as the
// provider did.
func recorded(t *testing.T) *cassette.Cassette {
	t.Helper()
	converse := func(ctx context.Context, base http.RoundTripper) string {
		client := newClient(base)
		answer, err := ask(ctx, client, "Where is order 1042?")
		require.NoError(t, err)
		said, _, err := askOnce(ctx, client, []api.Message{{Role: "user", Content: "Where is order 1042?"}}, false)
		require.NoError(t, err)
		return fmt.Sprint(answer, said.Content, work(said.ToolCalls))
	}
	path := filepath.Join(t.TempDir(), "agent.cassette.json")
	tape, err := cassette.Open(path, &cassette.Options{Mode: cassette.Record, Base: newProvider})
	require.NoError(t, err)
	want := converse(t.Context(), newProvider())
	synctest.Test(t, func(t *testing.T) {
		assert.Equal(t, want, converse(t.Context(), tape.Player()), "recorded in a bubble")
	})
	require.NoError(t, tape.Close())
	tape, err = cassette.Open(path, &cassette.Options{Mode: cassette.Replay})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tape.Close()) })
	assert.Equal(t, want, converse(t.Context(), tape.Player()), "played")
	return tape
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
			assert.Contains(t, status.ErrorMessage, "messages[1]: tool calls without a result")
			history = append(history, work(said.ToolCalls)...)
		}
	}
}
