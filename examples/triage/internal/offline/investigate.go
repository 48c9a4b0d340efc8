package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

const (
	askEvery = time.Second      // how often it looks whether the culprit has recovered
	atLeast  = 10 * time.Second // how long it looks for a culprit where there is none yet
	settled  = 3 * time.Second  // a node that has been well for so long has recovered

	lookBack  = 2 * time.Minute // how far around the event it looks
	lookAhead = 5 * time.Minute
	nearEvent = 10 * time.Second // an outage begins or ends at most so far from the event
	longGap   = 4 * time.Second  // outages of a node that are closer together are one
)

// When a second of a node is bad.
const (
	servedAtMost   = 0.8 // of the calls that arrived
	failuresAtMost = 0.1 // of the attempts, where it has recovered
)

// rule is that of detect_outages and get_impact.
func rule() map[string]any {
	return map[string]any{"metric": timeline.Served, "threshold": servedAtMost}
}

// An Inquiry is all that was found out.
type Inquiry struct {
	Event    Event
	RunID    string
	Nodes    int               // that were asked about
	Culprit  timeline.Incident // Node is "" where nothing was found
	Others   int               // suspects besides the culprit
	Recovery timeline.Recovery
	Affected []timeline.Affected
	Asked    time.Time
	Notes    []string // what could not be asked, and why
}

// Settled reports whether the culprit has been well for some time.
func (q *Inquiry) Settled() bool {
	return q.Recovery.RecoveryTs != nil && q.Asked.Sub(*q.Recovery.RecoveryTs) >= settled
}

// Since is when the outage began: the time of the event where that is within its
// first second, else the beginning of that second.
func (q *Inquiry) Since() time.Time {
	if after := q.Event.At.Sub(q.Culprit.StartTs); after > 0 && after < time.Second {
		return q.Event.At
	}
	return q.Culprit.StartTs
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
			if q.Settled() {
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
		select {
		case <-time.After(askEvery):
		case <-ctx.Done():
			return last, errors.Join(ctx.Err(), err)
		}
	}
}

// look asks about every node once.
func look(ctx context.Context, server Server, e Event) (*Inquiry, error) {
	s, err := server.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	q := &Inquiry{Event: e, Asked: time.Now()}
	if q.RunID, err = runAt(ctx, s, e.At); err != nil {
		return nil, err
	}
	var graph timeline.Graph
	if err := s.Call(ctx, "get_graph", map[string]any{"runId": q.RunID, "limit": 1000}, &graph); err != nil {
		return nil, err
	}
	var found []timeline.Incident
	for _, node := range callees(graph) {
		q.Nodes++
		in, failed, err := q.outage(ctx, s, node)
		if err != nil {
			return nil, err
		}
		if failed {
			found = append(found, in)
		}
	}
	suspects := suspectsOf(graph, found)
	if len(suspects) > 0 {
		q.Culprit, q.Others = suspects[0], len(suspects)-1
		q.confirm(ctx, s)
	}
	return q, nil
}

// runAt chooses the run that the event happened in: the last that had begun, and no
// scenario, which replays other times.
func runAt(ctx context.Context, s *Session, at time.Time) (string, error) {
	type run struct {
		ID        string    `json:"id"`
		CreatedAt time.Time `json:"createdAt"`
		Kind      string    `json:"kind"`
		State     string    `json:"state"`
	}
	var list struct{ Runs []run }
	if err := s.Call(ctx, "get_runs", map[string]any{"limit": 200}, &list); err != nil {
		return "", err
	}
	begun := slices.DeleteFunc(list.Runs, func(r run) bool {
		return r.CreatedAt.After(at) || r.State == "failed" || r.Kind == "scenario"
	})
	if len(begun) == 0 {
		return "", errors.New("offline: the server has no run that was under way when the event happened")
	}
	return slices.MaxFunc(begun, func(a, b run) int { return a.CreatedAt.Compare(b.CreatedAt) }).ID, nil
}

