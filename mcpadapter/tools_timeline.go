package mcpadapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shakedown-go/shakedown/contract/trace"
	"github.com/shakedown-go/shakedown/internal/text"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/failure"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/toolrow"
	"github.com/shakedown-go/shakedown/mcpadapter/policy"
	"github.com/shakedown-go/shakedown/scoring/timeline"
)

// run is the recorded run of an id; id empty: the newest.
func (s *Server) run(id string) (trace.Entry, error) {
	if id != "" {
		e, ok := s.host.Runs.Get(id)
		if !ok {
			return e,
				failure.NotFound(fmt.Sprintf("runId is %q; allowed: the id of a kept run",
					text.Clip(id, failure.MaxShown)), "get_runs lists the runs that are kept.")
		}
		return e, nil
	}
	list := s.host.Runs.List()
	if len(list) == 0 {
		return trace.Entry{}, failure.New(404, failure.CodeNothing, "no run is kept",
			"The host has recorded none yet; call again when it has.")
	}
	return list[len(list)-1], nil
}

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

const defaultRuns = 50

func getRuns() (*tool, error) {
	return define(tool{
		Name: "get_runs", Title: "List runs", Area: "timeline",
		Description: `Lists the recorded runs, newest first: baselines, and scenarios that varied them. A run is one recorded session of the program.
createdAt is UTC. state is running while a run goes on and failed if it did not work; a run that is done has none. Pass an id as runId to the other timeline tools.`,
	}, func(_ context.Context, c *call, in runsInput) (runsOutput, error) {
		page, all := c.Server.host.Runs.Page(trace.Kind(in.Kind), in.Offset, cmp.Or(in.Limit, defaultRuns))
		out := runsOutput{Runs: page, Omitted: max(all-in.Offset-len(page), 0), Dropped: c.Server.host.Runs.Dropped()}
		out.Summary = fmt.Sprintf("%d of %d %s.", len(out.Runs), all, text.Noun(all, "run", "runs"))
		return out, nil
	})
}

type graphInput struct {
	RunID       string `json:"runId,omitempty" jsonschema:"id of a run; the newest if left out" len:"1,128"`
	SubsystemID string `json:"subsystemId,omitempty" jsonschema:"only calls with an end in this subsystem: the part of a node's name before its first dot" len:"1,256"`
	ClassID     string `json:"classId,omitempty" jsonschema:"only calls of this class: a lane, or a label that the host gave" len:"1,256"`
	Limit       int    `json:"limit,omitempty" jsonschema:"at most so many nodes, and ten times as many edges" range:"1,1000" default:"100"`
}

type graphOutput struct {
	Summary    string           `json:"summary"`
	RunID      string           `json:"runId"`
	Nodes      []timeline.Node  `json:"nodes"`
	Edges      []timeline.Edge  `json:"edges" jsonschema:"who called whom"`
	Subsystems []timeline.Named `json:"subsystems,omitempty"`
	Classes    []timeline.Named `json:"classes,omitempty"`
	Omitted    int              `json:"omitted,omitempty" jsonschema:"nodes and edges that this answer leaves out"`
	Notes      []string         `json:"notes,omitempty" jsonschema:"what the run cannot show"`
}

const defaultNodes = 100

