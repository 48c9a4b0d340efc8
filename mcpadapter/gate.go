package mcpadapter

import (
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/shakedown-go/shakedown/mcpadapter/internal/serve"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// requests returns the rules for requests other than tool calls: resources need the
// scope of the data that they show.
func requests() []policy.Request {
	rule := func(method, name string, scopes ...string) policy.Request {
		return policy.Request{Method: method, Name: name, Scopes: scopes}
	}
	return []policy.Request{
		rule("{resources,resources/templates,prompts}/list", ""),
		rule("resources/read", uriTools),
		rule("resources/read", uriLatest, "contract:read"),
		rule("resources/{read,subscribe,unsubscribe}", "{"+uriFaults+","+uriCatalogue+"}", "chaos:read"),
		rule("{logging/setLevel,subscriptions/listen}", "", "chaos:read"),
	}
}

// addGate puts the policy in front of all tools. The rows of the table are the
// host's tools; the rest comes from the options and the environment.
func (s *Server) addGate() error {
	var own policy.Options
	if s.options.Policy != nil {
		own = *s.options.Policy
	}
	rows := slices.Clone(own.Tools) // the host's rows take precedence over the server's
	for _, t := range s.tools {
		switch i := slices.IndexFunc(rows, func(row policy.Tool) bool { return row.Name == t.Name }); {
		case i < 0:
			rows = append(rows, t.rule())
		case rows[i].Failure == nil:
			rows[i].Failure = t.failed
		}
	}
	own.Tools = rows
	own.Requests = append(slices.Clone(own.Requests), requests()...)
	full, err := policy.Env(s.getenv, &own)
	if err != nil {
		return err
	}
	if s.gate, err = policy.New(full); err != nil {
		return err
	}
	s.mcp.AddReceivingMiddleware(s.gate.Middleware())
	return nil
}

// guarded puts the policy in front of the HTTP handlers. It fails if no token is
// configured, unless the options allow calls without one.
func (s *Server) guarded(next http.Handler, transport, listen string) (http.Handler, error) {
	return s.gate.HTTPHandler(next, &policy.HTTPOptions{Listen: listen, Transport: transport,
		LoopbackWithoutToken:        s.options.LoopbackWithoutToken,
		TokensInClearBeyondLoopback: s.options.TokensInClearBeyondLoopback,
		Patience:                    s.limits.Patience, FailedLogins: s.limits.FailedLogins})
}

// mayListen returns an error if HTTP must not be served on an address.
func (s *Server) mayListen(a net.Addr) error {
	listen := a.String()
	if serve.Loopback(a) {
		listen = anyLoopback
	} else if s.cert == nil && !s.options.TokensInClearBeyondLoopback {
		return fields.Because("TLS", nil, fmt.Errorf("%v is no loopback address", a),
			"TLS, or TokensInClearBeyondLoopback where a proxy ends TLS")
	}
	if _, err := s.guarded(http.NotFoundHandler(), "http", listen); err != nil {
		return fmt.Errorf("mcpadapter: %w", err)
	}
	return nil
}

// anyLoopback stands for any address on this machine.
const anyLoopback = "127.0.0.1:0"
