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
	desk   *desk
	listen func(context.Context) error // serves the desk's clients
	server offline.Server              // where they find it
	root   string                      // of the workspaces
	out    io.Writer
	log    *slog.Logger
	agent  func(offline.Server) (incident.Agent, error)
}

// demo runs the demonstration over loopback, with the agent as a process of its own.
func (p *Program) demo(ctx context.Context, s *settings.Settings) error {
	root, err := os.MkdirTemp("", "triage-demo-")
	if err != nil {
		return fmt.Errorf("triage: %w", err)
	}
	defer os.RemoveAll(root)
	token := rand.Text()
	d, err := openDesk(token)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("triage: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	return (&stage{
		desk: d, listen: func(ctx context.Context) error { return d.server.Serve(ctx, l) },
		server: offline.Server{Endpoint: "http://" + l.Addr().String() + "/mcp", Token: token,
			Client: &http.Client{Transport: transport}},
		root: root, out: p.Stdout,
		log: slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: max(s.LogLevel, slog.LevelWarn)})),
		agent: func(server offline.Server) (incident.Agent, error) {
			settled := *s
			settled.Endpoint, settled.Token = server.Endpoint, settings.Secret(server.Token)
			return commandOf(&settled)
		},
	}).run(ctx)
}

// run has the desk work, breaks it, and waits for the incident.
func (g *stage) run(ctx context.Context) (err error) {
	ctx, stop := context.WithTimeoutCause(ctx, demoTime, errors.New("triage: the demonstration took too long"))
	served := make(chan error, 1)
	go func() { served <- g.desk.serve(ctx, g.listen) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	g.say("the order desk answers ten customers a second at %s", g.server.Endpoint)
	return g.follow(ctx)
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
func (g *stage) follow(ctx context.Context) (err error) {
	agent, err := g.agent(g.server)
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
			&incident.Subscriber{Endpoint: g.server.Endpoint, Token: g.server.Token, Client: g.server.Client, Sink: runner.Offer})
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-piped)
	}()
	began, healed, err := g.breakAndHeal(ctx)
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
