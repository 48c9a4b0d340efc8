package chaoshttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// order is a request without a body, or with one.
func order(t testing.TB, ctx context.Context, body string) *http.Request {
	req := request(t, ctx, http.MethodPost, "https://api.example.com/v1/orders", strings.NewReader(body))
	if body == "" {
		req.Method, req.Body, req.GetBody = http.MethodGet, nil, nil
	}
	return req
}

// idle is an injector with a rule for every target whose trigger matches no call.
func idle(t testing.TB, w chaos.When) context.Context {
	p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", When: w, Fault: chaoshttp.Status(503, nil)})
	require.NoError(t, err)
	return chaos.NewContext(context.Background(), p.Injector("cell", nil))
}

// noted is what a handler of one's own would write to break every n-th request.
type noted struct {
	next http.Handler
	mu   sync.Mutex
	n    uint64
}

func (h *noted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.n++
	inject := h.n == 1<<62
	h.mu.Unlock()
	if inject {
		w.WriteHeader(503)
		return
	}
	h.next.ServeHTTP(w, r)
}

// sink is a response writer of nothing.
type sink struct{ h http.Header }

func (s sink) Header() http.Header         { return s.h }
func (s sink) Write(p []byte) (int, error) { return len(p), nil }
func (s sink) WriteHeader(int)             {}

// Where a trigger looks at a call and does not match it, nothing is allocated.
func TestNothingIsAllocatedWhereNoTriggerMatches(t *testing.T) {
	const body = `{"order":1042,"reason":"damaged"}`
	for _, tt := range []struct {
		name string
		when chaos.When
		body string
		most float64
	}{
		{"counted, without a body", when.Nth(1 << 30), "", 0},
		{"drawn, without a body", when.Prob(1e-12), "", 0},
		{"counted, with a body that is not read", when.Nth(1 << 30), body, 0},
	} {
		ctx := idle(t, tt.when)
		transport := chaoshttp.NewTransport(instant{&http.Response{StatusCode: 200}}, nil)
		req := order(t, ctx, tt.body)
		assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { _, _ = transport.RoundTrip(req) }), tt.most, tt.name)
		handler := chaoshttp.Handler(nothing{}, nil)
		w := sink{http.Header{}}
		assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { handler.ServeHTTP(w, req) }), tt.most, "%s, a handler", tt.name)
	}
}

// A call that no rule matches is the server's own: its connection can be taken
// over, and it may have trailers, whatever was read of the body to decide.
func TestACalmCallIsTheServersOwn(t *testing.T) {
	for name, w := range map[string]chaos.When{"counted": when.Nth(99), "drawn": when.Prob(1e-12)} {
		in := chaos.NewInjector(1, nil)
		require.NoError(t, in.Register(chaos.Rule{Target: "*", When: w, Fault: chaoshttp.HangUp()}))
		s := httptest.NewServer(chaoshttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			doc, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.Equal(t, "sent", r.Trailer.Get("X-After"), "a trailer of the request")
			if r.URL.Path == "/hijack" {
				conn, _, err := http.NewResponseController(w).Hijack()
				if assert.NoError(t, err) {
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(doc), doc)
					conn.Close()
				}
				return
			}
			w.Header().Set("Trailer", "X-Sum")
			_, _ = w.Write(doc)
			w.Header().Set("X-Sum", "1")
		}), &chaoshttp.Options{Injector: in}))
		for _, path := range []string{"/hijack", "/trailer"} {
			req, err := http.NewRequest(http.MethodPost, s.URL+path, io.MultiReader(strings.NewReader(`{"a":1}`)))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Trailer = http.Header{"X-After": {"sent"}}
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
			require.NoError(t, err, name)
			doc, err := io.ReadAll(resp.Body)
			require.NoError(t, err, name)
			assert.Equal(t, `{"a":1}`, string(doc), name)
			if path == "/trailer" {
				assert.Equal(t, "1", resp.Trailer.Get("X-Sum"), name)
			}
			resp.Body.Close()
		}
		s.Close()
		assert.Empty(t, in.Events(), name)
	}
}

