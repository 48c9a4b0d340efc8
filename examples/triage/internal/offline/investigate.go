package offline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// Times of an investigation.
const (
	askEvery = time.Second      // how often it looks whether the node has recovered
	atLeast  = 10 * time.Second // how long it looks for a culprit where there is none yet
)

// An Inquiry is all that was found out.
type Inquiry struct {
	Facts
	Verdict
	Outages  []timeline.Incident // of the culprit, as detect_outages sees it
	Recovery timeline.Recovery   // as compute_recovery_time sees it
	Notes    []string            // what could not be asked, and why
}

// Investigate asks the server until the culprit has recovered, or, where none
// is found or it does not recover, until wait is over. An error of the server
// is tried again as long; it is returned when there was no answer at all.
func Investigate(ctx context.Context, server Server, e Event, wait time.Duration) (*Inquiry, error) {
	began := time.Now()
	var last *Inquiry
	for {
		q, err := look(ctx, server, e)
		if err == nil {
			last = q
			if q.Settled {
				return q, nil
			}
		}
		passed := time.Since(began)
		if passed >= wait || err == nil && q.Culprit.Node == "" && passed >= atLeast {
			if last == nil {
				return nil, err
			}
			return last, nil
		}
		timer := time.NewTimer(askEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return last, errors.Join(ctx.Err(), err)
		}
	}
}

// look gathers the facts once and judges them.
func look(ctx context.Context, server Server, e Event) (*Inquiry, error) {
	session, err := server.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	f, err := Gather(ctx, session, e)
	if err != nil {
		return nil, err
	}
	q := &Inquiry{Facts: f, Verdict: Judge(f)}
	if q.Culprit.Node != "" {
		q.confirm(ctx, session)
	}
	return q, nil
}

// confirm asks the server's own tools about the culprit. If they do not answer,
// that is noted, and the report is still written.
func (q *Inquiry) confirm(ctx context.Context, tools Tools) {
	w, c := q.Window.Window, q.Culprit
	args := map[string]any{"runId": q.RunID, "nodeId": c.Node, "start": stamp(w.Start), "end": stamp(w.End)}
	if c.How == Slow {
		args["metric"], args["threshold"] = "latency", riseOfLatency*c.Before.Latency
	}
	var outages struct{ Incidents []timeline.Incident }
	if err := tools.Call(ctx, "detect_outages", args, &outages); err != nil {
		q.Notes = append(q.Notes, err.Error())
	}
	for _, o := range outages.Incidents {
		if o.StartTs.Before(q.Until) && o.EndTs.After(startOf(w, c.First)) {
			q.Outages = append(q.Outages, o)
		}
	}
	args = map[string]any{"runId": q.RunID, "nodeId": c.Node, "outageStartTs": stamp(startOf(w, c.First)),
		"lookaheadEndTs": stamp(w.End)}
	if c.How == Slow {
		args["basedOn"], args["recoveryDefinition"], args["tolerance"] = "latency", "baseline", riseOfLatency-1
		args["baselineWindow"] = map[string]any{"start": stamp(w.Start), "end": stamp(startOf(w, max(c.First-1, 0)))}
	} else {
		args["basedOn"], args["tolerance"] = "retryTax", c.Before.Share()+riseOfFailures
	}
	if err := tools.Call(ctx, "compute_recovery_time", args, &q.Recovery); err != nil {
		q.Notes = append(q.Notes, err.Error())
	}
}

// Write puts the report into a workspace, in one step.
func (q *Inquiry) Write(workspace string) error {
	path := filepath.Join(workspace, incident.ReportFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("offline: %w", err)
	}
	half := path + ".new"
	if err := os.WriteFile(half, q.Report(), 0o600); err != nil {
		return fmt.Errorf("offline: %w", err)
	}
	if err := os.Rename(half, path); err != nil {
		return fmt.Errorf("offline: %w", err)
	}
	return nil
}
