package chaoshttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/chaoshttp"
)

// chain is the types of an error and of what it wraps, outermost first,
// without the one that says that a fault made it, and those that no program
// can name.
func chain(err error) (types []string) {
	for ; err != nil; err = errors.Unwrap(err) {
		name := reflect.TypeOf(err).String()
		_, made := err.(*chaos.InjectedError)
		if !made && unicode.IsUpper(rune(name[strings.LastIndexByte(name, '.')+1])) {
			types = append(types, name)
		}
	}
	return types
}

// traits are what programs ask errors for.
func traits(err error) map[string]any {
	found := map[string]any{"eof": errors.Is(err, io.EOF), "scheme": errors.Is(err, http.ErrSchemeMismatch)}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		found["errno"] = errno
	}
	var op *net.OpError
	if errors.As(err, &op) {
		found["op"] = op.Op
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		found["dns not found"], found["dns timeout"], found["dns name"] = dns.IsNotFound, dns.IsTimeout, dns.Name
	}
	var unknown x509.UnknownAuthorityError
	found["unknown authority"] = errors.As(err, &unknown)
	var wrong x509.HostnameError
	found["wrong host"] = errors.As(err, &wrong)
	var alert tls.AlertError
	if errors.As(err, &alert) {
		found["alert"] = alert
	}
	var network net.Error
	if errors.As(err, &network) {
		found["timeout"] = network.Timeout()
	}
	found["os timeout"] = os.IsTimeout(err)
	return found
}

// failing makes real failures, over real sockets.
func failing(t *testing.T) map[string]struct {
	fault chaos.Fault
	url   string
	base  *http.Transport
} {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(desk))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshakes that fail are the point
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.HandlerFunc(desk))
	t.Cleanup(plain.Close)
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	old := &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10, RootCAs: pool}
	unknown := &http.Transport{DialContext: (&net.Dialer{Resolver: ignorant(t)}).DialContext}
	type failure = struct {
		fault chaos.Fault
		url   string
		base  *http.Transport
	}
	return map[string]failure{
		"refused":           {chaoshttp.Refused(), "http://" + closed.Addr().String(), &http.Transport{}},
		"reset":             {chaoshttp.Reset(), hostile(t, true), &http.Transport{}},
		"hang up":           {chaoshttp.HangUp(), hostile(t, false), &http.Transport{}},
		"no such host":      {chaoshttp.NoSuchHost(), "http://no-such-host.invalid", unknown},
		"unknown authority": {chaoshttp.TLS(chaoshttp.TLSUnknownAuthority), secure.URL, &http.Transport{}},
		"wrong host":        {chaoshttp.TLS(chaoshttp.TLSWrongHost), strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}},
		"expired": {chaoshttp.TLS(chaoshttp.TLSExpired), secure.URL, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool,
			Time: func() time.Time { return time.Now().AddDate(200, 0, 0) }}}},
		"handshake":  {chaoshttp.TLS(chaoshttp.TLSHandshake), secure.URL, &http.Transport{TLSClientConfig: old}},
		"not spoken": {chaoshttp.TLS(chaoshttp.TLSNotSpoken), strings.Replace(plain.URL, "http:", "https:", 1), &http.Transport{}},
	}
}

// ignorant is a resolver that knows no host.
func ignorant(t *testing.T) *net.Resolver {
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		query := make([]byte, 1500)
		for {
			n, from, err := server.ReadFromUDP(query)
			if err != nil {
				return
			}
			query[2], query[3] = query[2]|0x80, 0x83 // an answer, recursion available: no such name (RFC 1035, section 4.1.1)
			_, _ = server.WriteToUDP(query[:n], from)
		}
	}()
	t.Cleanup(func() { server.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return net.DialUDP("udp", nil, server.LocalAddr().(*net.UDPAddr))
	}}
}

// hostile is a server that reads a request and closes the connection.
func hostile(t *testing.T, reset bool) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body) // what is unread would turn a close into a reset
			}
			if reset {
				_ = conn.(*net.TCPConn).SetLinger(0)
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// What a client gets of a fault is what it gets of the real failure: the same
// types in the same order, the same errno, the same answers to what programs ask.
func TestInjectedFailuresAreLikeRealOnes(t *testing.T) {
	for name, f := range failing(t) {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(f.base.CloseIdleConnections)
			real := get(t, context.Background(), &http.Client{Transport: f.base}, f.url)
			in := injectorOf(t, chaos.Rule{Fault: f.fault})
			injected := get(t, chaos.NewContext(context.Background(), in), &http.Client{Transport: chaoshttp.NewTransport(f.base, nil)}, f.url)
			assert.Equal(t, chain(real), chain(injected), "%v\n%v", real, injected)
			assert.Equal(t, traits(real), traits(injected), "%v\n%v", real, injected)
			assert.NotErrorIs(t, real, chaos.ErrInjected)
			assert.ErrorIs(t, injected, chaos.ErrInjected)
		})
	}
}

// get makes a call that fails.
func get(t *testing.T, ctx context.Context, c *http.Client, url string) error {
	t.Helper()
	req := request(t, ctx, http.MethodPost, url, strings.NewReader("{}"))
	resp, err := c.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	require.Error(t, err)
	return err
}

// The text of an injected failure reads as that of a real one, with the host
// that was called.
func TestTextsOfFailures(t *testing.T) {
	for _, tt := range []struct {
		fault chaos.Fault
		want  string
	}{
		{chaoshttp.Refused(), "dial tcp api.example.com:443: connect: connection refused"},
		{chaoshttp.Reset(), "read tcp 127.0.0.1:51234->api.example.com:443: read: connection reset by peer"},
		{chaoshttp.HangUp(), "EOF"},
		{chaoshttp.NoSuchHost(), "dial tcp: lookup api.example.com: no such host"},
		{chaoshttp.TLS(chaoshttp.TLSUnknownAuthority), "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{chaoshttp.TLS(chaoshttp.TLSHandshake), "remote error: tls: handshake failure"},
		{chaoshttp.TLS(chaoshttp.TLSNotSpoken), "http: server gave HTTP response to HTTPS client"},
	} {
		in := injectorOf(t, chaos.Rule{Fault: tt.fault})
		err := get(t, chaos.NewContext(t.Context(), in), inProcess(t, desk), "https://api.example.com/orders")
		var outer *url.Error
		require.ErrorAs(t, err, &outer)
		assert.Equal(t, fmt.Sprintf("Post %q: %s", "https://api.example.com/orders", tt.want), err.Error())
		assert.Equal(t, tt.want, onlyEvent(t, in).Err)
	}
}
