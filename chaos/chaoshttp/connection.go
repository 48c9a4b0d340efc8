package chaoshttp

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// Refused makes a call fail as if nothing listened at the server's port: the
// error matches [syscall.ECONNREFUSED] within a [*net.OpError].
func Refused() chaos.Fault { return refused.Of(catalog.None{}) }

var refused = lossRow(catalog.Row{
	Kind: "http_refused", Doc: "Nothing listens at the server's port.", Go: "chaoshttp.Refused()",
	Class: chaos.ClassCrash,
}, false, func(_ catalog.None, h host) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: h.addr(),
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
})

// Reset makes a call fail as if the server had reset the connection before it
// answered: the error matches [syscall.ECONNRESET] within a [*net.OpError].
// Behind a [Handler] the connection is really reset.
func Reset() chaos.Fault { return resetByServer.Of(catalog.None{}) }

var resetByServer = &catalog.Fail[catalog.None]{
	Row: catalog.Row{Kind: "http_reset", Doc: "The connection is reset before the answer.", Go: "chaoshttp.Reset()",
		Class: chaos.ClassCrash},
	Fail: func(c chaos.Call, _ catalog.None) error {
		return &net.OpError{Op: "read", Net: "tcp", Source: localAddr(), Addr: hostOf(Request{}, c.Target).addr(),
			Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	},
}

// HangUp makes a call fail as if the server had closed the connection in an
// orderly way instead of answering: the error is [io.EOF]. Behind a [Handler]
// the connection is really closed.
func HangUp() chaos.Fault { return closedByServer.Of(catalog.None{}) }

var closedByServer = &catalog.Fail[catalog.None]{
	Row: catalog.Row{Kind: "http_hang_up", Doc: "The connection is closed in good order before the answer.",
		Go: "chaoshttp.HangUp()", Class: chaos.ClassCrash},
	Fail: func(chaos.Call, catalog.None) error { return io.EOF },
}

// NoSuchHost makes a call fail as if the name of the host could not be
// resolved: the error is a [*net.DNSError] that is not found.
func NoSuchHost() chaos.Fault { return noSuchHost.Of(catalog.None{}) }

var noSuchHost = lossRow(catalog.Row{
	Kind: "dns_not_found", Doc: "The host's name cannot be resolved.", Go: "chaoshttp.NoSuchHost()",
	Class: chaos.ClassCrash,
}, false, func(_ catalog.None, h host) error {
	return &net.OpError{Op: "dial", Net: "tcp",
		Err: &net.DNSError{Err: "no such host", Name: h.name, IsNotFound: true}}
})

// A TLSFailure is a way in which a handshake fails.
type TLSFailure string

// The failures of a handshake, and what the error is.
const (
	TLSUnknownAuthority TLSFailure = "unknown_authority" // an x509.UnknownAuthorityError
	TLSExpired          TLSFailure = "expired"           // an x509.CertificateInvalidError: expired
	TLSWrongHost        TLSFailure = "wrong_host"        // an x509.HostnameError
	TLSHandshake        TLSFailure = "handshake_failure" // an alert that the server sent, in a net.OpError
	TLSNotSpoken        TLSFailure = "not_spoken"        // http.ErrSchemeMismatch: the server speaks plain HTTP
)

// TLS makes a call fail as if the handshake had failed in the given way.
// Failures of the certificate are wrapped in a
// [*tls.CertificateVerificationError]. A call that does not use TLS goes
// through.
func TLS(how TLSFailure) chaos.Fault { return handshake.Of(tlsFailure{how}) }

type tlsFailure struct {
	Failure TLSFailure `json:"failure" bounds:"enum=unknown_authority|expired|wrong_host|handshake_failure|not_spoken"`
}

var handshake = lossRow(catalog.Row{
	Kind: "tls_failure", Doc: "The handshake fails.", Go: "chaoshttp.TLS(how)", Example: `{"failure":"expired"}`,
	Class: chaos.ClassProtocol,
}, true, func(p tlsFailure, h host) error { return handshakeError(p.Failure, h) })

// alert has the text of crypto/tls's alert over TCP, whose type is not
// exported.
type alert string

func (a alert) Error() string { return "tls: " + string(a) }

func handshakeError(how TLSFailure, h host) error {
	cert := &x509.Certificate{
		Subject: pkix.Name{CommonName: h.name}, DNSNames: []string{h.name},
		NotBefore: time.Now().AddDate(0, -3, 0), NotAfter: time.Now().AddDate(0, 3, 0),
	}
	var cause error
	switch how {
	case TLSExpired:
		cert.NotAfter = time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
		cause = x509.CertificateInvalidError{Cert: cert, Reason: x509.Expired, Detail: "current time " +
			time.Now().UTC().Format(time.RFC3339) + " is after " + cert.NotAfter.Format(time.RFC3339)}
	case TLSWrongHost:
		cert.Subject.CommonName, cert.DNSNames = "localhost", []string{"localhost"}
		cause = x509.HostnameError{Certificate: cert, Host: h.name}
	case TLSHandshake:
		return &net.OpError{Op: "remote error", Err: alert("handshake failure")}
	case TLSNotSpoken:
		return http.ErrSchemeMismatch
	default:
		cause = x509.UnknownAuthorityError{Cert: cert}
	}
	return &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{cert}, Err: cause}
}

