package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

// Keys hold the certificate of a server, and what those of clients must be signed by.
type Keys struct {
	fields            fielderror.Package // makes the errors
	certFile, keyFile string
	clients           *x509.CertPool // nil: clients need no certificate
	current           atomic.Pointer[tls.Certificate]
}

// NewKeys reads a certificate and its key, and the roots of the certificates of
// clients; clientCAFile "": clients need none. All problems are joined.
func NewKeys(fields fielderror.Package, certFile, keyFile, clientCAFile string) (*Keys, error) {
	k := &Keys{fields: fields, certFile: certFile, keyFile: keyFile}
	err := k.Load()
	if clientCAFile != "" {
		text, wrong := os.ReadFile(clientCAFile)
		k.clients = x509.NewCertPool()
		if wrong == nil && !k.clients.AppendCertsFromPEM(text) {
			wrong = errors.New("no certificate in it")
		}
		if wrong != nil {
			err = errors.Join(err,
				fields.Because("TLS.ClientCAFile", clientCAFile, wrong, "a file of certificates in PEM"))
		}
	}
	return k, err
}

// Load reads the certificate again; if it cannot be read, the one in use stays.
func (k *Keys) Load() error {
	cert, err := tls.LoadX509KeyPair(k.certFile, k.keyFile)
	if err != nil {
		return k.fields.Because("TLS.CertFile", k.certFile, err,
			fmt.Sprintf("a certificate in PEM that belongs to KeyFile %q", k.keyFile))
	}
	k.current.Store(&cert)
	return nil
}

// Config is the configuration of a server, from TLS 1.2 on.
func (k *Keys) Config() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.current.Load(), nil }}
	if k.clients != nil {
		c.ClientCAs, c.ClientAuth = k.clients, tls.RequireAndVerifyClientCert
	}
	return c
}
