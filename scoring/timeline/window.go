package timeline

import (
	"slices"
	"time"
)

// A Window is the answer to [Run.StateWindow].
type Window struct {
	Window WindowBounds `json:"window"`
	Series []Series     `json:"series"`
}

// WindowBounds are the bins that an answer covers. Start and End are the times at
// which the first and the last bin begin, so a query with them selects the same
// window again. BinSize is a text that [time.ParseDuration] reads, such as "1s".
type WindowBounds struct {
	Start    time.Time `json:"start"`
	End      time.Time `json:"end"`
	BinSize  string    `json:"binSize"`
	StartBin int       `json:"startBin"`
	EndBin   int       `json:"endBin"`
}

// Bins is the number of bins.
func (b WindowBounds) Bins() int { return b.EndBin - b.StartBin + 1 }

func (x extent) bounds(w span) WindowBounds {
	return WindowBounds{
		Start: x.start(w.first), End: x.start(w.last),
		BinSize: x.binSize().String(), StartBin: w.first, EndBin: w.last,
	}
}

// A Series holds the metrics of one node, each with one value for each bin of the
// window. Class is "" where all classes are counted together.
type Series struct {
	Node    string             `json:"nodeId"`
	Class   string             `json:"classId,omitempty"`
	Metrics map[Metric][]Value `json:"metrics"`
}

// StateWindow returns the metrics (none given: all) of the nodes, for each bin of
// the window. If the query names classes, there is a series for each node and class
// that has calls. Errors are [*WindowError] and [*FieldError].
func (r *Run) StateWindow(q Query, metrics ...Metric) (Window, error) {
	metrics, err := checkMetrics(metrics)
	if err != nil {
		return Window{}, err
	}
	return steadily(r, func(x extent) (Window, error) {
		w, views, err := r.views(x, q, readingOf(metrics...), true)
		if err != nil {
			return Window{}, err
		}
		answer := Window{Window: x.bounds(w), Series: []Series{}}
		for _, v := range views {
			s := Series{Node: v.node, Class: v.class, Metrics: make(map[Metric][]Value, len(metrics))}
			for _, m := range metrics {
				s.Metrics[m] = v.values(m, w)
			}
			answer.Series = append(answer.Series, s)
		}
		return answer, nil
	})
}

func readingOf(metrics ...Metric) reading {
	if slices.Contains(metrics, LatencyP95) {
		return percentiles
	}
	return counts
}