// lossRow completes the row of a fault by which a request is lost on the way to a server.
// secure: only calls that use TLS meet it.
func lossRow[P any](row catalog.Row, secure bool, fail func(P, host) error) *catalog.Fail[P] {
	return &catalog.Fail[P]{Row: row, FailArgs: func(c chaos.Call, p P, args any) (note string, err error) {
		r := requestIn(args)
		switch {
		case r.server:
			return hasArrived, nil
		case secure && r.Request != nil && r.URL.Scheme == "http":
			return "the call does not use TLS", nil
		}
		return "", fail(p, hostOf(r, c.Target))
	}}
}

const hasArrived = "the request has arrived: the way to the server cannot fail any more"

// arrivedRequest is a request at a handler. A pointer to it, or to the request of a client, is
// what an error alone gets of a call whose arguments nobody asked for: it costs nothing.
type arrivedRequest http.Request

// requestIn is the request among the arguments of a call, without one the zero Request.
func requestIn(args any) Request {
	switch r := args.(type) {
	case Request:
		return Request{Request: r.Request, server: r.server && r.Request != nil} // nil: another fault passed on none
	case *http.Request:
		return Request{Request: r}
	case *arrivedRequest:
		return Request{Request: (*http.Request)(r), server: true}
	}
	return Request{}
}

type host struct{ name, port string }

// hostOf is the host of the request or, at a point that is not HTTP, of a
// target of that form.
func hostOf(r Request, target string) host {
	authority, port := target, "443"
	switch {
	case r.Request != nil:
		authority = siteKeyOf(r.Request).host
		if r.URL != nil && r.URL.Scheme == "http" {
			port = "80"
		}
	default:
		if _, rest, ok := strings.Cut(target, " "); ok {
			authority, _, _ = strings.Cut(rest, "/")
		}
	}
	if name, p, err := net.SplitHostPort(authority); err == nil {
		return host{name, p}
	}
	return host{strings.Trim(authority, "[]"), port}
}

// addr is the address of the host. For a name it is the name, since it was not
// resolved.
func (h host) addr() net.Addr {
	if ip := net.ParseIP(h.name); ip != nil {
		if port, err := strconv.Atoi(h.port); err == nil {
			return &net.TCPAddr{IP: ip, Port: port}
		}
	}
	return namedAddr(net.JoinHostPort(h.name, h.port))
}

func localAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 51234} }

type namedAddr string

func (namedAddr) Network() string  { return "tcp" }
func (a namedAddr) String() string { return string(a) }
