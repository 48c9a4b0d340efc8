package chaoshttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// A handler behind a point answers as it does without one, whether a rule
// could match it or not.
func TestAHandlerWithoutAMatchAnswersAsBefore(t *testing.T) {
	for name, h := range handlers {
		if name == "its host" {
			continue // its port differs
		}
		for where, pattern := range map[string]string{"could match": "*", "could not": "nowhere"} {
			t.Run(name+", "+where, func(t *testing.T) {
				in := chaos.NewInjector(1, nil)
				require.NoError(t, in.Register(chaos.Rule{Target: pattern, When: when.Nth(99), Fault: chaoshttp.HangUp()}))
				start := func(h http.Handler) *httptest.Server {
					s := httptest.NewUnstartedServer(h)
					s.Config.ErrorLog = log.New(io.Discard, "", 0)
					s.Start()
					t.Cleanup(s.Close)
					return s
				}
				bare, point := start(h), start(chaoshttp.Handler(h, &chaoshttp.Options{Injector: in}))
				base := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
				assert.Equal(t, describe(t, base, http.MethodPost, bare.URL), describe(t, base, http.MethodPost, point.URL))
			})
		}
	}
}

func TestAHandlerStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := injectorOf(t, chaos.Rule{Fault: fault.Delay(time.Hour)})
		lines := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Same(t, in, chaos.FromContext(r.Context()), "wrapped functions in it find the injector")
			for i := range 3 {
				fmt.Fprintln(w, "line", i)
				http.NewResponseController(w).Flush()
				time.Sleep(time.Minute)
			}
		})
		s := chaoshttp.InProcess(chaoshttp.Handler(lines, &chaoshttp.Options{Injector: in}))
		start := time.Now()
		resp, err := (&http.Client{Transport: s}).Get("http://example.com/")
		require.NoError(t, err)
		r := bufio.NewScanner(resp.Body)
		for i := range 3 {
			require.True(t, r.Scan())
			assert.Equal(t, time.Hour+time.Duration(i)*time.Minute, time.Since(start))
		}
		assert.False(t, r.Scan())
		require.NoError(t, resp.Body.Close())
		require.NoError(t, s.Close())
	})
}

// A server in virtual time may be as slow as it likes, and its clients may
// leave it.
func TestASlowServer(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"SlowHeaders": chaoshttp.SlowHeaders(24 * time.Hour), "SlowBody": chaoshttp.SlowBody(4, 24*time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := injectorOf(t, chaos.Rule{Fault: f})
				s := chaoshttp.InProcess(chaoshttp.Handler(http.HandlerFunc(desk), &chaoshttp.Options{Injector: in}))
				client := &http.Client{Transport: s, Timeout: time.Hour}
				start := time.Now()
				resp, err := client.Get("http://example.com/")
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, time.Hour, time.Since(start))
				require.NoError(t, s.Close())
				assert.Equal(t, time.Hour, time.Since(start), "the server's wait ended with its client")
				assert.True(t, onlyEvent(t, in).Delivered)
			})
		})
	}
}

func TestAPanicOfAHandlerStaysOne(t *testing.T) {
	in := injectorOf(t)
	h := chaoshttp.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }), &chaoshttp.Options{Injector: in})
	assert.PanicsWithValue(t, "boom", func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) })
}

// The model is found in what a server receives, too, and the handler still
// reads all of it.
func TestAServerKnowsTheModel(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Target: "POST */v1/messages#claude-*", When: when.Nth(2), Fault: chaoshttp.APIError(chaoshttp.Anthropic, chaoshttp.KindNotFound, nil)})
	client, s := behind(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}, in)
	const question = `{"model":"claude-x","messages":[]}`
	first := ask(t.Context(), t, client, s.URL+"/v1/messages", question)
	require.NoError(t, first.err)
	assert.Equal(t, question, first.body)
	second := ask(t.Context(), t, client, s.URL+"/v1/messages", question)
	require.NoError(t, second.err)
	assert.Equal(t, 404, second.resp.StatusCode)
	assert.Contains(t, second.body, "model: claude-x")
	s.Close()
	assert.True(t, strings.HasSuffix(in.Events()[1].Target, "/v1/messages#claude-x"))
	assert.Equal(t, chaos.LayerLLM, in.Events()[1].Layer)
}

// A transport and a handler on one call are one point: its fault is injected once.
func TestOneExchangeIsFaultedOnce(t *testing.T) {
	in := injectorOf(t, chaos.Rule{Fault: chaoshttp.ShortBody(10)})
	s := chaoshttp.InProcess(chaoshttp.Handler(http.HandlerFunc(desk), nil))
	client := &http.Client{Transport: chaoshttp.NewTransport(s, nil)}
	g := ask(chaos.NewContext(t.Context(), in), t, client, "https://example.com/", "")
	require.NoError(t, g.err)
	assert.Equal(t, document[:10], g.body)
	assert.Len(t, in.Events(), 1)
	require.NoError(t, s.Close())
}

// On HTTP/2 a connection carries other streams: it is the stream that ends.
func TestAnHTTP2ServerEndsTheStream(t *testing.T) {
	for _, f := range []chaos.Fault{chaoshttp.Reset(), chaoshttp.HangUp(), chaoshttp.CutBody(10)} {
		in := injectorOf(t, chaos.Rule{When: when.Nth(1), Fault: f})
		s := httptest.NewUnstartedServer(chaoshttp.Handler(http.HandlerFunc(desk), &chaoshttp.Options{Injector: in}))
		s.EnableHTTP2 = true
		s.StartTLS()
		g := ask(t.Context(), t, s.Client(), s.URL, "{}")
		if g.err == nil {
			assert.Error(t, g.cut)
			assert.Equal(t, document[:10], g.body)
		}
		g = ask(t.Context(), t, s.Client(), s.URL, "{}")
		require.NoError(t, g.err)
		assert.Equal(t, 2, g.resp.ProtoMajor)
		assert.Equal(t, document, g.body)
		s.Close()
		assert.True(t, in.Events()[0].Delivered)
	}
}
