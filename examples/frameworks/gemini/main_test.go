package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/shakedown-go/shakedown/chaos/chaoshttp/modeltest"
	"github.com/shakedown-go/shakedown/contract/cassette"
)

const printed = `one rate limit, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
a connection that is reset, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
an answer that breaks off, 3 attempts on the wire: "Order 1042 was shipped to Zoë on Monday." <nil>
no quota left, 3 attempts on the wire: "" Error 429, Message: Too Many Requests
, Status: 429 Too Many Requests, Details: []
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
		client, err := newClient(ctx, base)
		require.NoError(t, err)
		answer, err := ask(ctx, client, "Where is order 1042?")
		require.NoError(t, err)
		history := []*genai.Content{genai.NewContentFromText("Where is order 1042?", genai.RoleUser)}
		said := &genai.Content{}
		for part, err := range client.Models.GenerateContentStream(ctx, model, history, tools()) {
			require.NoError(t, err)
			said.Parts = append(said.Parts, part.Candidates[0].Content.Parts...)
		}
		return fmt.Sprint(answer, textOf(said), len(said.Parts))
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
			assert.Contains(t, api.Message, "tool calls without a result")
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
