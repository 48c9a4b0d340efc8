package mcpadapter

import (
	"log/slog"
	"net"
	"net/http"
	"slices"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// rule is the tool's row in the policy's table. Its scopes are that of its room:
// "chaos:read" to look, "chaos:write" to break; "admin", which the single token
// has, satisfies all.
func (t *tool) rule() policy.Tool {
	row := policy.Tool{Name: t.name, Scopes: []string{t.room + ":write"}, Target: t.target, Limit: t.limit}
	read := []string{t.room + ":read"}
	if !t.kind.write {
		row.Capability, row.Scopes = policy.Read, read
	}
	if t.unlimited {
		row.Limit, row.SessionLimit = noLimit(), noLimit()
	}
	if t.readsIf != "" {
		row.Actions = []policy.Action{{Field: t.readsIf, Values: []any{true}, Capability: policy.Read, Scopes: read}}
	}
	return row
}

// addGate puts the policy in front of all tools: the rows of the table are the
// host's tools, all else is what the options and the environment say.
func (s *Server) addGate() error {
	var own policy.Options
	if s.options.Policy != nil {
		own = *s.options.Policy
	}
	rows := slices.Clone(own.Tools) // the host's rows go before ours
	for _, t := range s.tools {
		if !slices.ContainsFunc(rows, func(row policy.Tool) bool { return row.Name == t.name }) {
			rows = append(rows, t.rule())
		}
	}
	own.Tools, own.Confirm = rows, s.spare(own.Confirm, rows)
	if s.options.Audit != nil {
		own.Audit = s.options.Audit
	}
	full, err := policy.Env(s.getenv, &own)
	if err != nil {
		return err
	}
	if s.gate, err = policy.New(full); err != nil {
		return err
	}
	s.mcp.AddReceivingMiddleware(s.refusals, s.gate.Middleware()) // the first is outermost
	s.onEvent(s.auditFault)
	return nil
}

// auditFault writes down a fault that struck the live program, whoever armed it.
func (s *Server) auditFault(e chaos.Event) {
	s.gate.Record(s.life, "chaos.fault.delivered", slog.String("target", e.Target), slog.String("fault", e.Fault),
		slog.String("rule", e.Rule), slog.String("lane", e.Lane), slog.Uint64("ordinal", e.Ordinal), slog.String("outcome", string(e.Outcome)))
}

// guarded is the policy in front of the HTTP handlers. Where it cannot be had,
// because there is no token, nothing gets through.
func (s *Server) guarded(next http.Handler, transport, listen string) (http.Handler, error) {
	return s.gate.HTTPHandler(next, &policy.HTTPOptions{Listen: listen, Transport: transport, LoopbackWithoutToken: s.options.LoopbackWithoutToken})
}

// mayListen says why HTTP may not be served on an address.
func (s *Server) mayListen(a net.Addr) error {
	listen := a.String()
	if loopback(a) {
		listen = anyLoopback
	}
	_, err := s.guarded(http.NotFoundHandler(), "http", listen)
	return err
}

// anyLoopback stands for an address on this machine.
const anyLoopback = "127.0.0.1:0"

// refusing answers every request with what is missing, and never with more.
func refusing(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "mcpadapter: no token is configured: "+err.Error(), http.StatusUnauthorized)
	})
}
