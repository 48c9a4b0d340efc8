package mcpadapter

import (
	"cmp"
	"context"
	"fmt"

	"github.com/shakedown-go/shakedown/scoring/timeline"
)

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
		name: "get_state_window", title: "State window", area: "timeline", target: "runId",
		description: `Shows what each node did in a window of a run: totals first; series bin by bin where they are at most 1000 values, and above that for metrics that are named, or with includeSeries.
An operation is what a caller wanted done, attempts count its retries. arrivals, served and errors are operations, attempts and failures are calls. latency (mean) and latencyP95 are in ms, busy in seconds with at least one call in flight, backlog is operations in flight at the end of a bin, capacity is served per busy second, utilization is busy/bin length, throughputRatio is served/arrivals, retryTax is failures/attempts. What is undefined is null, never 0.
start and end are inclusive bin indices or times in RFC 3339; binSize is the length of a bin as a text, such as 1s; a window has at most 1000 bins. Narrow by nodeIds, classIds, metrics and time.`,
	}, func(_ context.Context, c *call, in windowInput) (windowOutput, error) {
		e, err := c.server.run(in.RunID)
		if err != nil {
			return windowOutput{}, err
		}
		w, err := e.Timeline.StateWindow(timeline.Query{Start: in.Start, End: in.End, Nodes: in.NodeIDs, Classes: in.ClassIDs})
		if err != nil {
			return windowOutput{}, err
		}
		out := windowOf(e.ID, w, in)
		out.Notes = e.Timeline.Notes()
		return out, nil
	})
}

func windowOf(id string, w timeline.Window, in windowInput) windowOutput {
	out := windowOutput{RunID: id, Window: w.Window, Nodes: []timeline.Totals{}, Series: []timeline.Series{}}
	metrics := in.Metrics
	bins, values := w.Window.EndBin-w.Window.StartBin+1, 0
	shown := min(len(w.Series), cmp.Or(in.Limit, defaultSeries))
	if all := timeline.Metrics(); len(metrics) == 0 && (in.IncludeSeries || shown*bins*len(all) <= freeValues) {
		metrics = all
	}
	for _, s := range w.Series {
		if len(out.Nodes) == cmp.Or(in.Limit, defaultSeries) {
			out.Omitted++
			continue
		}
		out.Nodes = append(out.Nodes, s.Totals())
		if len(metrics) == 0 {
			continue
		}
		if values += bins * len(metrics); values > maxValues {
			out.SeriesOmitted++
			continue
		}
		out.Series = append(out.Series, s.Only(metrics...))
	}
	out.Summary = fmt.Sprintf("%d bins of %v, %d of %d nodes.", bins, w.Window.BinSize, len(out.Nodes), len(w.Series))
	if out.Omitted > 0 {
		out.Summary = sentences(out.Summary, fmt.Sprintf("%d are left out: narrow by nodeIds or classIds.", out.Omitted))
	}
	if out.SeriesOmitted > 0 {
		out.Summary = sentences(out.Summary, fmt.Sprintf("The series of %d are left out: narrow by time, nodeIds or metrics.", out.SeriesOmitted))
	}
	return out
}
