//lint:file-ignore SA1019 log messages are deprecated, and what the runners that follow faults listen to

package mcpadapter

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/planjson"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
)

// Options are the settings of a [Server]. nil and the zero value work.
type Options struct {
	_ struct{}
	// Policy says who may do what. Its rows take precedence over the server's own,
	// and the environment over its mode. nil: the environment alone.
	Policy *policy.Options
	// LoopbackWithoutToken lets everyone on this machine call over HTTP if no token
	// is configured. Without it such a server does not listen.
	LoopbackWithoutToken bool
	// Getenv reads the environment; nil: os.Getenv.
	Getenv func(string) string
	// Environments are the environments in which clients may arm faults and run
	// experiments, as SHAKEDOWN_ENVIRONMENT names them. Empty: every one.
	Environments []string
	// Limits bound what a client can ask for and hold.
	Limits Limits
	// TLS makes Serve use https; nil: http. It has no effect behind another server
	// ([Server.Handler]).
	TLS *TLS
	// TokensInClearBeyondLoopback accepts tokens over http from other machines,
	// where the network between can read them. It is for a proxy that ends TLS and
	// reaches this server over a private network. Without it Serve refuses to
	// listen beyond loopback without TLS, and such requests are refused.
	TokensInClearBeyondLoopback bool
	// Log receives what the host should know, such as the stack of a tool that
	// panicked; nil: nothing is logged.
	Log *slog.Logger
}

// A Server serves a host to MCP clients over any number of transports. Its
// methods are safe for concurrent use. Make one with [NewServer], and end it
// with [Server.Shutdown].
type Server struct {
	host    Host
	options Options
	limits  Limits
	getenv  func(string) string
	log     *slog.Logger
	plans   *planjson.Options // to read plans with
	mcp     *mcp.Server
	gate    *policy.Gate
	tools   []*tool
	reports reportStore
	rules   *clientRules
	hub     *faulthub.Hub    // of the injector's faults, to subscribe to; nil: there is none
	cert    *tls.Certificate // nil: no TLS
	active  activeCalls
	alone   sync.Map // names of what runs once at a time

	life    context.Context // of everything that outlives its call; ends with the server
	stop    context.CancelFunc
	pumped  chan struct{} // closed when the pump has ended
	unwatch func()        // ends what the injector tells us
}

// NewServer returns a server of a host. The error joins all problems of the
// host, Limits and TLS, each a [*FieldError], or else those of the policy. o
// may be nil.
func NewServer(h Host, o *Options) (*Server, error) {
	s := &Server{host: h, pumped: make(chan struct{})}
	if o != nil {
		s.options = *o
	}
	var err error
	if o := s.options.TLS; o != nil {
		cert, wrong := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if s.cert = &cert; wrong != nil {
			err = fields.Because("TLS.CertFile", o.CertFile, wrong,
				fmt.Sprintf("a certificate in PEM that belongs to KeyFile %q", o.KeyFile))
		}
	}
	if err = errors.Join(h.check(), s.options.Limits.check(), err); err != nil {
		return nil, err
	}
	s.plans, s.reports.matrices = planOptions(h.Plans), h.matrices()
	s.limits = s.options.Limits.withDefaults()
	if s.getenv = s.options.Getenv; s.getenv == nil {
		s.getenv = os.Getenv
	}
	s.rules = &clientRules{injector: h.Injector, environments: s.options.Environments, getenv: s.getenv,
		limits: s.limits, held: make(map[*mcp.ServerSession]map[string]func() bool)}
	s.log = cmp.Or(s.options.Log, slog.New(slog.DiscardHandler))
	if s.tools, err = table(h); err != nil {
		return nil, err
	}
	s.life, s.stop = context.WithCancel(context.Background())
	protocol := &mcp.ServerOptions{Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}}
	s.unwatch = func() {}
	if h.Injector != nil {
		s.hub = faulthub.New(h.Name, h.Injector, s.limits.CallerSubscriptions)
		s.unwatch = h.Injector.Watch(s.hub.Record)
		protocol.SubscribeHandler, protocol.UnsubscribeHandler = s.subscribes, s.unsubscribes
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: h.Name, Title: h.Name, Version: version()}, protocol)
	for _, t := range s.tools {
		s.mcp.AddTool(t.listed(), t.serve(s))
	}
	s.addResources()
	s.addFaults()
	s.addManifest()
	if err := s.addGate(); err != nil {
		s.stop()
		s.unwatch()
		return nil, fmt.Errorf("mcpadapter: %w", err)
	}
	go s.pump()
	s.reportCutOff()
	return s, nil
}

// reportCutOff logs the experiments that an earlier process did not end.
func (s *Server) reportCutOff() {
	if s.host.Experiments == nil {
		return
	}
	for _, c := range s.host.Experiments.History().CutOff() {
		s.log.Warn("an experiment was cut off; it may not have been rolled back", "experiment", c.Name, "started_at",
			c.StartedAt)
	}
}

const instructions = `Tools to break a running program on purpose and to judge how it holds up.
Look before you break: chaos_status and get_graph say what there is. Register a fault with a low probability and a limit, aim it at
one injection point, and remove it when you are done; chaos_disarm stops everything at once. Answers begin with a summary and say what they left out: narrow a question by
node, subsystem and time instead of asking for everything. Seeds are decimal strings. Durations are in the unit that a member's name says.
A failed call has {status, code, detail, hint}; follow the hint.`

// Shutdown refuses new calls and waits for active calls until ctx ends. Then it
// cancels the remaining calls and closes all sessions. It returns ctx's error
// if calls had to be cancelled.
//
// Faults that clients registered with keep, or without a session, belong to the
// host and stay until they expire. A client that holds its connection open and
// reads nothing does not delay Shutdown: a second after the calls have ended,
// pending writes are given up.
//
// Shutdown may be called more than once.
func (s *Server) Shutdown(ctx context.Context) error {
	var err error
	select {
	case <-s.active.close():
	case <-ctx.Done():
		err = fmt.Errorf("mcpadapter: shutdown: calls were cancelled: %w", ctx.Err())
	}
	s.stop()
	s.unwatch()
	s.rules.close()
	if s.hub != nil {
		s.hub.Close()
	}
	var closed sync.WaitGroup
	for open := range s.mcp.Sessions() {
		closed.Go(func() { _ = open.Close() }) // it is gone either way
	}
	over := make(chan struct{})
	go func() {
		closed.Wait()
		<-s.pumped
		s.rules.ended.Wait()
		if s.hub != nil {
			s.hub.Wait()
		}
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done(): // a session whose reader is stuck
	}
	return err
}

// pump tells of each delivered fault, registered by a client or the host: the subscribers to events, then
// those to the resource, and the audit log. It ends after Shutdown.
func (s *Server) pump() {
	defer close(s.pumped)
	if s.hub == nil {
		return
	}
	s.hub.Run(s.life.Done(), func(e chaos.Event) {
		s.hub.Publish(e)
		// readers do the sending
		_ = s.mcp.ResourceUpdated(s.life, &mcp.ResourceUpdatedNotificationParams{URI: uriFaults})
		s.gate.Record(s.life, "chaos.fault.delivered", slog.String("target", e.Target), slog.String("fault", e.Fault),
			slog.String("rule", e.Rule), slog.String("lane", e.Lane), slog.Uint64("ordinal", e.Ordinal),
			slog.String("outcome", string(e.Outcome)))
	}, func(faults uint64) { // those that came too fast to be written one by one
		s.gate.Record(s.life, "chaos.fault.lost", slog.Uint64("faults", faults))
	})
}
