package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/mcpadapter/internal/serve"
)

// ServeStdio serves over standard input and output until the client closes them
// or ctx ends. Standard output belongs to the protocol meanwhile: anything else
// written there breaks it. After ctx has ended, active calls have ten seconds;
// then the server shuts down, even if the client reads nothing. A line that is
// no message is answered with a JSON-RPC error, and the session goes on. A client
// that stops reading ends the session, not the process.
func (s *Server) ServeStdio(ctx context.Context) error {
	s.gate.ReserveStdout()
	return s.serveTransport(ctx, s.stdio(os.Stdin, serve.Standard(os.Stdout)))
}

func (s *Server) stdio(in io.ReadCloser, out io.Writer) mcp.Transport {
	return serve.Stdio(in, out, s.life.Done(), int(s.limits.BodyBytes))
}

func (s *Server) serveTransport(ctx context.Context, t mcp.Transport) error {
	done, err := s.active.begin()
	if err != nil {
		return err
	}
	done() // a session is no call: Shutdown closes it
	ended := make(chan struct{})
	var late sync.WaitGroup
	late.Go(func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
		defer cancel()
		_ = s.Shutdown(grace)
	})
	err = s.mcp.Run(ctx, t)
	close(ended)
	late.Wait()
	if errors.Is(err, io.EOF) || ctx.Err() != nil || s.life.Err() != nil { // it left, or was asked to
		return nil
	}
	return err
}

// Paths of [Server.Handler].
const (
	pathMCP    = "/mcp"
	pathSSE    = "/sse"
	pathHealth = "/healthz"
	pathLive   = "/livez"
)

// routes returns the paths of the protocol, behind the gate. Without a token
// the gate admits requests from this machine at most. One URL serves the
// revisions of the protocol with sessions and without: a handler with sessions
// refuses those without, and a handler without sessions cannot push.
func (s *Server) routes() http.Handler {
	server := func(*http.Request) *mcp.Server { return s.mcp }
	with := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		SessionTimeout: s.limits.SessionTime, MaxRequestBodyBytes: s.limits.BodyBytes, Logger: s.log})
	without := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: s.limits.BodyBytes, Logger: s.log})
	streams := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= sessionless {
			without.ServeHTTP(w, r)
			return
		}
		with.ServeHTTP(w, r)
	})
	events := mcp.NewSSEHandler(server, &mcp.SSEOptions{MaxRequestBodyBytes: s.limits.BodyBytes})
	mux := http.NewServeMux()
	for _, route := range []struct {
		path, transport string
		handler         http.Handler
	}{{pathMCP, "http", streams}, {pathSSE, "sse", events}} {
		admitted := serve.Keep(serve.Batches(route.handler, s.limits.BodyBytes))
		h, err := s.guarded(admitted, route.transport, anyLoopback)
		if err != nil {
			h = serve.Refusing(err)
		}
		mux.Handle(route.path, h)
	}
	return mux
}

// Handler serves MCP over HTTP. It has streamable HTTP on /mcp, server-sent events
// for old clients on /sse, and two health checks, which need no token. /healthz is
// 200 while the server works, and 503 while it shuts down or its audit log
// loses lines. /livez is 200 as long as the process answers: a restart would
// not repair the audit log. Only requests with a valid token keep their connection.
//
// If no token is configured, every other request is refused, unless
// Options.LoopbackWithoutToken is set and both ends are on this machine.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathHealth, s.health)
	mux.Handle("/", s.routes())
	all := http.NewServeMux()
	all.HandleFunc("GET "+pathLive, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	all.Handle("/", serve.Open(s.active.closing, mux))
	return serve.Timed(s.life, serve.Brief(all, pathLive, pathHealth), s.limits.Patience)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if _, err := s.gate.AuditHealth(); err != nil { // what exactly is wrong is for chaos_status and the host to know
		http.Error(w, "the audit log loses lines", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// auditProblem returns what is wrong with the audit log; empty: nothing.
func (s *Server) auditProblem() string {
	lost, err := s.gate.AuditHealth()
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%d lines were lost; the last error: %v", lost, err)
}

// headerTime is the most of Limits.Patience for a header and a TLS handshake.
const headerTime = 10 * time.Second

// graceTime is how long active calls have after the context of a transport ended.
const graceTime = 10 * time.Second

// Serve serves HTTP on a listener, which it closes, until ctx ends. Then it
// shuts down and gives active calls ten seconds. It refuses to start without a
// token, unless Options.LoopbackWithoutToken is set and the listener's address
// is a loopback address. Beyond loopback it refuses to start without TLS,
// unless Options.TokensInClearBeyondLoopback is set.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.mayListen(l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	site := &serve.Site{Handler: s.Handler(), HeaderTime: min(headerTime, s.limits.Patience), Certificate: s.cert,
		Log: s.log}
	return site.Serve(ctx, serve.Cap(l, s.limits.Connections, s.limits.AddressConnections), graceTime, s.Shutdown)
}

// TLS is the certificate with which [Server.Serve] speaks https, from version
// 1.2 on.
type TLS struct {
	_ struct{}
	// CertFile and KeyFile are files in PEM: the certificate with its
	// intermediates, and its private key. Both are required, and read once.
	CertFile, KeyFile string
}
