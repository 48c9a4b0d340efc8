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
	"strings"
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
	slower         = 3.0 // times the latency before the event,
	slowerBy       = 5.0 // and at least so many ms more
)

// An Outage is what was wrong with a node around the event.
type Outage struct {
	timeline.Incident
	// Usual is the mean latency before the event, in ms; undefined where there was no call.
	Usual timeline.Value
}

// Slow reports whether the node was slow. Otherwise its calls failed.
func (o Outage) Slow() bool { return o.Metric == timeline.Latency }

// rule is that of detect_outages and get_impact.
func (o Outage) rule() map[string]any {
	if o.Slow() {
		return map[string]any{"metric": timeline.Latency, "threshold": max(slower*float64(o.Usual), float64(o.Usual)+slowerBy)}
	}
	return map[string]any{"metric": timeline.Served, "threshold": servedAtMost}
}

// An Inquiry is all that was found out.
type Inquiry struct {
	Event    Event
	RunID    string
	Nodes    int    // that were asked about
	Culprit  Outage // Node is "" where nothing was found
	Others   int    // suspects besides the culprit
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
	var found []Outage
	for _, node := range callees(graph) {
		q.Nodes++
		o, err := q.outage(ctx, s, node)
		if err != nil {
			return nil, err
		}
		if o.Node != "" {
			found = append(found, o)
		}
	}
	suspects := suspectsOf(graph, found, e)
	if len(suspects) > 0 {
		q.Culprit, q.Others = suspects[0], len(suspects)-1
		q.confirm(ctx, s)
	}
	return q, nil
}

// runAt chooses the run that the event happened in: the last that had begun,
// live ones before scenarios, which replay other times.
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
	begun := slices.DeleteFunc(list.Runs, func(r run) bool { return r.CreatedAt.After(at) || r.State == "failed" })
	if len(begun) == 0 {
		return "", errors.New("offline: the server has no run that was under way when the event happened")
	}
	return slices.MaxFunc(begun, func(a, b run) int {
		return cmp.Or(first(a.Kind != "scenario", b.Kind != "scenario"), a.CreatedAt.Compare(b.CreatedAt))
	}).ID, nil
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

// outage asks whether a node failed around the event, and whether it was slow. A slow
// call may end a second after it arrived, and so seem not served: without errors, slow goes first.
func (q *Inquiry) outage(ctx context.Context, s *Session, node string) (found Outage, err error) {
	usual, err := q.usualLatency(ctx, s, node)
	if err != nil {
		return Outage{}, err
	}
	start, end := q.window()
	for _, metric := range []timeline.Metric{timeline.Served, timeline.Latency} {
		o := Outage{Incident: timeline.Incident{Metric: metric}, Usual: usual}
		if found.Details.Values.Errors > 0 || o.Slow() && !usual.Defined() {
			break
		}
		args := o.rule()
		args["runId"], args["nodeId"], args["start"], args["end"] = q.RunID, node, start, end
		var answer struct{ Incidents []timeline.Incident }
		if err := s.Call(ctx, "detect_outages", args, &answer); err != nil {
			return Outage{}, err
		}
		if in, ok := nearest(answer.Incidents, q.Event.At); ok {
			found = Outage{Incident: in, Usual: usual}
		}
	}
	return found, nil
}

// nearest joins the incidents around a time: a few good seconds do not end an outage.
func nearest(all []timeline.Incident, at time.Time) (joined timeline.Incident, ok bool) {
	for _, in := range all {
		switch {
		case ok && in.StartTs.Sub(joined.EndTs) <= longGap:
			joined.EndTs = in.EndTs
			joined.Details.Values.Errors += in.Details.Values.Errors
		case !ok && in.StartTs.Sub(at) <= nearEvent && at.Sub(in.EndTs) <= nearEvent:
			joined, ok = in, true
		}
	}
	return joined, ok
}

// usualLatency is the mean latency of a node before the event, in ms.
func (q *Inquiry) usualLatency(ctx context.Context, s *Session, node string) (timeline.Value, error) {
	start, _ := q.window()
	var answer timeline.Window
	err := s.Call(ctx, "get_state_window", map[string]any{"runId": q.RunID, "nodeIds": []string{node}, "start": start,
		"end": stamp(q.Event.At.Add(-time.Second)), "metrics": []timeline.Metric{timeline.Latency}}, &answer)
	var sum, n timeline.Value
	for _, series := range answer.Series {
		for _, v := range series.Metrics[timeline.Latency] {
			if v.Defined() {
				sum, n = sum+v, n+1
			}
		}
	}
	return sum / n, err // NaN, which is not defined, where there was none
}

// suspectsOf leaves out the nodes that call another suspect, directly or through
// others, and puts the most likely first.
func suspectsOf(g timeline.Graph, found []Outage, e Event) []Outage {
	left := slices.DeleteFunc(slices.Clone(found), func(x Outage) bool {
		return slices.ContainsFunc(found, func(y Outage) bool {
			return reaches(g, x.Node, y.Node) && !reaches(g, y.Node, x.Node)
		})
	})
	slices.SortFunc(left, func(a, b Outage) int {
		return cmp.Or(-first(inNamespace(a.Node, e), inNamespace(b.Node, e)), -first(fits(a, e), fits(b, e)),
			a.StartTs.Compare(b.StartTs), cmp.Compare(a.Node, b.Node))
	})
	return left
}

// first is 1 if only a holds, -1 if only b does, and 0 otherwise.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func inNamespace(node string, e Event) bool {
	space, _, _ := strings.Cut(node, ".")
	return e.Namespace != "" && space == e.Namespace
}

// fits reports whether the reason of the event fits what is wrong with a node.
func fits(o Outage, e Event) bool {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(e.Reason), w) })
	}
	if o.Slow() {
		return says("latency", "slow", "delay")
	}
	return says("error", "fail", "partition", "exhaust", "crash")
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
	start, end := q.window()
	about := func() map[string]any {
		return map[string]any{"runId": q.RunID, "nodeId": q.Culprit.Node, "outageStartTs": stamp(q.Culprit.StartTs),
			"lookaheadEndTs": end}
	}
	args := about()
	args["basedOn"], args["recoveryDefinition"] = timeline.RetryTax, map[string]any{"type": "zero", "tolerance": failuresAtMost}
	if q.Culprit.Slow() {
		args["basedOn"], args["recoveryDefinition"] = timeline.Latency, map[string]any{"type": "baseline", "tolerance": slower - 1,
			"baselineWindow": map[string]any{"start": start, "end": stamp(q.Culprit.StartTs.Add(-time.Second))}}
	}
	if err := s.Call(ctx, "compute_recovery_time", args, &q.Recovery); err != nil {
		q.Notes = append(q.Notes, err.Error())
	}
	args = about()
	maps.Copy(args, q.Culprit.rule())
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
