package chaoshttp_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// persistent is a client library that sends a request up to three times.
func persistent(ctx context.Context, t *testing.T, c *http.Client) (g got) {
	for range 3 {
		if g = ask(ctx, t, c, "https://api.example.com/v1/messages", `{"model":"m"}`); g.err == nil && g.resp.StatusCode < 500 {
			return g
		}
	}
	return g
}

const messages = "POST api.example.com/v1/messages#m"

func TestWireAttemptsAndLogicalCalls(t *testing.T) {
	rule := func(w chaos.When) chaos.Rule {
		return chaos.Rule{Target: messages, When: w, Fault: chaoshttp.Status(503, nil)}
	}
	for _, tt := range []struct {
		name     string
		when     chaos.When
		attempts []int
	}{
		{"nothing fails", when.Nth(99), []int{1, 1}},
		{"the first attempts fail", when.First(2), []int{1, 2, 3, 1}},
		{"every attempt fails, by the failures before", when.Always(), []int{1, 2, 3, 4, 5, 6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := injectorOf(t, rule(tt.when))
			client := inProcess(t, desk)
			for range 2 {
				persistent(chaos.NewContext(t.Context(), in), t, client)
			}
			var attempts []int
			for _, e := range in.Events() {
				attempts = append(attempts, e.Attempt)
			}
			assert.Equal(t, tt.attempts, attempts)
		})
	}
}

// A wrapped function of the program is the caller of what its library sends.
func TestTheCallerOfAWireAttempt(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Target: messages, When: when.First(1), Fault: chaoshttp.HangUp()})
	client := inProcess(t, desk)
	complete := chaos.Wrap("complete", func(ctx context.Context, _ string) (string, error) {
		g := persistent(ctx, t, client)
		return g.body, g.err
	})
	_, err := complete(chaos.NewContext(t.Context(), in), "question")
	require.NoError(t, err)
	var callers []string
	for _, e := range in.Events() {
		callers = append(callers, e.Target+" by "+e.Caller)
	}
	assert.Equal(t, []string{"complete by ", messages + " by complete", messages + " by complete"}, callers)
}
