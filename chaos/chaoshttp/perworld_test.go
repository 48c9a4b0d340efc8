package chaoshttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

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
		r, err := http.NewRequestWithContext(chaos.NewContext(t.Context(), in), http.MethodPost, server.URL, body)
		require.NoError(t, err)
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
	r, err := http.NewRequestWithContext(chaos.NewContext(t.Context(), in), http.MethodGet, "http://orders.internal/", nil)
	require.NoError(t, err)
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
