package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoopback(t *testing.T) {
	for a, want := range map[net.Addr]bool{
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}: true, &net.TCPAddr{IP: net.IPv6loopback}: true, &net.UnixAddr{Name: "s"}: true,
		&net.TCPAddr{IP: net.IPv4zero}: false, &net.TCPAddr{}: false, &net.UDPAddr{IP: net.IPv6loopback}: false,
	} {
		assert.Equal(t, want, Loopback(a), "%v", a)
	}
}

// Connections above the limits are spare, a few of each address; the rest are closed
// at once. All make room when they end.
func TestConnectionsAreCapped(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := Cap(inner, 3, 2)
	defer func() { _ = l.Close() }()
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		require.NoError(t, err)
		return c
	}
	spare := func(c net.Conn) bool {
		is, _ := markSpare(t.Context(), c).Value(spareKey{}).(bool)
		return is
	}
	var open []net.Conn
	for _, want := range []bool{false, false, true, true} {
		_ = dial()
		open = append(open, <-accepted)
		assert.Equal(t, want, spare(open[len(open)-1]), len(open))
	}
	_, err = dial().Read(make([]byte, 1))
	assert.Error(t, err, "the fifth of one address is closed")
	require.NoError(t, open[0].Close())
	_ = open[0].Close() // closing twice makes room once
	_ = dial()
	open[0] = <-accepted
	assert.False(t, spare(open[0]))
	_, err = dial().Read(make([]byte, 1))
	assert.Error(t, err)
	for _, c := range open {
		require.NoError(t, c.Close())
	}
}

// Who was not admitted does not keep its connection.
func TestBriefConnections(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux := http.NewServeMux()
	mux.Handle("/kept", Keep(ok))
	mux.Handle("/live", ok)
	h := Brief(mux, "/live")
	for _, tc := range []struct {
		path   string
		spare  bool
		status int
		close  string
	}{
		{"/kept", false, 200, ""}, {"/live", false, 200, "close"}, {"/none", false, 404, "close"},
		{"/kept", true, 503, "close"}, {"/live", true, 200, "close"},
	} {
		w := httptest.NewRecorder()
		ctx := context.WithValue(t.Context(), spareKey{}, tc.spare)
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, tc.path, nil))
		assert.Equal(t, tc.status, w.Code, tc)
		assert.Equal(t, tc.close, w.Header().Get("Connection"), tc)
	}
}

func TestBatchesAreCapped(t *testing.T) {
	seen := ""
	h := Batches(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = string(body)
	}), 2000)
	for body, passes := range map[string]bool{
		"[" + strings.Repeat("1,", 99) + "1]": true, " [" + strings.Repeat("1,", 100) + "1]": false,
		strings.Repeat(" ", 20) + "[" + strings.Repeat("1,", 100) + "1]": false,
		`{"a":[` + strings.Repeat("1,", 200) + "1]}":                     true, "[" + strings.Repeat("1,", 200): true, "": true,
		"[" + strings.Repeat("1,", 2000) + "1]": true, // too large, which the next handler says
	} {
		seen = "nothing"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if passes {
			assert.Equal(t, body, seen)
			continue
		}
		assert.Equal(t, "nothing", seen)
		assert.Equal(t, http.StatusBadRequest, w.Code)
		assert.JSONEq(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch of 101 messages; allowed: at most 100"}}`, w.Body.String())
	}
	_, answers := screening(t, "["+strings.Repeat("1,", 100)+"1]\n", 1000)
	assert.Contains(t, answers[0], "a batch of 101 messages")
}
