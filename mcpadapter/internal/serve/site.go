package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// A Site serves HTTP/1. There is no limit on the time of an answer: streams stay open.
type Site struct {
	Handler     http.Handler
	HeaderTime  time.Duration    // of a request's header, and of a TLS handshake
	Certificate *tls.Certificate // nil: no TLS
	Log         *slog.Logger
}

const (
	idleTime  = 2 * time.Minute
	maxHeader = 64 << 10 // bytes
)

// Serve serves on a listener, which it closes, until ctx ends. Then shutdown and the
// requests under way have the grace to end; connections whose client does not go are
// closed.
func (s *Site) Serve(ctx context.Context, l net.Listener, grace time.Duration,
	shutdown func(context.Context) error) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // of HTTP/2 one connection would be hundreds
	site := &http.Server{Handler: s.Handler, ReadHeaderTimeout: s.HeaderTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ConnContext: markSpare,
		Protocols: protocols, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn)}
	served := make(chan error, 1)
	go func() {
		if s.Certificate != nil {
			site.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*s.Certificate}}
			served <- site.ServeTLS(l, "", "")
			return
		}
		served <- site.Serve(l)
	}()
	select {
	case err := <-served:
		return fmt.Errorf("mcpadapter: serve: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := errors.Join(shutdown(ending), site.Shutdown(ending))
	if err != nil {
		_ = site.Close()
	}
	<-served
	return err
}
