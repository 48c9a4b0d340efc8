package chaoshttp

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
)

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
func TLS(how TLSFailure) chaos.Fault {
	return connection{
		kind: "tls_failure", class: chaos.ClassProtocol, way: true, secure: true,
		err: func(h host) error { return handshakeError(how, h) },
		more: struct {
			Failure TLSFailure `json:"failure"`
		}{how},
		check: func(c *param.Check) {
			all := []TLSFailure{TLSUnknownAuthority, TLSExpired, TLSWrongHost, TLSHandshake, TLSNotSpoken}
			c.That(slices.Contains(all, how), "failure", how,
				"unknown_authority, expired, wrong_host, handshake_failure or not_spoken")
		},
	}
}

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
