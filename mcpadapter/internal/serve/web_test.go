package serve

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

func status(h http.Handler, host string) int {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = host
	h.ServeHTTP(w, r)
	return w.Code
}

func TestOnlyTheNamesOfTheHost(t *testing.T) {
	named := Named([]string{"desk.example", "[::1]:80"}, ok)
	for host, want := range map[string]int{
		"desk.example": 200, "DESK.example:8080": 200, "[::1]:80": 200,
		"desk.example.evil": 403, "": 403, "[::1]:81": 403,
	} {
		assert.Equal(t, want, status(named, host), "%q", host)
	}
	assert.Equal(t, 200, status(Named(nil, ok), "anything"), "no names: the SDK's own check")
}

func TestClosedAndRefusing(t *testing.T) {
	closing := false
	open := Open(func() bool { return closing }, ok)
	assert.Equal(t, 200, status(open, "h"))
	closing = true
	assert.Equal(t, 503, status(open, "h"))
	assert.Equal(t, 401, status(Refusing(errors.New("none")), "h"))
}

func TestLoopback(t *testing.T) {
	for a, want := range map[net.Addr]bool{
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}: true, &net.TCPAddr{IP: net.IPv6loopback}: true, &net.UnixAddr{Name: "s"}: true,
		&net.TCPAddr{IP: net.IPv4zero}: false, &net.TCPAddr{}: false, &net.UDPAddr{IP: net.IPv6loopback}: false,
	} {
		assert.Equal(t, want, Loopback(a), "%v", a)
	}
}

// Connections above the limits are closed at once, and make room when they end.
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
	_, _ = dial(), dial()
	one, two := <-accepted, <-accepted
	third := dial()
	_, err = third.Read(make([]byte, 1))
	assert.Error(t, err, "the third of one address is closed")
	require.NoError(t, one.Close())
	_ = one.Close() // closing twice makes room once
	_ = dial()
	three := <-accepted
	fourth := dial()
	_, err = fourth.Read(make([]byte, 1))
	assert.Error(t, err)
	for _, c := range []net.Conn{two, three} {
		require.NoError(t, c.Close())
	}
}

func TestKeysThatCannotBeRead(t *testing.T) {
	_, err := NewKeys(fielderror.Package("mcpadapter"), "no.pem", "no.key", "no-ca.pem")
	assert.ErrorContains(t, err, `mcpadapter: TLS.CertFile is "no.pem": open no.pem`)
	assert.ErrorContains(t, err, `mcpadapter: TLS.ClientCAFile is "no-ca.pem": open no-ca.pem`)
}
