// Package embedded has a server for package contract/fleet, for those who run none: NATS with
// JetStream, in the process that calls it.
//
//	server, err := embedded.Start(&embedded.Options{Dir: "fleet"})
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	nc, err := nats.Connect(server.URL(), nats.MaxReconnects(-1))
//
// It is a module of its own, because the server brings some twenty others.
//
// Stability: may change.
package embedded

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shakedown-go/shakedown/internal/fielderror"
)

const fields = fielderror.Package("embedded")

// Options are the settings of [Start].
type Options struct {
	_ struct{}
	// Dir is the folder in which the server stores its streams. What is there is served again. Required.
	Dir string
	// Host is the address that the server listens on; empty: 127.0.0.1. Any but a loopback address
	// needs User, Password and TLS: results may hold what the agent's tools said.
	Host string
	// Port is the port; 0: a free one.
	Port int
	// User and Password are what clients must say; both empty: nothing.
	User, Password string
	// TLS has the server's certificate; nil: connections are not encrypted.
	TLS *tls.Config
}

// A Server is a server that listens.
type Server struct{ server *server.Server }

// Start starts a server and returns when clients can connect. Errors are a [*fielderror.Error], which
// package contract exports as FieldError, for each option, and those of the server.
func Start(o *Options) (*Server, error) {
	if o == nil {
		o = &Options{}
	}
	host := cmp.Or(o.Host, "127.0.0.1")
	at, err := netip.ParseAddr(host)
	p := fields.List()
	p.Demand(o.Dir != "", "Options.Dir", fielderror.Found("empty"), "a folder")
	p.Demand(err == nil, "Options.Host", host, "an address, such as 127.0.0.1, or empty for it")
	p.Demand(o.Port >= 0 && o.Port < 1<<16, "Options.Port", o.Port, "1 to 65535, or 0 for a free one")
	p.Demand((o.User == "") == (o.Password == ""), "Options.Password", fielderror.Found("one of User and Password"), "both or none")
	p.Demand(err != nil || at.IsLoopback() || o.User != "" && o.TLS != nil, "Options.Host", host,
		"a loopback address without User, Password and TLS")
	if err := p.Err(); err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{ServerName: "shakedown", Host: host, Port: cmp.Or(o.Port, server.RANDOM_PORT),
		JetStream: true, StoreDir: o.Dir, Username: o.User, Password: o.Password, TLS: o.TLS != nil, TLSConfig: o.TLS,
		NoLog: true, NoSigs: true}) // the signals are the program's
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(30*time.Second) || !s.JetStreamEnabled() {
		s.Shutdown()
		return nil, errors.New("embedded: the server does not start: its port is taken, or its folder cannot be written")
	}
	return &Server{s}, nil
}

// URL is the address for nats.Connect.
func (s *Server) URL() string { return s.server.ClientURL() }

// Close ends the server, and returns when it has ended. It may be called several times.
func (s *Server) Close() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}