func getGraph() (*tool, error) {
	return define(tool{
		Name: "get_graph", Title: "Call graph", Area: "timeline", Target: "runId",
		Description: `Shows who called whom in a run. Nodes are the agent and the injection points, of type agent, tool, llm, http or point; edges are calls with the number of attempts (retries included) and failures over the whole run.
A node's subsystem is the part of its name before the first dot. Start here to learn the node ids that the other timeline tools want, and narrow large graphs by subsystemId or classId.`,
	}, func(_ context.Context, c *call, in graphInput) (graphOutput, error) {
		e, err := c.Server.run(in.RunID)
		if err != nil {
			return graphOutput{}, err
		}
		g := e.Timeline.Graph(timeline.GraphQuery{Subsystem: in.SubsystemID, Class: in.ClassID})
		first, omitted := g.First(cmp.Or(in.Limit, defaultNodes))
		attempts, failures := g.Calls()
		out := graphOutput{RunID: e.ID, Nodes: first.Nodes, Edges: first.Edges, Subsystems: g.Subsystems,
			Classes: g.Classes,
			Omitted: omitted, Notes: e.Timeline.Notes()}
		out.Summary = fmt.Sprintf("%d nodes, %d edges, %d calls, %d failed.", len(g.Nodes), len(g.Edges), attempts,
			failures)
		if omitted > 0 {
			out.Summary = text.Sentences(out.Summary,
				fmt.Sprintf("%d nodes and edges are left out: narrow by subsystemId or classId.", omitted))
		}
		return out, nil
	})
}

type outagesInput struct {
	RunID           string         `json:"runId,omitempty" jsonschema:"id of a run; the newest if left out" len:"1,128"`
	NodeID          string         `json:"nodeId" jsonschema:"the node to judge; get_graph lists them" len:"1,512"`
	Start           timeline.Bound `json:"start" jsonschema:"first bin of the window: its index from 0, or a time in RFC 3339"`
	End             timeline.Bound `json:"end" jsonschema:"last bin of the window, inclusive: its index, or a time in RFC 3339"`
	Metric          string         `json:"metric,omitempty" jsonschema:"what is judged in each bin" enum:"served,throughputRatio,capacity,backlog,latency,latencyP95" default:"\"served\""`
	Threshold       *float64       `json:"threshold,omitempty" jsonschema:"in the unit of the metric; required for backlog and latency (ms)" range:"0"`
	MinDurationBins int            `json:"minDurationBins,omitempty" jsonschema:"shortest streak of bad bins that is reported" range:"1,1000" default:"1"`
	Limit           int            `json:"limit,omitempty" jsonschema:"at most so many incidents" range:"1,1000" default:"100"`
}

type outagesOutput struct {
	Summary   string              `json:"summary"`
	RunID     string              `json:"runId"`
	Incidents []timeline.Incident `json:"incidents" jsonschema:"in the order of time; endTs is exclusive"`
	Omitted   int                 `json:"omitted,omitempty" jsonschema:"incidents that this answer leaves out"`
	BinSize   string              `json:"binSize" jsonschema:"length of a bin, such as 1s: nothing shorter is seen"`
	Notes     []string            `json:"notes,omitempty" jsonschema:"what the run cannot show"`
}

const defaultIncidents = 100

func detectOutages() (*tool, error) {
	return define(tool{
		Name: "detect_outages", Title: "Detect outages", Area: "timeline", Target: "nodeId",
		Description: `Finds outages and degradations of one node in a window of a run. A bin is bad where served/arrivals is at most 0.5 (metric served, the default; bins without arrivals are skipped), capacity at most a tenth of the window's largest, or backlog or latency above the threshold. Every longest streak of bad bins is an incident.
type is outage if nothing was served in any of its bins, else degradation; severity is high for an outage or half the window, medium from 3 bins, else low. Times are UTC; endTs is exclusive. An incident at the edge of the window may be longer than the window shows. Narrow by node and time.`,
	}, func(_ context.Context, c *call, in outagesInput) (outagesOutput, error) {
		e, err := c.Server.run(in.RunID)
		if err != nil {
			return outagesOutput{}, err
		}
		q := timeline.Query{Start: in.Start, End: in.End, Nodes: []string{in.NodeID}}
		found, err := e.Timeline.DetectOutages(q,
			timeline.OutageRule{Metric: timeline.Metric(in.Metric), Threshold: in.Threshold,
				MinBins: in.MinDurationBins})
		if err != nil {
			return outagesOutput{}, err
		}
		out := outagesOutput{RunID: e.ID, BinSize: e.Timeline.BinSize().String(), Notes: e.Timeline.Notes(),
			Incidents: append([]timeline.Incident{}, found[:min(len(found), cmp.Or(in.Limit, defaultIncidents))]...)}
		out.Omitted = len(found) - len(out.Incidents)
		kinds := make(map[string]int)
		for _, i := range found {
			kinds[i.Type]++
		}
		out.Summary = fmt.Sprintf("%s: %d %s, %d %s.", in.NodeID, kinds[timeline.Outage],
			text.Noun(kinds[timeline.Outage], "outage", "outages"),
			kinds[timeline.Degradation], text.Noun(kinds[timeline.Degradation], "degradation", "degradations"))
		return out, nil
	})
}

