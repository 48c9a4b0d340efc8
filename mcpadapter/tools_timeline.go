package mcpadapter

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// run is the recorded run of an id; id empty: the newest.
func (s *Server) run(id string) (trace.Entry, error) {
	if id != "" {
		e, ok := s.host.Runs.Get(id)
		if !ok {
			return e, notFound(fmt.Sprintf("runId is %q; allowed: the id of a kept run", text.Clip(id, maxShown)),
				"get_runs lists the runs that are kept.")
		}
		return e, nil
	}
	list := s.host.Runs.List()
	if len(list) == 0 {
		return trace.Entry{}, problem(http.StatusNotFound, codeNothing, "no run is kept",
			"The host has recorded none yet; call again when it has.")
	}
	return list[len(list)-1], nil
}

// ofRun begins the arguments of a tool that looks at a run.
type ofRun struct {
	RunID string `json:"runId,omitempty" jsonschema:"id of a run; the newest if left out" len:"1,128"`
}

func (o ofRun) id() string { return o.RunID }

// aRun begins the answer of such a tool.
type aRun struct {
	Summary string `json:"summary"`
	RunID   string `json:"runId"`
}

func (a *aRun) begin(id string) { a.RunID = id }

// onRun makes a tool that looks at one recorded run.
func onRun[In interface{ id() string }, Out any, P interface {
	*Out
	begin(id string)
}](t tool, look func(r *timeline.Run, in In) (Out, error)) (*tool, error) {
	t.Area = "timeline"
	return define(t, func(_ context.Context, c *call, in In) (out Out, err error) {
		e, err := c.Server.run(in.id())
		if err == nil {
			out, err = look(e.Timeline, in)
		}
		P(&out).begin(e.ID)
		return out, err
	})
}

// rest ends the answer of a tool whose lists are bounded.
type rest struct {
	Omitted int      `json:"omitted,omitempty" jsonschema:"entries that this answer leaves out"`
	Notes   []string `json:"notes,omitempty" jsonschema:"what the run cannot show"`
}

// clip returns the first of a list, never nil, and how many it leaves out.
func clip[T any](list []T, most int) (first []T, omitted int) {
	first = append([]T{}, list[:min(len(list), most)]...)
	return first, len(list) - len(first)
}

// leftOut adds to a summary that n things are left out, and how to see them.
func leftOut(summary string, n int, format string) string {
	if n == 0 {
		return summary
	}
	return text.Sentences(summary, fmt.Sprintf(format, n))
}

// window are the bins that a tool looks at.
type window struct {
	Start timeline.Bound `json:"start" jsonschema:"first bin of the window: its index from 0, or a time in RFC 3339"`
	End   timeline.Bound `json:"end" jsonschema:"last bin of the window, inclusive: its index, or a time in RFC 3339"`
}

// How much a tool lists if the arguments do not say, and how many numbers all
// series of an answer may have.
const (
	defaultRuns   = 50
	defaultNodes  = 100 // and incidents
	defaultSeries = 20
	freeValues    = 1000 // need not be asked for
	maxValues     = 20000
)

type runsInput struct {
	Kind   string `json:"kind,omitempty" jsonschema:"only runs of this kind" enum:"baseline,scenario"`
	Offset int    `json:"offset,omitempty" jsonschema:"leave out so many of the newest runs first" range:"0,100000" default:"0"`
	Limit  int    `json:"limit,omitempty" jsonschema:"list at most so many runs" range:"1,200" default:"50"`
}

type runsOutput struct {
	Summary string        `json:"summary"`
	Runs    []trace.Entry `json:"runs" jsonschema:"newest first"`
	Omitted int           `json:"omitted,omitempty" jsonschema:"older runs that this answer leaves out"`
	Dropped int           `json:"dropped,omitempty" jsonschema:"runs that made room for newer ones and are gone"`
}

