package mcpadapter

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/glob"
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
		row.Limit, row.SessionLimit = &policy.Limit{PerSecond: math.MaxInt32, Burst: math.MaxInt32}, &policy.Limit{PerSecond: math.MaxInt32, Burst: math.MaxInt32}
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

// spare takes the tools that need no confirmation out of the rules: a pattern
// that covers them, such as chaos_*, becomes a rule for each other tool that it
// covers. A rule that is for such a tool alone is the host's explicit wish.
func (s *Server) spare(rules []policy.Confirm, rows []policy.Tool) []policy.Confirm {
	var spared []policy.Confirm
	for _, rule := range rules {
		pattern, err := glob.Compile(rule.Tool)
		covers := func(t *tool) bool { return err == nil && t.unlimited && pattern.Match(t.name) }
		var others []policy.Confirm
		if slices.ContainsFunc(s.tools, covers) {
			for _, row := range rows {
				own := slices.ContainsFunc(s.tools, func(t *tool) bool { return t.unlimited && t.name == row.Name })
				if pattern.Match(row.Name) && !own {
					one := rule
					one.Tool = literal(row.Name)
					others = append(others, one)
				}
			}
		}
		if others == nil {
			others = []policy.Confirm{rule}
		}
		spared = append(spared, others...)
	}
	return spared
}

// literal is the pattern that matches a name alone.
func literal(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `\`, `\\`).Replace(name)
}

// refusals gives the failures of a tool whose own output has a status that
// output, and all others the problem as structured output: also those of the
// gate, which knows nothing of outputs.
func (s *Server) refusals(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		failed, ok := res.(*mcp.CallToolResult)
		asked, isCall := req.(*mcp.CallToolRequest)
		if err != nil || !ok || !isCall || failed == nil || !failed.IsError || len(failed.Content) == 0 {
			return res, err
		}
		at := slices.IndexFunc(s.tools, func(t *tool) bool { return t.name == asked.Params.Name })
		text, ok := failed.Content[0].(*mcp.TextContent)
		p := new(problem)
		if at < 0 || !ok || json.Unmarshal([]byte(text.Text), p) != nil || p.Status == 0 {
			return res, err
		}
		c := &call{server: s, tool: s.tools[at], req: asked}
		told := *failed // a copy keeps the type of the result
		told.StructuredContent = c.output(p)
		return &told, nil
	}
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