type recoveryInput struct {
	RunID              string             `json:"runId,omitempty" jsonschema:"id of a run; the newest if left out" len:"1,128"`
	NodeID             string             `json:"nodeId" jsonschema:"the node that was unwell" len:"1,512"`
	OutageStartTs      timeline.Bound     `json:"outageStartTs" jsonschema:"when the outage began: startTs of an incident, or a bin index"`
	LookaheadEndTs     timeline.Bound     `json:"lookaheadEndTs" jsonschema:"last bin to look for the recovery in, inclusive: a time in RFC 3339, or a bin index"`
	BasedOn            timeline.Metric    `json:"basedOn,omitempty" jsonschema:"metric that has to recover" default:"\"backlog\""`
	RecoveryDefinition recoveryDefinition `json:"recoveryDefinition,omitzero" jsonschema:"zero: at most tolerance; baseline: as before the outage, within tolerance. An object with type, tolerance and baselineWindow, or the bare word" default:"\"zero\""`
}

type baselineInfo struct {
	Start timeline.Bound `json:"start" jsonschema:"first bin: its index, or a time in RFC 3339"`
	End   timeline.Bound `json:"end" jsonschema:"last bin, inclusive: its index, or a time in RFC 3339"`
}

type recoveryOutput struct {
	Summary string `json:"summary"`
	RunID   string `json:"runId"`
	timeline.Recovery
}

func computeRecoveryTime() (*tool, error) {
	return define(tool{
		Name: "compute_recovery_time", Title: "Recovery time", Area: "timeline", Target: "nodeId",
		Description: `Measures how long a node took to be well again after an outage began. By default: until its backlog (operations begun and not ended) is 0. With recoveryDefinition baseline: until the metric is within tolerance of its mean before the outage (for capacity at least, for latency at most).
The node must have been unwell before it can recover. recoveryTs is the beginning of the first recovered bin, UTC; durationMinutes is in minutes. They are null, with a note, when it never recovered in the window. Get outageStartTs from detect_outages.`,
	}, func(_ context.Context, c *call, in recoveryInput) (recoveryOutput, error) {
		e, err := c.Server.run(in.RunID)
		if err != nil {
			return recoveryOutput{}, err
		}
		o := timeline.RecoveryOptions{OutageStart: in.OutageStartTs, LookaheadEnd: in.LookaheadEndTs,
			BasedOn: in.BasedOn}
		d := in.RecoveryDefinition
		o.Definition, o.Tolerance = d.Type, d.Tolerance
		if b := d.BaselineWindow; b != nil {
			o.BaselineStart, o.BaselineEnd = b.Start, b.End
		}
		r, err := e.Timeline.RecoveryTime(in.NodeID, &o)
		if err != nil {
			return recoveryOutput{}, err
		}
		r.Notes = append(r.Notes, e.Timeline.Notes()...)
		out := recoveryOutput{RunID: e.ID, Recovery: r,
			Summary: fmt.Sprintf("%s has not recovered. %s", in.NodeID, r.Notes)}
		if r.RecoveryTs != nil {
			out.Summary = fmt.Sprintf("%s was well again after %v bins, %v minutes.", in.NodeID, r.DurationBins,
				r.DurationMinutes)
		}
		return out, nil
	})
}