func getRuns() (*tool, error) {
	return define(tool{
		Name: "get_runs", Title: "List runs", Area: "timeline",
		Description: `Lists the recorded runs, newest first: baselines, and scenarios that varied them. A run is one recorded session of the program.
createdAt is UTC. state is running while a run goes on and failed if it did not work; a run that is done has none. Pass an id as runId to the other timeline tools.`,
	}, func(_ context.Context, c *call, in runsInput) (runsOutput, error) {
		page, all := c.Server.host.Runs.Page(trace.Kind(in.Kind), in.Offset, cmp.Or(in.Limit, defaultRuns))
		return runsOutput{Runs: page, Omitted: max(all-in.Offset-len(page), 0), Dropped: c.Server.host.Runs.Dropped(),
			Summary: fmt.Sprintf("%d of %d %s.", len(page), all, text.Noun(all, "run", "runs"))}, nil
	})
}

type graphInput struct {
	ofRun
	SubsystemID string `json:"subsystemId,omitempty" jsonschema:"only calls with an end in this subsystem: the part of a node's name before its first dot" len:"1,256"`
	ClassID     string `json:"classId,omitempty" jsonschema:"only calls of this class: a lane, or a label that the host gave" len:"1,256"`
	Limit       int    `json:"limit,omitempty" jsonschema:"at most so many nodes, and ten times as many edges" range:"1,1000" default:"100"`
}

type graphOutput struct {
	aRun
	Nodes      []timeline.Node  `json:"nodes"`
	Edges      []timeline.Edge  `json:"edges" jsonschema:"who called whom"`
	Subsystems []timeline.Named `json:"subsystems,omitempty"`
	Classes    []timeline.Named `json:"classes,omitempty"`
	rest
}

func getGraph() (*tool, error) {
	return onRun(tool{
		Name: "get_graph", Title: "Call graph", Target: "runId",
		Description: `Shows who called whom in a run. Nodes are the agent and the injection points, of type agent, tool, llm, http or point; edges are calls with the number of attempts (retries included) and failures over the whole run.
A node's subsystem is the part of its name before the first dot. Start here to learn the node ids that the other timeline tools want, and narrow large graphs by subsystemId or classId.`,
	}, func(r *timeline.Run, in graphInput) (graphOutput, error) {
		g := r.Graph(timeline.GraphQuery{Subsystem: in.SubsystemID, Class: in.ClassID})
		most := cmp.Or(in.Limit, defaultNodes)
		nodes, omitted := clip(g.Nodes, most)
		hidden := func(id string) bool {
			return !slices.ContainsFunc(nodes, func(n timeline.Node) bool { return n.ID == id })
		}
		between := slices.DeleteFunc(slices.Clone(g.Edges),
			func(e timeline.Edge) bool { return hidden(e.From) || hidden(e.To) })
		edges, _ := clip(between, 10*most)
		omitted += len(g.Edges) - len(edges)
		attempts, failures := g.Calls()
		out := graphOutput{Nodes: nodes, Edges: edges, Subsystems: g.Subsystems, Classes: g.Classes,
			rest: rest{omitted, r.Notes()}}
		out.Summary = leftOut(fmt.Sprintf("%d nodes, %d edges, %d calls, %d failed.", len(g.Nodes), len(g.Edges),
			attempts, failures), omitted, "%d nodes and edges are left out: narrow by subsystemId or classId.")
		return out, nil
	})
}

type outagesInput struct {
	ofRun
	NodeID string `json:"nodeId" jsonschema:"the node to judge; get_graph lists them" len:"1,512"`
	window
	timeline.OutageRule
	Limit int `json:"limit,omitempty" jsonschema:"at most so many incidents" range:"1,1000" default:"100"`
}

type outagesOutput struct {
	aRun
	Incidents []timeline.Incident `json:"incidents" jsonschema:"in the order of time; endTs is exclusive"`
	BinSize   string              `json:"binSize" jsonschema:"length of a bin, such as 1s: nothing shorter is seen"`
	rest
}