// Calls are counted in the same way whether they pass at once or not: the
// third is failed, and knows how often it was tried.
func TestCallsThatPassAreCounted(t *testing.T) {
	const body = `{"order":7}`
	for name, w := range map[string]chaos.When{"counted": when.Every(3), "counted otherwise": when.All(when.Every(3), when.Always())} {
		for _, sent := range []string{"", body} {
			p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", When: w, Fault: chaoshttp.Status(503, nil)})
			require.NoError(t, err)
			in := p.Injector("cell", nil)
			from := base(func(r *http.Request) (*http.Response, error) {
				if sent != "" {
					doc, err := io.ReadAll(r.Body)
					assert.NoError(t, err)
					assert.Equal(t, sent, string(doc))
				}
				return &http.Response{StatusCode: 500, Body: http.NoBody}, nil
			})
			point := chaoshttp.NewTransport(from, &chaoshttp.Options{Injector: in})
			for i := 1; i <= 7; i++ {
				resp, err := point.RoundTrip(order(t, t.Context(), sent))
				require.NoError(t, err)
				assert.Equal(t, i%3 == 0, resp.StatusCode == 503, "%s, call %d", name, i)
			}
			events := in.Events()
			require.Len(t, events, 2)
			for i, e := range events {
				assert.EqualValues(t, 3*i+2, e.Ordinal, name)
				assert.Equal(t, 3*i+3, e.Attempt, "%s: the real failures before it count", name)
				assert.Equal(t, sent != "", e.Key != 0, name)
			}
		}
	}
}

// BenchmarkCalm is what a call costs that a trigger looks at and does not match,
// beside a handler and a transport written by hand.
func BenchmarkCalm(b *testing.B) {
	doc := []byte(`{"text":"` + strings.Repeat("The customer asks for a refund of the second order. ", 200) + `"}`)
	w := sink{http.Header{}}
	serve := func(name string, h http.Handler, r *http.Request, body []byte) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			src := bytes.NewReader(body)
			for b.Loop() {
				if body != nil {
					src.Reset(body)
					r.Body = io.NopCloser(src)
				}
				h.ServeHTTP(w, r)
			}
		})
	}
	bare := order(b, context.Background(), "")
	serve("handler/by hand", &noted{next: nothing{}}, bare, nil)
	serve("handler/counted", chaoshttp.Handler(nothing{}, nil), bare.WithContext(idle(b, when.Nth(1<<30))), nil)
	serve("handler/drawn", chaoshttp.Handler(nothing{}, nil), bare.WithContext(idle(b, when.Prob(1e-12))), nil)
	full := func(w chaos.When) *http.Request {
		r := order(b, idle(b, w), string(doc))
		r.Header.Set("Content-Type", "application/json")
		r.GetBody, r.ContentLength = nil, int64(len(doc))
		return r
	}
	serve("handler/counted, 10 kB", chaoshttp.Handler(nothing{}, nil), full(when.Nth(1<<30)), doc)
	serve("handler/drawn, 10 kB", chaoshttp.Handler(nothing{}, nil), full(when.Prob(1e-12)), doc)
	b.Run("json.Valid, 10 kB", func(b *testing.B) {
		for b.Loop() {
			_ = json.Valid(doc)
		}
	})
	b.Run("a copy of 10 kB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = bytes.Clone(doc)
		}
	})
	send := func(name string, t http.RoundTripper, r *http.Request) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = t.RoundTrip(r)
			}
		})
	}
	from := instant{&http.Response{StatusCode: 200}}
	send("transport/by hand", &byHand{base: from}, bare)
	send("transport/counted", chaoshttp.NewTransport(from, nil), order(b, idle(b, when.Nth(1<<30)), ""))
	send("transport/drawn", chaoshttp.NewTransport(from, nil), order(b, idle(b, when.Prob(1e-12)), ""))
	send("transport/counted, a small body", chaoshttp.NewTransport(from, nil), order(b, idle(b, when.Nth(1<<30)), `{"order":1042}`))
	send("transport/a model, counted", chaoshttp.NewTransport(from, nil), chatRequest(b, idle(b, when.Nth(1<<30))))
	send("transport/status by hand", &byHand{base: from, always: true}, bare)
	always := func(f chaos.Fault) context.Context {
		p, err := chaos.NewPlan(1, chaos.Rule{Target: "*", Fault: f})
		require.NoError(b, err)
		return chaos.NewContext(context.Background(), p.Injector("cell", &chaos.InjectorOptions{MaxLog: 64}))
	}
	send("transport/status", chaoshttp.NewTransport(from, nil), order(b, always(chaoshttp.Status(503, nil)), ""))
	send("transport/reset", chaoshttp.NewTransport(from, nil), order(b, always(chaoshttp.Reset()), ""))
	send("transport/refused", chaoshttp.NewTransport(from, nil), order(b, always(chaoshttp.Refused()), ""))
	serve("handler/status", chaoshttp.Handler(nothing{}, nil), bare.WithContext(always(chaoshttp.Status(503, nil))), nil)
}

// byHand is what a transport of one's own would be.
type byHand struct {
	base   http.RoundTripper
	always bool
	mu     sync.Mutex
	n      uint64
}

func (t *byHand) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.n++
	inject := t.always || t.n == 1<<62
	t.mu.Unlock()
	if inject {
		return &http.Response{Status: "503 Service Unavailable", StatusCode: 503, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
			Body: io.NopCloser(strings.NewReader("Service Unavailable\n")), ContentLength: 20, Request: r}, nil
	}
	return t.base.RoundTrip(r)
}

