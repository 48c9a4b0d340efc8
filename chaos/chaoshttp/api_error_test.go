package chaoshttp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/internal/golden"
)

// The errors of all providers, as a client reads them: by name and by the path of the request, in an answer and in
// one that pretends to be well. A target without a model is told of the provider's own.
func TestProviderErrors(t *testing.T) {
	kinds := []chaoshttp.ErrorKind{chaoshttp.KindInvalidRequest, chaoshttp.KindContextLength, chaoshttp.KindContentFilter,
		chaoshttp.KindAuthentication, chaoshttp.KindQuota, chaoshttp.KindPermission, chaoshttp.KindNotFound, chaoshttp.KindTooLarge,
		chaoshttp.KindRateLimit, chaoshttp.KindServer, chaoshttp.KindTimeout, chaoshttp.KindOverloaded}
	var out strings.Builder
	for _, p := range []struct {
		api  chaoshttp.API
		path string
	}{{chaoshttp.OpenAI, "/v1/chat/completions"}, {chaoshttp.Anthropic, "/v1/messages"}, {chaoshttp.Gemini, "/v1beta/models/m-1:generateContent"},
		{chaoshttp.Ollama, "/api/chat"}, {chaoshttp.Bedrock, "/model/m-1/converse"}} {
		for _, kind := range kinds {
			o := &chaoshttp.StatusOptions{RetryAfter: 7500 * time.Millisecond}
			f := chaoshttp.APIError(p.api, kind, o)
			if _, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: f}); err != nil {
				continue // the API has no such error: TestWrongParameters
			}
			in := injectorOf(t, chaos.Rule{Fault: f})
			get := func(in *chaos.Injector, model string) got {
				g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), "https://example.com"+p.path, model)
				require.NoError(t, g.err)
				return g
			}
			g := get(in, `{"model":"m-1"}`)
			assert.Equal(t, "8", g.resp.Header.Get("Retry-After"))
			assert.Equal(t, "application/json", g.resp.Header.Get("Content-Type"))
			d := f.(chaos.Described).Describe()
			assert.Equal(t, chaos.LayerLLM, d.Layer)
			assert.NotEmpty(t, onlyEvent(t, in).Err, "the event tells what it was")
			fmt.Fprintf(&out, "%s %s: %d, %s", p.api, kind, g.resp.StatusCode, d.Persistence)
			for _, name := range []string{"X-Should-Retry", "X-Amzn-Errortype", "X-Request-Id", "Request-Id", "X-Amzn-Requestid"} {
				if value := g.resp.Header.Get(name); value != "" {
					fmt.Fprintf(&out, ", %s: %s", name, value)
				}
			}
			fmt.Fprintf(&out, "\n\t%s\n", g.body)

			byPath := get(injectorOf(t, chaos.Rule{Fault: chaoshttp.APIError("", kind, o)}), `{"model":"m-1"}`)
			assert.Equal(t, g.body, byPath.body)
			inOK := get(injectorOf(t, chaos.Rule{Fault: chaoshttp.ErrorInOK(p.api, kind)}), `{}`)
			if kind == chaoshttp.KindNotFound {
				fmt.Fprintf(&out, "\tin an answer, of a call without a model: %s\n", inOK.body)
			}

			// The same fault at a point that is not HTTP is an error of that status.
			_, err := chaos.Wrap("complete", func(context.Context, string) (string, error) { return "", nil })(chaos.NewContext(t.Context(), in), "q")
			var status *chaoshttp.HTTPError
			require.ErrorAs(t, err, &status)
			assert.Equal(t, g.resp.StatusCode, status.StatusCode)
			assert.ErrorIs(t, err, chaos.ErrInjected)
			assert.Equal(t, g.resp.StatusCode == 504 || g.resp.StatusCode == 408, status.Timeout())
		}
	}
	golden.Equal(t, "errors.txt", []byte(out.String()))
}

