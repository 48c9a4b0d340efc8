package chaoshttp_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// Budgets read what an answer used from its body, when the client has read it.
func TestBudgetsReadTheBody(t *testing.T) {
	const openAI = `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`
	const anthropic = `{"content":[],"usage":{"input_tokens":10,"output_tokens":3,"cache_read_input_tokens":2}}`
	for name, tt := range map[string]struct {
		fault chaos.Fault
		kind  string
		body  string
		calls int // that go through
		note  bool
	}{
		"tokens, OpenAI":     {fault.TokenBudget(30, fault.OpenAIUsage, 0), "application/json", openAI, 2, false},
		"tokens, Anthropic":  {fault.TokenBudget(31, fault.AnthropicUsage, 0), "application/json; charset=utf-8", anthropic, 3, false},
		"cost":               {fault.CostBudget(0.00007, 2, 4, fault.OpenAIUsage, 0), "application/json", openAI, 2, false},
		"memory":             {fault.MemoryBudget(100, 0), "application/json", openAI, 2, false},
		"an answer without":  {fault.TokenBudget(1, fault.OpenAIUsage, 0), "application/json", `{"choices":[]}`, 4, true},
		"no JSON":            {fault.TokenBudget(1, fault.OpenAIUsage, 0), "text/html", "<html>", 4, true},
		"a stream of events": {fault.TokenBudget(1, fault.OpenAIUsage, 0), "text/event-stream", "data: " + openAI + "\n\n", 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Fault: tt.fault})
			client := inProcess(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				_, _ = io.WriteString(w, tt.body)
			})
			for n := range 4 {
				g := ask(chaos.NewContext(t.Context(), in), t, client, "https://example.com/", "")
				if n >= tt.calls {
					require.ErrorIs(t, g.err, fault.ErrResourceExhausted, "call %d", n)
					continue
				}
				require.NoError(t, g.err, "call %d", n)
				assert.Equal(t, tt.body, g.body)
			}
			events := in.Events()
			require.Len(t, events, 4, "every call has ended")
			for n, e := range events {
				assert.Equal(t, n >= tt.calls, e.Delivered, "call %d: %+v", n, e)
				assert.Equal(t, tt.note, e.Note != "", "call %d: %s", n, e.Note)
			}
		})
	}
}

// What a client throws away unread it has been charged for all the same, as far
// as anybody knows: here not at all, since nothing of it arrived.
func TestABodyThatIsClosedEndsTheCall(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Fault: fault.TokenBudget(1, fault.OpenAIUsage, 0)})
	resp, err := inProcess(t, desk).Do(chatRequest(t, chaos.NewContext(t.Context(), in)))
	require.NoError(t, err)
	assert.Empty(t, in.Events(), "the call is under way until its body ends")
	require.NoError(t, resp.Body.Close())
	require.NoError(t, resp.Body.Close(), "closed again")
	e := onlyEvent(t, in)
	assert.False(t, e.Delivered)
	assert.NotEmpty(t, e.Note)
}

// A body that another fault cut ends the call with that fault's error.
func TestABudgetBesideACutBody(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Fault: fault.TokenBudget(1, fault.OpenAIUsage, 0)}, chaos.Rule{Fault: chaoshttp.CutBody(3)})
	g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), "https://example.com/", "")
	require.ErrorIs(t, g.cut, io.ErrUnexpectedEOF)
	e := onlyEvent(t, in)
	assert.Equal(t, "cut_body", e.Fault)
	assert.True(t, e.Delivered)
	assert.Equal(t, chaos.OutcomeInjected, e.Outcome)
}