type windowInput struct {
	RunID         string            `json:"runId,omitempty" jsonschema:"id of a run; the newest if left out" len:"1,128"`
	Start         timeline.Bound    `json:"start" jsonschema:"first bin of the window: its index from 0, or a time in RFC 3339"`
	End           timeline.Bound    `json:"end" jsonschema:"last bin of the window, inclusive: its index, or a time in RFC 3339"`
	NodeIDs       []string          `json:"nodeIds,omitempty" jsonschema:"only these nodes; all that were called if left out" len:"1,200" each:"1,512"`
	ClassIDs      []string          `json:"classIds,omitempty" jsonschema:"these classes, each apart; all together if left out" len:"1,200" each:"1,256"`
	Metrics       []timeline.Metric `json:"metrics,omitempty" jsonschema:"the metrics wanted as series, bin by bin" len:"1,13"`
	IncludeSeries bool              `json:"includeSeries,omitempty" jsonschema:"give the series also where they are more than 1000 values; naming metrics does the same for those" default:"false"`
	Limit         int               `json:"limit,omitempty" jsonschema:"at most so many nodes (and classes of one)" range:"1,200" default:"20"`
}

type windowOutput struct {
	Summary string                `json:"summary"`
	RunID   string                `json:"runId"`
	Window  timeline.WindowBounds `json:"window" jsonschema:"start and end are the beginnings of the first and the last bin; binSize is the length of a bin, such as 1s"`
	Nodes   []timeline.Totals     `json:"nodes" jsonschema:"each node over the whole window"`
	Series  []timeline.Series     `json:"series" jsonschema:"values aligned with the bins, null where undefined; those of all metrics where they are at most 1000 values, else only what was asked for"`
	Omitted int                   `json:"omitted,omitempty" jsonschema:"nodes, or nodes and classes, that this answer leaves out"`
	// SeriesOmitted counts those that are in Nodes and not in Series.
	SeriesOmitted int      `json:"seriesOmitted,omitempty" jsonschema:"nodes that are summed up but whose series would make the answer too long"`
	Notes         []string `json:"notes,omitempty" jsonschema:"what the run cannot show"`
}

// Bounds of a window's answer.
const (
	defaultSeries = 20
	freeValues    = 1000  // numbers in all series that need not be asked for
	maxValues     = 20000 // numbers in all series
)

func getStateWindow() (*tool, error) {
	return define(tool{
		Name: "get_state_window", Title: "State window", Area: "timeline", Target: "runId",
		Description: `Shows what each node did in a window of a run: totals first; series bin by bin where they are at most 1000 values, and above that for metrics that are named, or with includeSeries.
An operation is what a caller wanted done, attempts count its retries. arrivals, served and errors are operations, attempts and failures are calls. latency (mean) and latencyP95 are in ms, busy in seconds with at least one call in flight, backlog is operations in flight at the end of a bin, capacity is served per busy second, utilization is busy/bin length, throughputRatio is served/arrivals, retryTax is failures/attempts. What is undefined is null, never 0.
start and end are inclusive bin indices or times in RFC 3339; binSize is the length of a bin as a text, such as 1s; a window has at most 1000 bins. Narrow by nodeIds, classIds, metrics and time.`,
	}, func(_ context.Context, c *call, in windowInput) (windowOutput, error) {
		e, err := c.Server.run(in.RunID)
		if err != nil {
			return windowOutput{}, err
		}
		w, err := e.Timeline.StateWindow(timeline.Query{Start: in.Start, End: in.End, Nodes: in.NodeIDs,
			Classes: in.ClassIDs})
		if err != nil {
			return windowOutput{}, err
		}
		first, omitted := w.First(cmp.Or(in.Limit, defaultSeries))
		metrics := in.Metrics
		if all := timeline.Metrics(); len(metrics) == 0 && (in.IncludeSeries || first.Values(len(all)) <= freeValues) {
			metrics = all
		}
		out := windowOutput{RunID: e.ID, Window: w.Window, Nodes: []timeline.Totals{}, Omitted: omitted,
			Notes: e.Timeline.Notes()}
		for _, s := range first.Series {
			out.Nodes = append(out.Nodes, s.Totals())
		}
		out.Series, out.SeriesOmitted = first.Fit(maxValues, metrics...)
		out.Summary = fmt.Sprintf("%d bins of %v, %d of %d nodes.", w.Window.Bins(), w.Window.BinSize, len(out.Nodes),
			len(w.Series))
		if omitted > 0 {
			out.Summary = text.Sentences(out.Summary,
				fmt.Sprintf("%d are left out: narrow by nodeIds or classIds.", omitted))
		}
		if n := out.SeriesOmitted; n > 0 {
			out.Summary = text.Sentences(out.Summary,
				fmt.Sprintf("The series of %d are left out: narrow by time, nodeIds or metrics.", n))
		}
		return out, nil
	})
}

