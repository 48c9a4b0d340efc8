package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/shakedown-go/shakedown/examples/internal/cli"
	"github.com/shakedown-go/shakedown/examples/triage/internal/offline"
	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// breakAndHeal arms the fault as any MCP client would, and takes it away.
func (g *stage) breakAndHeal(ctx context.Context) (began, healed time.Time, err error) {
	session, err := g.server.Dial(ctx)
	if err != nil {
		return began, healed, err
	}
	defer session.Close()
	if err := g.subscribed(ctx, session); err != nil {
		return began, healed, err
	}
	g.say("the runner listens; the desk works undisturbed for %v", calm)
	if err := cli.Sleep(ctx, calm); err != nil {
		return began, healed, err
	}
	inject := func(args map[string]any) error {
		args["fault_name"] = demoFault
		return session.Call(ctx, "chaos_inject_fault", args, new(struct{}))
	}
	began = time.Now()
	if err := inject(map[string]any{"action": "register", "fault_type": "error", "target": injected,
		"probability": 1}); err != nil {
		return began, healed, err
	}
	g.say("%s fails from now on", injected)
	waited := cli.Sleep(ctx, outage)
	err = errors.Join(waited, inject(map[string]any{"action": "remove"}))
	healed = time.Now()
	if err == nil {
		g.say("%s works again; the agent waits until it is sure of it", injected)
	}
	return began, healed, err
}

// subscribed waits until the server knows of a subscriber.
func (g *stage) subscribed(ctx context.Context, session *offline.Session) error {
	for {
		var list struct {
			ServerTotal int `json:"serverTotal"`
		}
		if err := session.Call(ctx, "events_list_subscriptions", map[string]any{}, &list); err != nil {
			return err
		}
		if list.ServerTotal > 0 {
			return nil
		}
		if err := cli.Sleep(ctx, quickPoll); err != nil {
			return err
		}
	}
}

// fact reads what a report says on a line of its own, such as "- Target: payments.refund".
func fact(report []byte, name string) string {
	if found := regexp.MustCompile(`(?m)^- ` + name + `: (\S+)$`).FindSubmatch(report); found != nil {
		return string(found[1])
	}
	return ""
}

// judge prints the report and compares it with what was injected.
func (g *stage) judge(in incident.Incident, dir string, began, healed time.Time) error {
	if in.Status != incident.StatusResolved {
		return fmt.Errorf("triage: the incident is %s: %s", in.Status, in.FailureReason)
	}
	report, err := os.ReadFile(filepath.Join(dir, incident.ReportFile))
	if err != nil {
		return fmt.Errorf("triage: %w", err)
	}
	fmt.Fprintf(g.out, "\n%s\n", report)
	var wrong []error
	if target := fact(report, "Target"); target != injected {
		wrong = append(wrong, fmt.Errorf("triage: the report says that %q failed; it was %q", target, injected))
	}
	for name, truth := range map[string]time.Time{"Since": began, "Until": healed} {
		told, err := time.Parse(time.RFC3339Nano, fact(report, name))
		if off := told.Sub(truth).Abs(); err != nil || off > tolerance {
			wrong = append(wrong, fmt.Errorf("triage: %s in the report is %v off", name, off))
		}
	}
	if bytes.Contains(report, []byte("not answered")) {
		wrong = append(wrong, errors.New("triage: the server did not answer a question of the agent"))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	g.say("the report names %s, which was injected; the fault was in force for %v", injected, healed.Sub(began).Round(time.Millisecond))
	return nil
}
