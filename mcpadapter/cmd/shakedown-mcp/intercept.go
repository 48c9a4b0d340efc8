package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"time"
)

// An interceptor is the HTTP proxy of a server whose API has a fixed address. It answers for the hosts that were
// named with a certificate of its own, and refuses all others.
type interceptor struct {
	hosts       map[string]http.Handler
	certificate tls.Certificate
	file        string // the certificate, for the server

	inner *http.Server // has the requests within TLS
	conns chan net.Conn
	ended chan struct{}
}

// newInterceptor makes a proxy for hosts. It has to be closed.
func newInterceptor(hosts map[string]http.Handler) (*interceptor, error) {
	i := &interceptor{hosts: hosts, conns: make(chan net.Conn), ended: make(chan struct{})}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	const hours = 24 // before and after now: clocks differ, and an audit may be long
	own := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "shakedown-mcp audit"},
		NotBefore: time.Now().Add(-hours * time.Hour), NotAfter: time.Now().Add(hours * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for host := range hosts {
		own.DNSNames = append(own.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	if err != nil {
		return nil, err
	}
	i.certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	f, err := os.CreateTemp("", "shakedown-*.pem")
	if err != nil {
		return nil, err
	}
	i.file = f.Name()
	err = errors.Join(pem.Encode(f, &pem.Block{Type: "CERTIFICATE", Bytes: der}), f.Close())
	within := func(w http.ResponseWriter, r *http.Request) { i.hosts[r.TLS.ServerName].ServeHTTP(w, r) }
	i.inner = &http.Server{ReadHeaderTimeout: beginning, Handler: http.HandlerFunc(within)}
	go func() { _ = i.inner.Serve(i) }() // ends with Close
	return i, err
}

// env are the variables by which the libraries of Go, Python, Node.js and OpenSSL find a proxy and trust it.
func (i *interceptor) env(at string) []string {
	return []string{"HTTPS_PROXY=" + at, "https_proxy=" + at, "NO_PROXY=", "no_proxy=",
		"NODE_USE_ENV_PROXY=1", "SSL_CERT_FILE=" + i.file, "REQUESTS_CA_BUNDLE=" + i.file, "NODE_EXTRA_CA_CERTS=" + i.file}
}

// ServeHTTP takes the connection of a CONNECT.
func (i *interceptor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil || i.hosts[host] == nil {
		http.Error(w, "no --proxy names this host", http.StatusForbidden)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	config := &tls.Config{Certificates: []tls.Certificate{i.certificate}, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		VerifyConnection: func(s tls.ConnectionState) error {
			if i.hosts[s.ServerName] == nil {
				return errors.New("no --proxy names this host")
			}
			return nil
		}}
	select {
	case i.conns <- tls.Server(conn, config):
	case <-i.ended:
		conn.Close()
	}
}

// Accept, Close and Addr make it the listener of the server within.
func (i *interceptor) Accept() (net.Conn, error) {
	select {
	case conn := <-i.conns:
		return conn, nil
	case <-i.ended:
		return nil, net.ErrClosed
	}
}

func (i *interceptor) Addr() net.Addr { return &net.TCPAddr{} }

func (i *interceptor) Close() error { return nil }

func (i *interceptor) end() error {
	close(i.ended)
	return errors.Join(i.inner.Close(), os.Remove(i.file))
}