// instant answers without doing anything: what is measured is the point.
type instant struct{ resp *http.Response }

func (i instant) RoundTrip(*http.Request) (*http.Response, error) { return i.resp, nil }

type nothing struct{}

func (nothing) ServeHTTP(http.ResponseWriter, *http.Request) {}

// calm are the contexts in which nothing can happen to a call.
func calm(t testing.TB) map[string]context.Context {
	var others []chaos.Rule
	for range 100 {
		others = append(others, chaos.Rule{Name: strings.Repeat("x", len(others)+1),
			Target: "GET other.example.com/*", Fault: chaoshttp.Refused()})
	}
	p, err := chaos.NewPlan(1, others...)
	require.NoError(t, err)
	return map[string]context.Context{
		"no injector":                context.Background(),
		"no rule":                    chaos.NewContext(context.Background(), chaos.NewInjector(1, nil)),
		"100 rules for other places": chaos.NewContext(context.Background(), p.Injector("cell", nil)),
	}
}

func chatRequest(t testing.TB, ctx context.Context) *http.Request {
	req := request(t, ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions", strings.NewReader(`{"model":"gpt-4o"}`))
	return req
}

func TestNothingIsAllocatedWhereNothingCanHappen(t *testing.T) {
	for name, ctx := range calm(t) {
		point := chaoshttp.NewTransport(instant{&http.Response{StatusCode: 200}}, nil)
		req := chatRequest(t, ctx)
		require.Zero(t, testing.AllocsPerRun(200, func() { _, _ = point.RoundTrip(req) }), name)

		folded := chaoshttp.NewTransport(instant{&http.Response{StatusCode: 200}}, &chaoshttp.Options{Target: func(*http.Request) string { return "orders" }})
		require.Zero(t, testing.AllocsPerRun(200, func() { _, _ = folded.RoundTrip(req) }), name)

		handler := chaoshttp.Handler(nothing{}, nil)
		received := httptest.NewRequest(http.MethodPost, "/v1/orders", nil).WithContext(ctx)
		w := httptest.NewRecorder()
		require.Zero(t, testing.AllocsPerRun(200, func() { handler.ServeHTTP(w, received) }), name)
	}
}

// An injected status is an error with its header, a response and an event; a lost
// connection an error of net and an event; a recorded call its exchange and an event.
func TestAnInjectedCallAllocatesLittle(t *testing.T) {
	answered := func() *http.Response {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}
	}
	for _, tc := range []struct {
		name    string
		fault   chaos.Fault
		record  bool
		most    float64
		handler float64
	}{
		{"a status", chaoshttp.Status(503, nil), false, 7, 7},
		{"a reset", chaoshttp.Reset(), false, 11, 0},
		{"a refused connection", chaoshttp.Refused(), false, 9, 0},
		{"an unknown host", chaoshttp.NoSuchHost(), false, 7, 0},
		{"recorded", nil, true, 12, 0},
	} {
		var rules []chaos.Rule
		if tc.fault != nil {
			rules = append(rules, chaos.Rule{Target: "*", Fault: tc.fault})
		}
		p, err := chaos.NewPlan(1, rules...)
		require.NoError(t, err)
		ctx := chaos.NewContext(context.Background(), p.Injector("cell", &chaos.InjectorOptions{MaxLog: 64, RecordAll: tc.record}))
		point := chaoshttp.NewTransport(instant{answered()}, nil)
		req := httptest.NewRequest(http.MethodGet, "https://example.com/", nil).WithContext(ctx)
		assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { _, _ = point.RoundTrip(req) }), tc.most, tc.name)
		if tc.handler > 0 {
			handler, w := chaoshttp.Handler(nothing{}, nil), sink{http.Header{}}
			assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { handler.ServeHTTP(w, req) }), tc.handler, tc.name)
		}
	}
}

// BenchmarkRoundTrip checks that a transport without a matching
// rule costs at most 100 ns and no allocation over its base.
func BenchmarkRoundTrip(b *testing.B) {
	base := instant{&http.Response{StatusCode: 200}}
	bench := func(name string, t http.RoundTripper, ctx context.Context) {
		req := chatRequest(b, ctx)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = t.RoundTrip(req)
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, _ = t.RoundTrip(req)
				}
			})
		})
	}
	bench("base", base, context.Background())
	for name, ctx := range calm(b) {
		bench(name, chaoshttp.NewTransport(base, nil), ctx)
	}
	bench("recorded", chaoshttp.NewTransport(base, nil), chaos.NewContext(context.Background(), injectorOf(b)))
	in := injectorOf(b, chaos.Rule{Fault: chaoshttp.Status(503, nil)})
	bench("injected, recorded", chaoshttp.NewTransport(base, nil), chaos.NewContext(context.Background(), in))
}