func detectOutages() (*tool, error) {
	return onRun(tool{
		Name: "detect_outages", Title: "Detect outages", Target: "nodeId",
		Description: `Finds outages and degradations of one node in a window of a run. A bin is bad where served/arrivals is at most 0.5 (metric served, the default), capacity at most a tenth of the window's largest, or backlog or latency above the threshold. A bin with calls in flight of which none ended is bad by every metric: a hang is an outage. A bin without arrivals and without calls in flight is skipped. Every longest streak of bad bins is an incident.
type is outage if nothing was served in any of its bins, else degradation; severity is high for an outage or half the window, medium from 3 bins, else low. Times are UTC; endTs is exclusive. An incident at the edge of the window may be longer than the window shows. Narrow by node and time.`,
	}, func(r *timeline.Run, in outagesInput) (outagesOutput, error) {
		q := timeline.Query{Start: in.Start, End: in.End, Nodes: []string{in.NodeID}}
		found, err := r.DetectOutages(q, in.OutageRule)
		if err != nil {
			return outagesOutput{}, err
		}
		first, omitted := clip(found, cmp.Or(in.Limit, defaultNodes))
		kinds := make(map[string]int)
		for _, i := range found {
			kinds[i.Type]++
		}
		out := outagesOutput{Incidents: first, BinSize: r.BinSize().String(), rest: rest{omitted, r.Notes()}}
		out.Summary = fmt.Sprintf("%s: %d %s, %d %s.", in.NodeID, kinds[timeline.Outage],
			text.Noun(kinds[timeline.Outage], "outage", "outages"),
			kinds[timeline.Degradation], text.Noun(kinds[timeline.Degradation], "degradation", "degradations"))
		return out, nil
	})
}

type recoveryInput struct {
	ofRun
	NodeID             string             `json:"nodeId" jsonschema:"the node that was unwell" len:"1,512"`
	OutageStartTs      timeline.Bound     `json:"outageStartTs" jsonschema:"when the outage began: startTs of an incident, or a bin index"`
	LookaheadEndTs     timeline.Bound     `json:"lookaheadEndTs" jsonschema:"last bin to look for the recovery in, inclusive: a time in RFC 3339, or a bin index"`
	BasedOn            timeline.Metric    `json:"basedOn,omitempty" jsonschema:"metric that has to recover" default:"\"backlog\""`
	RecoveryDefinition recoveryDefinition `json:"recoveryDefinition,omitzero" jsonschema:"zero: at most tolerance; baseline: as before the outage, within tolerance. An object with type, tolerance and baselineWindow, or the bare word" default:"\"zero\""`
}

// recoveryDefinition is a recoveryObject, or its type alone.
type recoveryDefinition recoveryObject

type recoveryObject struct {
	Type           string   `json:"type" jsonschema:"zero: at most tolerance; baseline: as before the outage, within tolerance" enum:"zero,baseline"`
	Tolerance      *float64 `json:"tolerance,omitempty" jsonschema:"for zero a value of the metric, 0 if left out; for baseline a share of the baseline, 0.1 if left out" range:"0"`
	BaselineWindow *window  `json:"baselineWindow,omitempty" jsonschema:"window whose mean is the baseline; from the first bin to the outage if left out"`
}

// UnmarshalJSON reads both forms.
func (d *recoveryDefinition) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &d.Type)
	}
	return json.Unmarshal(text, (*recoveryObject)(d))
}

type recoveryOutput struct {
	aRun
	timeline.Recovery
}