type impactInput struct {
	RunID           string         `json:"runId,omitempty" jsonschema:"id of a run; the newest if left out" len:"1,128"`
	NodeID          string         `json:"nodeId" jsonschema:"the node that was unwell; get_graph lists them" len:"1,512"`
	OutageStartTs   timeline.Bound `json:"outageStartTs" jsonschema:"when its outage began: startTs of an incident, or a bin index"`
	LookaheadEndTs  timeline.Bound `json:"lookaheadEndTs" jsonschema:"last bin to look for effects in, inclusive: a time in RFC 3339, or a bin index"`
	NodeIDs         []string       `json:"nodeIds,omitempty" jsonschema:"only these nodes; all that calls connect with it if left out" len:"1,200" each:"1,512"`
	Metric          string         `json:"metric,omitempty" jsonschema:"what is judged in each bin" enum:"served,throughputRatio,capacity,backlog,latency,latencyP95" default:"\"served\""`
	Threshold       *float64       `json:"threshold,omitempty" jsonschema:"in the unit of the metric; required for backlog and latency (ms)" range:"0"`
	MinDurationBins int            `json:"minDurationBins,omitempty" jsonschema:"shortest streak of bad bins that counts" range:"1,1000" default:"1"`
	Limit           int            `json:"limit,omitempty" jsonschema:"at most so many nodes" range:"1,1000" default:"100"`
}

type impactOutput struct {
	Summary string `json:"summary"`
	RunID   string `json:"runId"`
	timeline.Impact
	Omitted int      `json:"omitted,omitempty" jsonschema:"nodes that this answer leaves out"`
	Notes   []string `json:"notes,omitempty" jsonschema:"what the run cannot show"`
}

func getImpact() (*tool, error) {
	return define(tool{
		Name: "get_impact", Title: "Impact of an outage", Area: "timeline", Target: "nodeId",
		Description: `Shows which nodes connected to another by calls were affected after its outage began, upstream (they call it) and downstream (it calls them), nearest first, with the delay.
how is failing where the node was bad by the rule of detect_outages, and starved where it got less than half of its mean arrivals before the window. The answer rests on time and calls alone and proves no cause. notJudged were never called, so whether they were affected is unknown. Times are UTC; endTs is exclusive. Get outageStartTs from detect_outages.`,
	}, func(_ context.Context, c *call, in impactInput) (impactOutput, error) {
		e, err := c.Server.run(in.RunID)
		if err != nil {
			return impactOutput{}, err
		}
		q := timeline.Query{Start: in.OutageStartTs, End: in.LookaheadEndTs, Nodes: in.NodeIDs}
		rule := timeline.OutageRule{Metric: timeline.Metric(in.Metric), Threshold: in.Threshold,
			MinBins: in.MinDurationBins}
		all, err := e.Timeline.Impact(in.NodeID, q, rule)
		if err != nil {
			return impactOutput{}, err
		}
		out := impactOutput{RunID: e.ID, Notes: e.Timeline.Notes(),
			Summary: fmt.Sprintf("%s: %d connected %s affected, %d not, %d not judged.", in.NodeID,
				len(all.Affected), text.Noun(len(all.Affected), "node was", "nodes were"), len(all.Unaffected),
				len(all.NotJudged))}
		out.Impact, out.Omitted = all.First(cmp.Or(in.Limit, defaultNodes))
		return out, nil
	})
}

