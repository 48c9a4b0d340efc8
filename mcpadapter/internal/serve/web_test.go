package serve

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLoopback(t *testing.T) {
	for a, want := range map[net.Addr]bool{
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}: true, &net.TCPAddr{IP: net.IPv6loopback}: true, &net.UnixAddr{Name: "s"}: true,
		&net.TCPAddr{IP: net.IPv4zero}: false, &net.TCPAddr{}: false, &net.UDPAddr{IP: net.IPv6loopback}: false,
	} {
		assert.Equal(t, want, Loopback(a), "%v", a)
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