func computeRecoveryTime() (*tool, error) {
	return onRun(tool{
		Name: "compute_recovery_time", Title: "Recovery time", Target: "nodeId",
		Description: `Measures how long a node took to be well again after an outage began. By default: until its backlog (operations begun and not ended) is 0. With recoveryDefinition baseline: until the metric is within tolerance of its mean before the outage (for capacity at least, for latency at most).
The node must have been unwell before it can recover. recoveryTs is the beginning of the first recovered bin, UTC; durationMinutes is in minutes. They are null, with a note, when it never recovered in the window. Get outageStartTs from detect_outages.`,
	}, func(r *timeline.Run, in recoveryInput) (recoveryOutput, error) {
		d := in.RecoveryDefinition
		o := timeline.RecoveryOptions{OutageStart: in.OutageStartTs, LookaheadEnd: in.LookaheadEndTs,
			BasedOn: in.BasedOn, Definition: d.Type, Tolerance: d.Tolerance}
		if b := d.BaselineWindow; b != nil {
			o.BaselineStart, o.BaselineEnd = b.Start, b.End
		}
		found, err := r.RecoveryTime(in.NodeID, &o)
		if err != nil {
			return recoveryOutput{}, err
		}
		found.Notes = text.Sentences(append([]string{found.Notes}, r.Notes()...)...)
		out := recoveryOutput{Recovery: found}
		out.Summary = fmt.Sprintf("%s has not recovered. %s", in.NodeID, found.Notes)
		if found.RecoveryTs != nil {
			out.Summary = fmt.Sprintf("%s was well again after %v bins, %v minutes.", in.NodeID, found.DurationBins,
				found.DurationMinutes)
		}
		return out, nil
	})
}

type windowInput struct {
	ofRun
	window
	NodeIDs       []string          `json:"nodeIds,omitempty" jsonschema:"only these nodes; all that were called if left out" len:"1,200" each:"1,512"`
	ClassIDs      []string          `json:"classIds,omitempty" jsonschema:"these classes, each apart; all together if left out" len:"1,200" each:"1,256"`
	Metrics       []timeline.Metric `json:"metrics,omitempty" jsonschema:"the metrics wanted as series, bin by bin" len:"1,13"`
	IncludeSeries bool              `json:"includeSeries,omitempty" jsonschema:"give the series also where they are more than 1000 values; naming metrics does the same for those" default:"false"`
	Limit         int               `json:"limit,omitempty" jsonschema:"at most so many nodes (and classes of one)" range:"1,200" default:"20"`
}

type windowOutput struct {
	aRun
	Window        timeline.WindowBounds `json:"window" jsonschema:"start and end are the beginnings of the first and the last bin; binSize is the length of a bin, such as 1s"`
	Nodes         []timeline.Totals     `json:"nodes" jsonschema:"each node over the whole window"`
	Series        []timeline.Series     `json:"series" jsonschema:"values aligned with the bins, null where undefined; those of all metrics where they are at most 1000 values, else only what was asked for"`
	SeriesOmitted int                   `json:"seriesOmitted,omitempty" jsonschema:"nodes that are summed up but whose series would make the answer too long"`
	rest
}