type compareInput struct {
	BaselineRunID string            `json:"baselineRunId" jsonschema:"id of the run to compare with; get_runs lists them" len:"1,128"`
	ScenarioRunID string            `json:"scenarioRunId" jsonschema:"id of the run that is compared" len:"1,128"`
	Start         timeline.Bound    `json:"start" jsonschema:"first bin of the window: its index from 0, in each run, or a time in RFC 3339"`
	End           timeline.Bound    `json:"end" jsonschema:"last bin of the window, inclusive: its index, or a time in RFC 3339"`
	NodeIDs       []string          `json:"nodeIds,omitempty" jsonschema:"only these nodes; all that either run called if left out" len:"1,200" each:"1,512"`
	ClassIDs      []string          `json:"classIds,omitempty" jsonschema:"only calls of these classes; all if left out" len:"1,200" each:"1,256"`
	Metrics       []timeline.Metric `json:"metrics,omitempty" jsonschema:"only these metrics; all if left out" len:"1,13"`
	Limit         int               `json:"limit,omitempty" jsonschema:"at most so many nodes" range:"1,200" default:"20"`
}

type compareOutput struct {
	Summary       string `json:"summary"`
	BaselineRunID string `json:"baselineRunId"`
	ScenarioRunID string `json:"scenarioRunId"`
	timeline.Comparison
	Omitted int      `json:"omitted,omitempty" jsonschema:"nodes that this answer leaves out"`
	Notes   []string `json:"notes,omitempty" jsonschema:"what one of the runs cannot show"`
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
		out := compareOutput{BaselineRunID: before.ID, ScenarioRunID: after.ID,
			Notes: slices.Concat(before.Timeline.Notes(), after.Timeline.Notes())}
		out.Comparison, out.Omitted = all.First(cmp.Or(in.Limit, defaultSeries), in.Metrics...)
		lost := 0
		for _, share := range all.Degradation {
			if share > 0 {
				lost++
			}
		}
		out.Summary = fmt.Sprintf("%s beside %s: %d of %d nodes served a smaller share.", after.ID, before.ID, lost,
			len(all.Degradation))
		if out.Omitted > 0 {
			out.Summary = text.Sentences(out.Summary, fmt.Sprintf("%d are left out: narrow by nodeIds.", out.Omitted))
		}
		return out, nil
	})
}

type scenarioInput struct {
	BaseRunID  string         `json:"baseRunId" jsonschema:"run to vary: its seed, its faults and its bins are the scenario's; get_runs lists them" len:"1,128"`
	Label      string         `json:"label" jsonschema:"name of the new run, for people" len:"1,256"`
	Parameters parametersInfo `json:"parameters" jsonschema:"what is different; these three and no others"`
}

type parametersInfo struct {
	CapacityMultiplier   *float64    `json:"capacityMultiplier,omitempty" jsonschema:"scales the workload's concurrency limits" above:"0" range:"0,1000"`
	RetryDelayMultiplier *float64    `json:"retryDelayMultiplier,omitempty" jsonschema:"scales its pauses before retries" range:"0,1000"`
	OutageInjection      *outageInfo `json:"outageInjection,omitempty" jsonschema:"takes one node down for some bins"`
}

type outageInfo struct {
	NodeID       string         `json:"nodeId" jsonschema:"a node that the base run called" len:"1,512"`
	Start        timeline.Bound `json:"start" jsonschema:"first bin of the outage: its index in the base run, or a time in RFC 3339"`
	DurationBins int            `json:"durationBins" jsonschema:"length of the outage, in bins" range:"1,1000000"`
}

type scenarioOutput struct {
	Summary string      `json:"summary"`
	RunID   string      `json:"runId" jsonschema:"id of the new run, for the other timeline tools"`
	Seed    string      `json:"seed" jsonschema:"seed of its draws, a decimal string"`
	State   trace.State `json:"state,omitempty" jsonschema:"running if it goes on; left out when it is done"`
	Repeats bool        `json:"repeats" jsonschema:"the same request gives the same series again"`
	Unread  []string    `json:"unread,omitempty" jsonschema:"parameters that had no effect: the workload did not ask for them, or did not call the node"`
	Notes   []string    `json:"notes,omitempty"`
}