// Another provider's error than the path's is named, and one that cannot be made is not injected.
func TestWhoseErrorItIs(t *testing.T) {
	const stream = "data: {\"n\":0}\n\ndata: {\"n\":1}\n\n"
	for _, tt := range []struct {
		fault     chaos.Fault
		url       string
		delivered bool
		note      string
	}{
		{chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindServer, nil), "/api/chat", true, "the error is one of openai, and the path one of ollama"},
		{chaoshttp.ErrorInOK(chaoshttp.Ollama, chaoshttp.KindServer), "/v1/messages", true, "the error is one of ollama, and the path one of anthropic"},
		{chaoshttp.ErrorEvent(chaoshttp.Anthropic, chaoshttp.KindServer, 1), "/v1/responses", true, "the error is one of anthropic, and the path one of openai"},
		{chaoshttp.ErrorEvent("", chaoshttp.KindServer, 1), "/v1/messages", true, ""},
		{chaoshttp.ErrorInOK("", chaoshttp.KindServer), "/v1/messages", true, ""},
		{chaoshttp.APIError("", chaoshttp.KindTimeout, nil), "/v1/responses", false, "openai has no error of the kind timeout"},
		{chaoshttp.ErrorEvent("", chaoshttp.KindContentFilter, 0), "/api/generate", false, "ollama has no error of the kind content_filter"},
		{chaoshttp.APIError("", chaoshttp.KindServer, nil), "/orders", false, "the provider of the request is not known"},
		{chaoshttp.ErrorInOK("", chaoshttp.KindServer), "/orders", false, "the provider of the request is not known"},
		{chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindServer, nil), "/orders", true, ""},
	} {
		in := injectorOf(t, chaos.Rule{Fault: tt.fault})
		client := inProcess(t, answering("text/event-stream", stream, false))
		g := ask(chaos.NewContext(t.Context(), in), t, client, "https://example.com"+tt.url, `{"model":"m-1"}`)
		require.NoError(t, g.err)
		e := onlyEvent(t, in)
		assert.Equal(t, tt.delivered, e.Delivered, "%+v", e)
		assert.Equal(t, tt.delivered, g.body != stream || g.resp.StatusCode != 200)
		assert.Contains(t, e.Note, tt.note)
		assert.Equal(t, tt.note == "", e.Note == "")
	}
	in := injectorOf(t, chaos.Rule{Fault: chaoshttp.APIError("", chaoshttp.KindServer, nil)})
	_, err := chaos.Wrap("complete", func(context.Context, string) (string, error) { return "", nil })(chaos.NewContext(t.Context(), in), "q")
	require.NoError(t, err, "a function has no provider")
	assert.False(t, onlyEvent(t, in).Delivered)
}

// The path of a call of Bedrock's has the model, and a stream in Amazon's framing is not edited.
func TestBedrock(t *testing.T) {
	const url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-v2%3A1/converse-stream"
	for name, f := range map[string]chaos.Fault{
		"completion": chaoshttp.CutCompletion(3), "stream": chaoshttp.CutStream(1), "terminator": chaoshttp.DropTerminator(),
	} {
		in := injectorOf(t, chaos.Rule{Target: "POST *#anthropic.claude-v2:1", Fault: f})
		client := inProcess(t, answering("application/vnd.amazon.eventstream", "\x00\x00\x00\x10", false))
		g := ask(chaos.NewContext(t.Context(), in), t, client, url, `{"messages":[]}`)
		require.NoError(t, g.err)
		assert.Equal(t, "\x00\x00\x00\x10", g.body)
		e := onlyEvent(t, in)
		assert.Equal(t, chaos.LayerLLM, e.Layer)
		assert.False(t, e.Delivered, name)
		assert.Contains(t, e.Note, "application/vnd.amazon.eventstream", name)
	}
}

func TestRequestIdentifiersAreDrawn(t *testing.T) {
	ids := map[string]int{}
	for range 2 {
		in := injectorOf(t, chaos.Rule{Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindServer, nil)})
		for range 3 {
			g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, `{}`)
			ids[g.resp.Header.Get("X-Request-Id")]++
		}
	}
	assert.Len(t, ids, 3, "each call has its own, the same in every run")
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    chaoshttp.StatusOptions
		want string
	}{
		{"none", chaoshttp.StatusOptions{}, ""},
		{"seconds", chaoshttp.StatusOptions{RetryAfter: 30 * time.Second}, "30"},
		{"rounded up", chaoshttp.StatusOptions{RetryAfter: 1500 * time.Millisecond}, "2"},
		{"date", chaoshttp.StatusOptions{RetryAfter: time.Hour, RetryDate: true}, "Sat, 01 Jan 2000 01:00:00 GMT"},
		{"date, rounded up", chaoshttp.StatusOptions{RetryAfter: time.Millisecond, RetryDate: true}, "Sat, 01 Jan 2000 00:00:01 GMT"},
		{"own header", chaoshttp.StatusOptions{Header: http.Header{"retry-after": {"7"}}}, "7"},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := injectorOf(t, chaos.Rule{Fault: chaoshttp.Status(429, &tt.o)})
			g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, `{}`)
			require.NoError(t, g.err)
			assert.Equal(t, tt.want, g.resp.Header.Get("Retry-After"), tt.name)
			assert.Equal(t, "Sat, 01 Jan 2000 00:00:00 GMT", g.resp.Header.Get("Date"))
		})
	}
}

