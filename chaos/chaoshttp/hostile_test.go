package chaoshttp_test

import (
	"bufio"
	"context"
	"errors"
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

// base is a transport that a test or a middleware made by hand.
type base func(*http.Request) (*http.Response, error)

func (b base) RoundTrip(r *http.Request) (*http.Response, error) { return b(r) }

func fetchFrom(t testing.TB, in *chaos.Injector, from http.RoundTripper) (*http.Response, error) {
	req := request(t, chaos.NewContext(t.Context(), in), http.MethodGet, "https://orders.example/7", nil)
	return (&http.Client{Transport: chaoshttp.NewTransport(from, nil)}).Do(req)
}

// A status needs no more than its code.
func TestBareHTTPErrorIsAnswered(t *testing.T) {
	resp, err := fetchFrom(t, injectorOf(t, chaos.Rule{Fault: fault.Fail(&chaoshttp.HTTPError{StatusCode: 503})}), base(nil))
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, 503, resp.StatusCode)
}

// Transports made by hand leave out what net/http would have set.
func TestHandMadeResponses(t *testing.T) {
	bare := base(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil })
	for name, f := range map[string]chaos.Fault{
		"sent twice": fault.Duplicate(), "lost": fault.LoseReply(), "cut": chaoshttp.CutBody(1),
		"a page": chaoshttp.HTMLPage(), "slow": chaoshttp.SlowBody(1, time.Nanosecond),
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := fetchFrom(t, injectorOf(t, chaos.Rule{Fault: f}), bare)
			if err != nil {
				assert.ErrorIs(t, err, chaos.ErrInjected)
				return
			}
			_, err = io.ReadAll(resp.Body)
			assert.NoError(t, err)
			assert.NoError(t, resp.Body.Close())
		})
	}
	_, err := fetchFrom(t, injectorOf(t), base(func(*http.Request) (*http.Response, error) { return nil, nil }))
	assert.ErrorContains(t, err, "nil *Response", "as the client says it without a point")
}

// Where no body is allowed there is nothing to spoil.
func TestAnswersWithoutABody(t *testing.T) {
	for _, code := range []int{http.StatusNoContent, http.StatusNotModified} {
		for _, f := range []chaos.Fault{chaoshttp.SlowBody(1, time.Nanosecond), chaoshttp.WrongEncoding()} {
			in := injectorOf(t, chaos.Rule{Fault: f})
			c := inProcess(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
			g := ask(chaos.NewContext(t.Context(), in), t, c, "https://orders.example/7", "{}")
			assert.Equal(t, code, g.resp.StatusCode)
			assert.Empty(t, g.body)
			assert.NoError(t, g.cut)
			assert.Empty(t, g.resp.Header.Get("Content-Length"))
			assert.False(t, onlyEvent(t, in).Delivered)
			assert.Contains(t, onlyEvent(t, in).Note, "no body")
		}
	}
}

// Trailers come when the body has ended, to a response that was copied too.
func TestTrailersSurviveASpoiledBody(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
		_ = http.NewResponseController(w).Flush() // HTTP/1 has trailers of chunked bodies alone
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	})
	for _, h2 := range []bool{false, true} {
		s := httptest.NewUnstartedServer(h)
		s.EnableHTTP2 = h2
		s.StartTLS()
		defer s.Close()
		c := &http.Client{Transport: chaoshttp.NewTransport(s.Client().Transport, nil)}
		in := injectorOf(t, chaos.Rule{Fault: chaoshttp.SlowBody(1, time.Nanosecond)}, chaos.Rule{Fault: chaoshttp.CutBody(99)})
		g := ask(chaos.NewContext(t.Context(), in), t, c, s.URL, "{}")
		require.NoError(t, g.err)
		assert.Equal(t, "ok", g.body)
		assert.Equal(t, "0", g.resp.Trailer.Get("Grpc-Status"))
	}
}

// A request made by hand has no body at all, and goes to the handler directly.
func TestHandlerTakesRequestsMadeByHand(t *testing.T) {
	h := chaoshttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }),
		&chaoshttp.Options{Injector: injectorOf(t)})
	r, err := http.NewRequest(http.MethodGet, "/orders", nil)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	assert.Equal(t, 201, w.Code)
}

// A handler that takes a header back gets its way, as in net/http.
func TestSuppressedHeaders(t *testing.T) {
	h := func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		_, _ = io.WriteString(w, "<html>")
	}
	c, s := behind(t, h, injectorOf(t))
	g := ask(t.Context(), t, c, s.URL, "{}")
	assert.Empty(t, g.resp.Header["Date"])
	assert.Empty(t, g.resp.Header["Content-Type"])
	g = ask(t.Context(), t, inProcess(t, h), "https://orders.example/7", "{}")
	assert.NotContains(t, g.resp.Header, "Date")
	assert.NotContains(t, g.resp.Header, "Content-Type")
}

// A body that never comes does not keep the caller beyond its time.
func TestStalledRequestBodyEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, writer := io.Pipe()
		defer writer.Close()
		ctx, cancel := context.WithTimeout(chaos.NewContext(t.Context(), injectorOf(t)), time.Second)
		defer cancel()
		req := jsonRequest(t, ctx, http.MethodPost, "https://orders.example/7", body)
		time.AfterFunc(time.Minute, func() { writer.CloseWithError(errors.New("far too late")) })
		began := time.Now()
		_, err := chaoshttp.NewTransport(chaoshttp.InProcess(http.HandlerFunc(desk)), nil).RoundTrip(req)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
	})
}

// The writer of a stream of documents may wait for the answer to the first.
func TestStreamsOfDocumentsAreNotReadAhead(t *testing.T) {
	for _, kind := range []string{"application/x-ndjson", "application/jsonl", "application/json-seq"} {
		synctest.Test(t, func(t *testing.T) {
			body, writer := io.Pipe()
			ctx, cancel := context.WithTimeout(chaos.NewContext(t.Context(), injectorOf(t)), time.Minute)
			defer cancel()
			req := request(t, ctx, http.MethodPost, "https://orders.example/7", body)
			req.Header.Set("Content-Type", kind)
			s := chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				_, _ = io.Copy(w, r.Body)
			}))
			defer s.Close()
			resp, err := chaoshttp.NewTransport(s, nil).RoundTrip(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			go func() { _, _ = io.WriteString(writer, "{}\n"); writer.Close() }()
			got, err := io.ReadAll(resp.Body)
			assert.NoError(t, err)
			assert.Equal(t, "{}\n", string(got))
		})
	}
}

// breaks is a fault that panics once the handler was asked.
type breaks struct{}

func (breaks) Inject(ctx context.Context, _ chaos.Call, args any, next chaos.Next) (any, error) {
	_, _ = next(ctx, args)
	panic("a fault of yours")
}

// A fault that panics leaves no handler behind, not even one that has more to
// write than anybody reads.
func TestPanicOfAFaultJoinsTheHandler(t *testing.T) {
	ended := make(chan struct{}, 1)
	h := chaoshttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		ended <- struct{}{}
	}), &chaoshttp.Options{Injector: injectorOf(t, chaos.Rule{Fault: breaks{}})})
	r := httptest.NewRequest(http.MethodGet, "/orders", nil)
	assert.Panics(t, func() { h.ServeHTTP(httptest.NewRecorder(), r) })
	select {
	case <-ended:
	default:
		t.Error("the handler is still running")
	}
}

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
