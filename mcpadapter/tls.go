package mcpadapter

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// TLS is the certificate with which [Server.Serve] speaks https, from version
// 1.2 on.
type TLS struct {
	_ struct{}
	// CertFile and KeyFile are files in PEM: the certificate with its
	// intermediates, and its private key. Both are required; [Server.Reload] reads
	// them again.
	CertFile, KeyFile string
	// ClientCAFile has the roots of the certificates that clients have to show, in
	// PEM, besides their tokens; empty: clients need none.
	ClientCAFile string
}

// keys hold the certificate in use.
type keys struct {
	from    TLS
	clients *x509.CertPool // nil: clients need no certificate
	current atomic.Pointer[tls.Certificate]
}

func newKeys(o *TLS) (*keys, error) {
	if o == nil {
		return nil, nil
	}
	k := &keys{from: *o}
	err := k.load()
	if o.ClientCAFile != "" {
		text, wrong := os.ReadFile(o.ClientCAFile)
		k.clients = x509.NewCertPool()
		if wrong == nil && !k.clients.AppendCertsFromPEM(text) {
			wrong = errors.New("no certificate in it")
		}
		if wrong != nil {
			err = errors.Join(err, &FieldError{Field: "TLS.ClientCAFile", Value: o.ClientCAFile, Err: wrong, Allowed: "a file of certificates in PEM"})
		}
	}
	return k, err
}

// load reads the certificate; if it cannot be read, the one in use stays.
func (k *keys) load() error {
	cert, err := tls.LoadX509KeyPair(k.from.CertFile, k.from.KeyFile)
	if err != nil {
		return &FieldError{Field: "TLS.CertFile", Value: k.from.CertFile, Err: err,
			Allowed: fmt.Sprintf("a certificate in PEM that belongs to KeyFile %q", k.from.KeyFile)}
	}
	k.current.Store(&cert)
	return nil
}

func (k *keys) config() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.current.Load(), nil }}
	if k.clients != nil {
		c.ClientCAs, c.ClientAuth = k.clients, tls.RequireAndVerifyClientCert
	}
	return c
}

// Reload reads the file of tokens and the certificate again, as after SIGHUP.
// Streams and calls of callers whose token is gone end. A file that cannot be
// read changes nothing, and is in the error.
func (s *Server) Reload() error {
	err := s.gate.ReloadTokens()
	if s.keys != nil {
		err = errors.Join(err, s.keys.load())
	}
	return err
}
