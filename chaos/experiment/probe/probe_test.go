package probe_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos/experiment/probe"
)

func TestHTTPStatus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	output, err := probe.HTTPStatus(server.URL, nil)(t.Context())
	require.NoError(t, err)
	assert.Equal(t, http.StatusTeapot, output, "an error status is an answer")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = probe.HTTPStatus(server.URL+"/hang", server.Client())(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	server.Close()
	_, err = probe.HTTPStatus(server.URL, nil)(t.Context())
	assert.ErrorContains(t, err, "probe: ")
	_, err = probe.HTTPStatus("http://[", nil)(t.Context())
	assert.ErrorContains(t, err, "probe: ")
}

func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	output, err := probe.TCP(listener.Addr().String())(t.Context())
	require.NoError(t, err)
	assert.Equal(t, true, output)

	require.NoError(t, listener.Close())
	output, err = probe.TCP(listener.Addr().String())(t.Context())
	require.NoError(t, err, "refused is an answer")
	assert.Equal(t, false, output)

	_, err = probe.TCP("no address")(t.Context())
	assert.ErrorContains(t, err, "probe: ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = probe.TCP(listener.Addr().String())(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestCall(t *testing.T) {
	n := 0
	count := probe.Call(func(context.Context) (int, error) {
		if n++; n > 3 {
			return 0, errors.New("no more")
		}
		return n, nil
	})
	output, err := count(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, output)
	n = 3
	_, err = count(t.Context())
	assert.EqualError(t, err, "no more")
}
