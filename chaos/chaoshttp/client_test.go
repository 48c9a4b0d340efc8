package chaoshttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// closes counts how often idle connections were closed.
type closes struct {
	http.RoundTripper
	n int
}

func (c *closes) CloseIdleConnections() { c.n++ }

func TestWrapClient(t *testing.T) {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	stop := errors.New("no redirects")
	base := &closes{RoundTripper: chaoshttp.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes"})
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))}
	c := &http.Client{Transport: base, Jar: jar, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return stop }}
	before := *c
	wrapped := chaoshttp.WrapClient(c)
	assert.NotSame(t, c, wrapped)
	assert.Same(t, base, c.Transport, "the argument does not change")
	assert.Equal(t, before.Timeout, c.Timeout)
	assert.Equal(t, time.Minute, wrapped.Timeout)
	assert.Same(t, jar, wrapped.Jar)

	_, err = wrapped.Get("http://example.com/") // the handler redirects
	assert.ErrorIs(t, err, stop)
	assert.Len(t, jar.Cookies(&url.URL{Scheme: "http", Host: "example.com"}), 1)
	wrapped.CloseIdleConnections()
	assert.Equal(t, 1, base.n, "that of the client reaches the base")

	for _, client := range []*http.Client{wrapped, chaoshttp.WrapClient(nil), chaoshttp.WrapClient(&http.Client{})} {
		ctx := injecting(t, chaos.Rule{Target: "GET example.com/", Fault: chaoshttp.Status(http.StatusTeapot, nil)})
		r := request(t, ctx, http.MethodGet, "http://example.com/", nil)
		resp, err := client.Do(r)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, http.StatusTeapot, resp.StatusCode)
	}
}

// TestWrapClientOfNil shares no transport with other clients: closing its idle
// connections leaves theirs open.
func TestWrapClientOfNil(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	get := func(c *http.Client) int64 {
		resp, err := c.Get(server.URL)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, errors.Join(err, resp.Body.Close()))
		return opened.Load()
	}
	own := chaoshttp.WrapClient(nil)
	assert.EqualValues(t, 1, get(http.DefaultClient))
	assert.EqualValues(t, 2, get(own))
	own.CloseIdleConnections()
	assert.EqualValues(t, 2, get(http.DefaultClient), "its connection is still there")
	assert.EqualValues(t, 3, get(own), "and the other's is gone")
	own.CloseIdleConnections()
}

func injecting(t *testing.T, rules ...chaos.Rule) context.Context {
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	return chaos.NewContext(t.Context(), plan.Injector("", nil))
}

// TestWithInjector: wrapped functions and clients of a handler find the injector in
// the contexts of its requests.
func TestWithInjector(t *testing.T) {
	lookup := chaos.Wrap("lookup", func(context.Context, string) (string, error) { return "found", nil })
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := lookup(r.Context(), "1042")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, answer)
	})
	in := chaos.FromContext(injecting(t, chaos.Rule{Target: "lookup", Fault: fault.Fail(errors.New("no lookup today"))}))
	for _, tc := range []struct {
		why    string
		in     *chaos.Injector
		status int
		body   string
	}{
		{"an injector", in, http.StatusBadGateway, "no lookup today\n"},
		{"none takes away that of the request", nil, http.StatusOK, "found"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(chaos.NewContext(t.Context(), in), http.MethodGet, "/", nil)
		chaoshttp.WithInjector(handler, tc.in).ServeHTTP(w, r)
		assert.Equal(t, tc.status, w.Code, tc.why)
		assert.Contains(t, w.Body.String(), tc.body, tc.why)
	}
}

