package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/shakedown-go/shakedown/examples/triage/internal/offline"
	"github.com/shakedown-go/shakedown/examples/triage/internal/settings"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// What the demonstration does.
const (
	injected   = "payments.refund"
	calm       = 8 * time.Second // before the outage: something to compare with
	outage     = 6 * time.Second
	agentTime  = 45 * time.Second
	demoTime   = 60 * time.Second // after which it has failed
	tolerance  = 3 * time.Second  // of the times in the report: bins are a second long
	demoFault  = "demo outage"
	quickPoll  = 100 * time.Millisecond
	demoConfig = "http://127.0.0.1/mcp" // stands in for a setting that the demonstration makes itself
)

// demoEnvironment keeps the demonstration from depending on what is set.
func demoEnvironment(name string) string {
	return map[string]string{envEndpoint: demoConfig, "AGENT_CLI": "offline"}[name]
}

// stage is where a demonstration takes place.
type stage struct {
	listener net.Listener
	url      string
	client   *http.Client
	root     string // of the workspaces
	out      io.Writer
	log      *slog.Logger
	agent    func(offline.Server) (incident.Agent, error)
}

// demo runs the demonstration over loopback, with the agent as a process of its own.
func (p *Program) demo(ctx context.Context, s *settings.Settings) error {
	root, err := os.MkdirTemp("", "triage-demo-")
	if err != nil {
		return fmt.Errorf("triage: %w", err)
	}
	defer os.RemoveAll(root)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("triage: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	return (&stage{
		listener: l, url: "http://" + l.Addr().String() + "/mcp", client: &http.Client{Transport: transport},
		root: root, out: p.Stdout,
		log: slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: max(s.LogLevel, slog.LevelWarn)})),
		agent: func(server offline.Server) (incident.Agent, error) {
			settled := *s
			settled.Endpoint, settled.Token = server.Endpoint, settings.Secret(server.Token)
			return commandOf(&settled)
		},
	}).run(ctx)
}

// run opens the desk, breaks it, and waits for the incident.
func (g *stage) run(ctx context.Context) (err error) {
	ctx, stop := context.WithTimeoutCause(ctx, demoTime, errors.New("triage: the demonstration took too long"))
	server := offline.Server{Endpoint: g.url, Token: rand.Text(), Client: g.client}
	d, err := openDesk(server.Token)
	if err != nil {
		stop()
		return errors.Join(err, g.listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- d.serve(ctx, g.listener) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	g.say("the order desk answers ten customers a second at %s", g.url)
	return g.follow(ctx, server)
}

func (g *stage) say(format string, args ...any) {
	fmt.Fprintf(g.out, time.Now().UTC().Format("15:04:05")+" "+format+"\n", args...)
}

// ended reports the incident that ended.
type ended chan incident.Incident

// Notify keeps the first.
func (e ended) Notify(_ context.Context, in incident.Incident, _ incident.Finding) error {
	select {
	case e <- in:
	default:
	}
	return nil
}

// follow runs the pipeline while the fault comes and goes, and judges the report.
func (g *stage) follow(ctx context.Context, server offline.Server) (err error) {
	agent, err := g.agent(server)
	if err != nil {
		return err
	}
	workspaces, err := incident.NewWorkspaces(g.root)
	if err != nil {
		return err
	}
	first := make(ended, 1)
	runner, err := incident.NewRunner(&incident.Options{Workspaces: workspaces, Agent: agent, Notifier: first,
		Timeout: agentTime, Grace: -1, Log: g.log})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	piped := make(chan error, 1)
	go func() {
		piped <- pipeline(running, runner,
			&incident.Subscriber{Endpoint: server.Endpoint, Token: server.Token, Client: g.client, Sink: runner.Offer})
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-piped)
	}()
	began, healed, err := g.breakAndHeal(ctx, server)
	if err != nil {
		return err
	}
	select {
	case in := <-first:
		g.say("incident %s ended: %s", in.IncidentID, in.Status)
		return g.judge(in, workspaces.Dir(in.IncidentID), began, healed)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
