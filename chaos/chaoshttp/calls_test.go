package chaoshttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A request is no document: what an event shows of it is nothing that a fault
// of hand-offs could change and send. It arrives as it was, and the event says so.
func TestAHandOffThatIsARequestIsLeftAlone(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"another method":         fault.CorruptHandoff(json.RawMessage(`{"method":"PUT"}`)),
		"no URL":                 fault.CorruptHandoff(json.RawMessage(`{"url":null}`)),
		"members of the Go type": fault.CorruptHandoff(json.RawMessage(`{"Host":"evil.example","ContentLength":7}`)),
		"misrouted":              fault.Misroute("method", "DELETE"),
	} {
		for _, server := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, server %v", name, server), func(t *testing.T) {
				in := injectorOf(t, chaos.Rule{Fault: f, Limit: 1})
				o := &chaoshttp.Options{Injector: in}
				var sent []string
				var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					assert.NoError(t, err)
					sent = append(sent, r.Method+" "+r.Host+r.URL.Path+" "+string(body))
				})
				if server {
					h = chaoshttp.Handler(h, o)
				}
				s := chaoshttp.InProcess(h)
				client := &http.Client{Transport: s}
				if !server {
					client.Transport = chaoshttp.NewTransport(s, o)
				}
				g := ask(t.Context(), t, client, "https://example.com/tasks", `{"id":7}`)
				require.NoError(t, g.err)
				require.NoError(t, s.Close())
				assert.Equal(t, []string{`POST example.com/tasks {"id":7}`}, sent)
				e := onlyEvent(t, in)
				assert.False(t, e.Delivered, "%+v", e)
				assert.NotEmpty(t, e.Note)
				assert.Empty(t, e.Changes)
				assert.Len(t, in.Undelivered(), 1, "it uses up no limit")
			})
		}
	}
}

// passesNothing is a fault that calls what is behind it without arguments.
type passesNothing struct{}

func (passesNothing) Phase() chaos.Phase { return chaos.PhaseBefore }

func (passesNothing) Inject(ctx context.Context, _ chaos.Call, _ any, next chaos.Next) (any, error) {
	return next(ctx, nil)
}

// A fault that passes on no request at all is an error of the call, whatever
// stands behind it.
func TestAFaultThatPassesOnNoRequest(t *testing.T) {
	for name, inner := range map[string]chaos.Fault{
		"alone": fault.Delay(1), "Refused": chaoshttp.Refused(), "TLS": chaoshttp.TLS(chaoshttp.TLSExpired), "WrongEncoding": chaoshttp.WrongEncoding(),
	} {
		in := injectorOf(t, chaos.Rule{Name: "a", Fault: passesNothing{}}, chaos.Rule{Name: "b", Fault: inner})
		client, n := inProcess(t, desk), 0
		for range 2 {
			g := ask(chaos.NewContext(t.Context(), in), t, client, "https://example.com/", "{}")
			assert.Error(t, g.err, name)
			n++
		}
		assert.Len(t, in.Events(), n, name)
	}
}

// An answer that a fault made to a HEAD request ends with the header, for those
// too that wait for its body to be read.
func TestAnAnswerWithoutABodyEndsItsCall(t *testing.T) {
	in := injectorOf(t,
		chaos.Rule{Name: "budget", Fault: fault.TokenBudget(1000, fault.OpenAIUsage, 0)},
		chaos.Rule{Name: "made", Fault: fault.SilentNoOpWith(json.RawMessage(`{"id":9}`))},
	)
	req := request(t, chaos.NewContext(t.Context(), in), http.MethodHead, "https://example.com/", nil)
	resp, err := inProcess(t, desk).Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, "made", onlyEvent(t, in).Rule)
}

// A length that the client sees changed is delivered, also where the body ended
// early, with the server's own error, before the client had the header.
func TestAChangedLengthOfAnAnswerThatBreaksOff(t *testing.T) {
	in := injectorOf(t,
		chaos.Rule{Name: "short", Fault: chaoshttp.ShortBody(10), Limit: 1},
		chaos.Rule{Name: "reads", Fault: onBody(fault.Replace(json.RawMessage(`1`))), Limit: 1},
	)
	client := inProcess(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id":5,`)
	})
	g := ask(chaos.NewContext(t.Context(), in), t, client, "https://example.com/", "{}")
	require.NoError(t, g.err)
	assert.ErrorIs(t, g.cut, io.ErrUnexpectedEOF)
	assert.Equal(t, `{"id":5,`, g.body)
	assert.EqualValues(t, 10, g.resp.ContentLength)
	e := onlyEvent(t, in)
	assert.True(t, e.Delivered, "%+v", e)
	assert.Equal(t, "short", e.Rule)
	assert.Equal(t, []string{"reads"}, in.Undelivered())
}

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