// TestName stands for host and port in the name of an injection point.
func TestName(t *testing.T) {
	base := chaoshttp.InProcess(http.NotFoundHandler())
	for _, tc := range []struct {
		why, method, url, body string
		options                chaoshttp.Options
		want                   string
	}{
		{"a port of this machine", http.MethodGet, "http://127.0.0.1:40213/orders/7", "", chaoshttp.Options{Name: "orders"}, "GET orders/orders/7"},
		{"in lower case, as a host", http.MethodGet, "http://example.com/", "", chaoshttp.Options{Name: "Orders"}, "GET orders/"},
		{"a model", http.MethodPost, "http://localhost:40213/v1/messages", `{"model":"m"}`, chaoshttp.Options{Name: "claude"}, "POST claude/v1/messages#m"},
		{"a name of one's own wins", http.MethodGet, "http://localhost:1/a", "", chaoshttp.Options{Name: "orders",
			Target: func(*http.Request) string { return "mine" }}, "mine"},
		{"none", http.MethodGet, "http://localhost:1/a", "", chaoshttp.Options{}, "GET localhost:1/a"},
	} {
		in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true})
		r := request(t, chaos.NewContext(t.Context(), in), tc.method, tc.url, strings.NewReader(tc.body))
		resp, err := chaoshttp.NewTransport(base, &tc.options).RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, []string{tc.want}, in.Targets(), tc.why)
	}
}

// sent is the body of a request; it knows whether it was closed.
type sent struct {
	io.Reader
	closed atomic.Bool
}

func (c *sent) Close() error { c.closed.Store(true); return nil }

// inPlace is a transport that a program has put in the place of Go's default one.
type inPlace struct{}

func (inPlace) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
}

func TestSharedTransportIsRefusedInVirtualTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for _, tc := range []struct {
		reason  string
		base    http.RoundTripper
		virtual bool
		refused bool
	}{
		{"no base", nil, true, true},
		{"the default one as the base", http.DefaultTransport, true, true},
		{"in real time", nil, false, false},
		{"a base of its own", chaoshttp.PerWorld(), true, false},
		{"a base that is no http.Transport", inPlace{}, true, false},
	} {
		in := chaos.NewInjector(0, &chaos.InjectorOptions{Virtual: tc.virtual})
		assert.Equal(t, tc.virtual, in.Virtual())
		body := &sent{Reader: strings.NewReader("x")}
		r := request(t, chaos.NewContext(t.Context(), in), http.MethodPost, server.URL, body)
		resp, err := chaoshttp.NewTransport(tc.base, nil).RoundTrip(r)
		if !tc.refused {
			require.NoError(t, err, tc.reason)
			resp.Body.Close()
			assert.NoError(t, in.Refusal(), tc.reason)
			continue
		}
		assert.ErrorContains(t, err, "http.DefaultTransport cannot be used in virtual time", tc.reason)
		assert.ErrorContains(t, err, "chaoshttp.PerWorld()", tc.reason)
		assert.Equal(t, err, in.Refusal(), tc.reason)
		assert.True(t, body.closed.Load(), "a RoundTripper closes the body, also on errors: %s", tc.reason)
	}
}

func TestReplacedDefaultTransportIsNotRefused(t *testing.T) {
	real := http.DefaultTransport
	http.DefaultTransport = inPlace{}
	defer func() { http.DefaultTransport = real }()
	in := chaos.NewInjector(0, &chaos.InjectorOptions{Virtual: true})
	client := &http.Client{Transport: chaoshttp.NewTransport(nil, nil)}
	r := request(t, chaos.NewContext(t.Context(), in), http.MethodGet, "http://orders.internal/", nil)
	resp, err := client.Do(r)
	require.NoError(t, err)
	resp.Body.Close()
}

// TestPerWorldLeavesNothing: after each answer the clock of the bubble moves, over
// HTTP/1.1 and HTTP/2, and at its end nothing is left, or synctest would panic.
func TestPerWorldLeavesNothing(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		synctest.Test(t, func(t *testing.T) {
			transport := chaoshttp.PerWorld()
			transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			client := &http.Client{Transport: chaoshttp.NewTransport(transport, nil)}
			start := time.Now()
			for range 2 {
				resp, err := client.Get(server.URL)
				require.NoError(t, err)
				proto, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				resp.Body.Close()
				assert.Equal(t, http2, string(proto) == "HTTP/2.0")
				time.Sleep(time.Hour)
			}
			assert.Equal(t, 2*time.Hour, time.Since(start), "the answers took none of it")
		})
	}
}
