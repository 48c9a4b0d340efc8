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
		chaos.Rule{Name: "budget", Fault: fault.TokenBudget(1000, fault.OpenAIUsage(), 0)},
		chaos.Rule{Name: "made", Fault: fault.SilentNoOpWith(json.RawMessage(`{"id":9}`))},
	)
	req, err := http.NewRequestWithContext(chaos.NewContext(t.Context(), in), http.MethodHead, "https://example.com/", nil)
	require.NoError(t, err)
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
