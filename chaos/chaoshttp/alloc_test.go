package chaoshttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.openai.com/v1/chat/completions", strings.NewReader(`{"model":"gpt-4o"}`))
	require.NoError(t, err)
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