func getStateWindow() (*tool, error) {
	return onRun(tool{
		Name: "get_state_window", Title: "State window", Target: "runId",
		Description: `Shows what each node did in a window of a run: totals first; series bin by bin where they are at most 1000 values, and above that for metrics that are named, or with includeSeries.
An operation is what a caller wanted done, attempts count its retries. arrivals, served and errors are operations, attempts and failures are calls. latency (mean) and latencyP95 are in ms, busy in seconds with at least one call in flight, backlog is operations in flight at the end of a bin, capacity is served per busy second, utilization is busy/bin length, throughputRatio is served/arrivals, retryTax is failures/attempts. What is undefined is null, never 0.
start and end are inclusive bin indices or times in RFC 3339; binSize is the length of a bin as a text, such as 1s; a window has at most 1000 bins. Narrow by nodeIds, classIds, metrics and time.`,
	}, func(r *timeline.Run, in windowInput) (windowOutput, error) {
		w, err := r.StateWindow(timeline.Query{Start: in.Start, End: in.End, Nodes: in.NodeIDs, Classes: in.ClassIDs})
		if err != nil {
			return windowOutput{}, err
		}
		first, omitted := clip(w.Series, cmp.Or(in.Limit, defaultSeries))
		metrics, values := in.Metrics, w.Window.Bins()*max(len(in.Metrics), 1) // of one series
		all := timeline.Metrics()
		if len(metrics) == 0 && (in.IncludeSeries || len(first)*values*len(all) <= freeValues) {
			metrics, values = all, values*len(all)
		}
		out := windowOutput{Window: w.Window, Nodes: []timeline.Totals{}, rest: rest{omitted, r.Notes()}}
		for _, s := range first {
			out.Nodes = append(out.Nodes, s.Totals())
		}
		out.Series = []timeline.Series{}
		if len(metrics) > 0 {
			out.Series, out.SeriesOmitted = clip(first, maxValues/values)
		}
		for _, s := range out.Series {
			maps.DeleteFunc(s.Metrics, func(m timeline.Metric, _ []timeline.Value) bool {
				return !slices.Contains(metrics, m)
			})
		}
		out.Summary = fmt.Sprintf("%d bins of %v, %d of %d nodes.", w.Window.Bins(), w.Window.BinSize, len(out.Nodes),
			len(w.Series))
		out.Summary = leftOut(out.Summary, omitted, "%d are left out: narrow by nodeIds or classIds.")
		out.Summary = leftOut(out.Summary, out.SeriesOmitted,
			"The series of %d are left out: narrow by time, nodeIds or metrics.")
		return out, nil
	})
}

type impactInput struct {
	ofRun
	NodeID         string         `json:"nodeId" jsonschema:"the node that was unwell; get_graph lists them" len:"1,512"`
	OutageStartTs  timeline.Bound `json:"outageStartTs" jsonschema:"when its outage began: startTs of an incident, or a bin index"`
	LookaheadEndTs timeline.Bound `json:"lookaheadEndTs" jsonschema:"last bin to look for effects in, inclusive: a time in RFC 3339, or a bin index"`
	NodeIDs        []string       `json:"nodeIds,omitempty" jsonschema:"only these nodes; all that calls connect with it if left out" len:"1,200" each:"1,512"`
	timeline.OutageRule
	Limit int `json:"limit,omitempty" jsonschema:"at most so many nodes in each list" range:"1,1000" default:"100"`
}

type impactOutput struct {
	aRun
	timeline.Impact
	rest
}

func getImpact() (*tool, error) {
	return onRun(tool{
		Name: "get_impact", Title: "Impact of an outage", Target: "nodeId",
		Description: `Shows which nodes connected to another by calls were affected after its outage began, upstream (they call it) and downstream (it calls them), nearest first, with the delay.
how is failing where the node was bad by the rule of detect_outages, waiting where its calls towards the node were in flight and none ended, and starved where it got less than half of its mean arrivals before the window. The answer rests on time and calls alone and proves no cause. notJudged were never called and did not wait: whether they were affected otherwise is unknown. Times are UTC; endTs is exclusive. Get outageStartTs from detect_outages.`,
	}, func(r *timeline.Run, in impactInput) (impactOutput, error) {
		q := timeline.Query{Start: in.OutageStartTs, End: in.LookaheadEndTs, Nodes: in.NodeIDs}
		all, err := r.Impact(in.NodeID, q, in.OutageRule)
		if err != nil {
			return impactOutput{}, err
		}
		out := impactOutput{rest: rest{Notes: r.Notes()}}
		out.Summary = fmt.Sprintf("%s: %d connected %s affected, %d not, %d not judged.", in.NodeID,
			len(all.Affected), text.Noun(len(all.Affected), "node was", "nodes were"), len(all.Unaffected),
			len(all.NotJudged))
		var omitted [3]int
		most := cmp.Or(in.Limit, defaultNodes)
		all.Affected, omitted[0] = clip(all.Affected, most)
		all.Unaffected, omitted[1] = clip(all.Unaffected, most)
		all.NotJudged, omitted[2] = clip(all.NotJudged, most)
		out.Impact, out.Omitted = all, omitted[0]+omitted[1]+omitted[2]
		return out, nil
	})
}