// A client that reads the message waits as long as one that reads the header.
func TestTheMessageNamesTheTimeToWait(t *testing.T) {
	for _, tt := range []struct {
		after        time.Duration
		header, says string
	}{
		{0, "", "Please try again in 120ms."},
		{20 * time.Second, "20", "Please try again in 20s."},
		{1500 * time.Millisecond, "2", "Please try again in 2s."},
		{6 * time.Minute, "360", "Please try again in 6m0s."},
		{math.MaxInt64, "9223372036", "Please try again in 2562047h47m16.854775807s."},
	} {
		in := injectorOf(t, chaos.Rule{Fault: chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindRateLimit, &chaoshttp.StatusOptions{RetryAfter: tt.after})})
		g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, `{"model":"m-1"}`)
		require.NoError(t, g.err)
		assert.Equal(t, tt.header, g.resp.Header.Get("Retry-After"))
		assert.Contains(t, g.body, tt.says)
		assert.Contains(t, g.body, "Rate limit reached for m-1 in")
	}
}

func TestAnAnswerOfOnesOwn(t *testing.T) {
	header := http.Header{"X-Cache": {"miss"}}
	f := chaoshttp.Status(503, &chaoshttp.StatusOptions{Body: `{"code":"busy"}`, Header: header})
	header.Set("X-Cache", "changed later")
	in := injectorOf(t, chaos.Rule{Fault: f})
	g := ask(chaos.NewContext(t.Context(), in), t, inProcess(t, desk), chat, `{}`)
	require.NoError(t, g.err)
	assert.Equal(t, `{"code":"busy"}`, g.body)
	assert.Equal(t, "application/json", g.resp.Header.Get("Content-Type"))
	assert.Equal(t, "miss", g.resp.Header.Get("X-Cache"))
}

func TestWrongParameters(t *testing.T) {
	for _, tt := range []struct {
		fault chaos.Fault
		param []string
	}{
		{chaoshttp.Status(200, nil), []string{"code"}},
		{chaoshttp.Status(0, &chaoshttp.StatusOptions{RetryAfter: -1, RetryDate: true}), []string{"code", "retryAfter", "retryDate"}},
		{chaoshttp.Status(500, &chaoshttp.StatusOptions{Header: http.Header{"X-A": {"1\r\nX-B: 2"}}}), []string{"header"}},
		{chaoshttp.Status(500, &chaoshttp.StatusOptions{Header: http.Header{"X A": {"1"}}}), []string{"header"}},
		{chaoshttp.APIError("mistral", chaoshttp.KindServer, nil), []string{"api"}},
		{chaoshttp.APIError(chaoshttp.Gemini, chaoshttp.KindContentFilter, nil), []string{"error"}},
		{chaoshttp.APIError(chaoshttp.OpenAI, chaoshttp.KindTimeout, nil), []string{"error"}},
		{chaoshttp.APIError(chaoshttp.OpenAI, "", nil), []string{"error"}},
		{chaoshttp.ErrorInOK(chaoshttp.OpenAI, ""), []string{"error"}},
		{chaoshttp.TLS("odd"), []string{"failure"}},
		{chaoshttp.SlowHeaders(0), []string{"wait"}},
		{chaoshttp.SlowBody(0, 0), []string{"chunk", "every"}},
		{chaoshttp.CutBody(-1), []string{"bytes"}},
		{chaoshttp.ShortBody(-1), []string{"bytes"}},
		{chaoshttp.SlowEvents(0), []string{"duration"}},
		{chaoshttp.SlowFirstEvent(-time.Second), []string{"duration"}},
		{chaoshttp.CutEvent(-2), []string{"after"}},
		{chaoshttp.CutCompletion(-1), []string{"keep"}},
		{chaoshttp.DriftCompletion("x"), []string{"drift"}},
		{chaoshttp.SpoilCompletion("", "x"), []string{"part", "spoil"}},
		{chaoshttp.ErrorEvent("x", chaoshttp.KindServer, -7), []string{"api", "after"}},
	} {
		_, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: tt.fault})
		var params []string
		var joined interface{ Unwrap() []error }
		require.ErrorAs(t, err, &joined)
		for _, problem := range joined.Unwrap() {
			var p *chaos.ParamError
			if errors.As(problem, &p) {
				params = append(params, p.Param)
			}
		}
		assert.Equal(t, tt.param, params, "%v", err)
	}
}