func runScenario() (*tool, error) {
	return define(tool{
		Name: "run_scenario", Title: "Run a what-if scenario", Area: "timeline", Target: "baseRunId",
		Description: `Runs the host's workload again like a former run, but under changed conditions: concurrency limits scaled (capacityMultiplier), pauses before retries scaled (retryDelayMultiplier), or one node down for some bins (outageInjection). It runs on an injector of its own, apart from the live program's, one at a time.
The answer has the runId to ask the timeline tools about. A run that takes longer than this call may wait goes on in the background: state is then running, and get_runs shows when it is done. repeats says whether the same seed gives the same series: it does where the workload runs in virtual time, not in a live program. A parameter that the workload does not read is told in unread; if it reads none, that is an error.`,
		Kind:  toolrow.Kind{Write: true, OpenWorld: true},
		Limit: &policy.Limit{PerSecond: 0.5, Burst: 5},
	}, func(ctx context.Context, c *call, in scenarioInput) (scenarioOutput, error) {
		return c.Server.scenario(ctx, in)
	})
}

func (s *Server) scenario(ctx context.Context, in scenarioInput) (scenarioOutput, error) {
	q := trace.ScenarioRequest{BaseRunID: in.BaseRunID, Label: in.Label, Parameters: trace.Parameters{
		CapacityMultiplier: in.Parameters.CapacityMultiplier, RetryDelayMultiplier: in.Parameters.RetryDelayMultiplier}}
	if o := in.Parameters.OutageInjection; o != nil {
		q.Parameters.OutageInjection = &trace.OutageInjection{NodeID: o.NodeID, Start: o.Start,
			DurationBins: o.DurationBins}
	}
	life, stop := context.WithCancel(s.life) // the run may outlive the call
	started, err := s.host.Runs.StartScenario(life, q)
	if err != nil {
		stop()
		return scenarioOutput{}, err
	}
	done, err := s.active.Begin() // Shutdown waits for the run, too
	if err != nil {
		stop()
		return scenarioOutput{}, err
	}
	go func() {
		defer done()
		defer stop()
		_, _ = s.host.Runs.Wait(life, started.RunID) // the store has the outcome
	}()
	wait, cancel := context.WithTimeout(ctx, s.limits.ScenarioWait)
	defer cancel()
	r, err := s.host.Runs.Wait(wait, started.RunID)
	if ctx.Err() != nil && r.State == trace.StateRunning {
		stop() // no call waits for it any more
		return scenarioOutput{}, ctx.Err()
	}
	if err != nil {
		return scenarioOutput{}, runFailed(r, err)
	}
	out := scenarioOutput{RunID: r.RunID, Seed: fmt.Sprint(r.Seed), State: r.State, Repeats: r.Repeats,
		Unread: r.Unread, Notes: r.Notes}
	out.Summary = fmt.Sprintf("%s is done.", r.RunID)
	if r.State == trace.StateRunning {
		out.Summary = fmt.Sprintf("%s is still running: get_runs shows when it is done.", r.RunID)
	}
	if len(r.Unread) > 0 {
		out.Summary = text.Sentences(out.Summary, "Some parameters had no effect, see unread.")
	}
	return out, nil
}

// runFailed is the problem of a run that was started and went wrong.
func runFailed(r trace.Result, err error) error {
	p := *failure.Of(err)
	if p.Code == failure.CodeInternal {
		p.Code, p.Hint = "run_failed",
			"The workload failed; what was recorded until then is kept under the id in detail."
	}
	if errors.Is(err, trace.ErrUnread) {
		p.Status = 422
	}
	p.Detail = fmt.Sprintf("run %s failed: %s", r.RunID, p.Detail)
	return &p
}
