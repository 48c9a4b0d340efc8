package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/shakedown-go/shakedown/examples/triage/internal/settings"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// serve runs the pipeline until the context ends.
func (p *Program) serve(ctx context.Context, s *settings.Settings) (err error) {
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: s.LogLevel}))
	agent, wrong := commandOf(s)
	store, storeWrong := p.store(ctx, s)
	slack, slackWrong := incident.NewSlack(&incident.SlackOptions{Webhook: s.SlackWebhook})
	defer func() {
		if store != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	if err := errors.Join(wrong, storeWrong, slackWrong); err != nil {
		return &usageError{err}
	}
	if s.CLI != "offline" && p.Getenv(envImage) == "" {
		log.Warn("agents run without a container: what they run, they run as this user", "to change that", envImage)
	}
	workspaces, err := incident.NewWorkspaces(s.WorkspaceRoot)
	if err != nil {
		return err
	}
	o := incident.Options{
		Workspaces: workspaces, Agent: agent, MinSeverity: s.MinSeverity, Timeout: s.Timeout, Grace: s.Shutdown,
		Log: log,
	}
	if store != nil { // a nil Store in the interface would not be nil
		o.Store = store
	}
	if s.SlackWebhook != "" {
		o.Notifier = slack
	}
	runner, err := incident.NewRunner(&o)
	if err != nil {
		return err
	}
	log.Info("listening", "endpoint", settings.WithoutUser(s.Endpoint), "agent", s.CLI, "workspaces", s.WorkspaceRoot)
	err = pipeline(ctx, runner, &incident.Subscriber{
		Endpoint: s.Endpoint, Token: s.Token, Mode: s.Mode, Sink: runner.Offer, Log: log,
	})
	fmt.Fprintln(p.Stdout, counted(runner.Counts()))
	return err
}

// pipeline runs both ends until the context ends, which is no error.
func pipeline(ctx context.Context, r *incident.Runner, s *incident.Subscriber) error {
	var ended sync.WaitGroup
	var listening error
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended.Go(func() {
		defer stop()
		listening = s.Run(ctx)
	})
	err := r.Run(ctx)
	ended.Wait()
	if errors.Is(listening, context.Canceled) {
		listening = nil
	}
	return errors.Join(err, listening)
}

// store opens the object store, if one is wanted.
func (p *Program) store(ctx context.Context, s *settings.Settings) (Store, error) {
	if s.StorageURL == "" {
		return nil, nil
	}
	if p.OpenStore == nil {
		return nil,
			errors.New("triage: STORAGE_URL is set, and this program has no object stores; allowed: none, or the program in examples/triage/blobstore")
	}
	return p.OpenStore(ctx, s.StorageURL)
}

// counted describes what became of the events.
func counted(c incident.Counts) string {
	return fmt.Sprintf("%d events: %d malformed, %d filtered, %d duplicates, %d dropped, %d refused; "+
		"%d incidents: %d resolved, %d failed, %d without a report; left on disk: %d events, %d interrupted incidents, %d messages; "+
		"%d messages maybe sent, %d lost; %d failed writes",
		c.Received, c.Malformed, c.Filtered, c.Duplicate, c.Dropped, c.Refused,
		c.Resolved+c.Failed+c.AgentFailed, c.Resolved, c.Failed, c.AgentFailed, c.Queued, c.Interrupted, c.Unsent,
		c.MaybeSent, c.NotifyLost, c.StoreErrors+c.JournalErrors)
}