// callees are the nodes that are called; agents only call.
func callees(g timeline.Graph) (nodes []string) {
	for _, e := range g.Edges {
		nodes = append(nodes, e.To)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// window is the time around the event, in which every question is asked.
func (q *Inquiry) window() (start, end string) {
	return stamp(q.Event.At.Add(-lookBack)), stamp(q.Event.At.Add(lookAhead))
}

// outage asks whether a node failed around the event.
func (q *Inquiry) outage(ctx context.Context, s *Session, node string) (in timeline.Incident, failed bool, err error) {
	args := rule()
	args["runId"], args["nodeId"] = q.RunID, node
	args["start"], args["end"] = q.window()
	var answer struct{ Incidents []timeline.Incident }
	if err := s.Call(ctx, "detect_outages", args, &answer); err != nil {
		return in, false, err
	}
	in, failed = nearest(answer.Incidents, q.Event.At)
	return in, failed, nil
}

// nearest joins the incidents around a time: a few good seconds do not end an outage.
func nearest(all []timeline.Incident, at time.Time) (joined timeline.Incident, ok bool) {
	for _, in := range all {
		switch {
		case ok && in.StartTs.Sub(joined.EndTs) <= longGap:
			joined.EndTs = in.EndTs
		case !ok && in.StartTs.Sub(at) <= nearEvent && at.Sub(in.EndTs) <= nearEvent:
			joined, ok = in, true
		}
	}
	return joined, ok
}

// suspectsOf leaves out the nodes that call another suspect, directly or through
// others, and puts the one that failed first before the rest.
func suspectsOf(g timeline.Graph, found []timeline.Incident) []timeline.Incident {
	left := slices.DeleteFunc(slices.Clone(found), func(x timeline.Incident) bool {
		return slices.ContainsFunc(found, func(y timeline.Incident) bool {
			return reaches(g, x.Node, y.Node) && !reaches(g, y.Node, x.Node)
		})
	})
	slices.SortFunc(left, func(a, b timeline.Incident) int {
		return cmp.Or(a.StartTs.Compare(b.StartTs), cmp.Compare(a.Node, b.Node))
	})
	return left
}

// reaches reports whether a node calls another, itself or through others.
func reaches(g timeline.Graph, from, to string) bool {
	seen := []string{from}
	for i := 0; i < len(seen); i++ {
		for _, e := range g.Edges {
			if e.From == seen[i] && !slices.Contains(seen, e.To) {
				seen = append(seen, e.To)
			}
		}
	}
	return from != to && slices.Contains(seen, to)
}

// confirm asks when the culprit recovered and who else was affected. If that is
// not answered, the report says so.
func (q *Inquiry) confirm(ctx context.Context, s *Session) {
	_, end := q.window()
	about := func() map[string]any {
		return map[string]any{"runId": q.RunID, "nodeId": q.Culprit.Node, "outageStartTs": stamp(q.Culprit.StartTs),
			"lookaheadEndTs": end}
	}
	args := about()
	args["basedOn"], args["recoveryDefinition"] = timeline.RetryTax, map[string]any{"type": "zero", "tolerance": failuresAtMost}
	if err := s.Call(ctx, "compute_recovery_time", args, &q.Recovery); err != nil {
		q.Notes = append(q.Notes, err.Error())
	}
	args = about()
	maps.Copy(args, rule())
	var impact timeline.Impact
	if err := s.Call(ctx, "get_impact", args, &impact); err != nil {
		q.Notes = append(q.Notes, err.Error())
	}
	q.Affected = impact.Affected
}

// Write puts the report into a workspace, in one step.
func (q *Inquiry) Write(workspace string) error {
	path := filepath.Join(workspace, incident.ReportFile)
	half := path + ".new"
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(half, q.Report(), 0o600)
	}
	if err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		return fmt.Errorf("offline: %w", err)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