type compareInput struct {
	BaselineRunID string `json:"baselineRunId" jsonschema:"id of the run to compare with; get_runs lists them" len:"1,128"`
	ScenarioRunID string `json:"scenarioRunId" jsonschema:"id of the run that is compared" len:"1,128"`
	window
	NodeIDs  []string          `json:"nodeIds,omitempty" jsonschema:"only these nodes; all that either run called if left out" len:"1,200" each:"1,512"`
	ClassIDs []string          `json:"classIds,omitempty" jsonschema:"only calls of these classes; all if left out" len:"1,200" each:"1,256"`
	Metrics  []timeline.Metric `json:"metrics,omitempty" jsonschema:"only these metrics; all if left out" len:"1,13"`
	Limit    int               `json:"limit,omitempty" jsonschema:"at most so many nodes" range:"1,200" default:"20"`
}

type compareOutput struct {
	Summary       string `json:"summary"`
	BaselineRunID string `json:"baselineRunId"`
	ScenarioRunID string `json:"scenarioRunId"`
	timeline.Comparison
	rest
}

func compareRuns() (*tool, error) {
	return define(tool{
		Name: "compare_runs", Title: "Compare two runs", Area: "timeline", Target: "scenarioRunId",
		Description: `Compares a run with its baseline, node by node and metric by metric: both values, change (scenario - baseline), ratio (scenario/baseline), and whether the change, however small, is for the worse, which is no test of significance.
Metrics and units are those of get_state_window, over the whole window: counts and busy are sums, backlog is the largest, latencies are of all operations. degradation is, for each node, the share of the baseline's served/ended that was lost: 0 none, 1 all, below 0 better. What is undefined, or a node that one run does not have, is null. Counts compare only where both windows, baseline and scenario, have the same length. Bin indices suit runs that were recorded at different times.`,
	}, func(_ context.Context, c *call, in compareInput) (compareOutput, error) {
		before, err := c.Server.run(in.BaselineRunID)
		if err != nil {
			return compareOutput{}, err
		}
		after, err := c.Server.run(in.ScenarioRunID)
		if err != nil {
			return compareOutput{}, err
		}
		all, err := timeline.Compare(before.Timeline, after.Timeline,
			timeline.Query{Start: in.Start, End: in.End, Nodes: in.NodeIDs, Classes: in.ClassIDs})
		if err != nil {
			return compareOutput{}, err
		}
		var lost, nodes int
		for _, share := range all.Degradation {
			if nodes++; share > 0 {
				lost++
			}
		}
		shown, omitted := clip(slices.Sorted(maps.Keys(all.Degradation)), cmp.Or(in.Limit, defaultSeries))
		maps.DeleteFunc(all.Degradation, func(node string, _ timeline.Value) bool {
			return !slices.Contains(shown, node)
		})
		all.Changes = slices.DeleteFunc(all.Changes, func(c timeline.Change) bool {
			return !slices.Contains(shown, c.Node) || len(in.Metrics) > 0 && !slices.Contains(in.Metrics, c.Metric)
		})
		out := compareOutput{BaselineRunID: before.ID, ScenarioRunID: after.ID, Comparison: all,
			rest: rest{omitted, slices.Concat(before.Timeline.Notes(), after.Timeline.Notes())}}
		out.Summary = leftOut(fmt.Sprintf("%s beside %s: %d of %d nodes served a smaller share.", after.ID, before.ID,
			lost, nodes), omitted, "%d are left out: narrow by nodeIds.")
		return out, nil
	})
}
