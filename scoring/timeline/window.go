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
	return steadily(r, func(x extent) (Window, error) { return r.stateWindow(x, q, metrics) })
}

func (r *Run) stateWindow(x extent, q Query, metrics []Metric) (Window, error) {
	w, err := q.window(x)
	if err != nil {
		return Window{}, err
	}
	ix := r.index.Load()
	nodes, err := ix.checkNodes(q.Nodes)
	if err != nil {
		return Window{}, err
	}
	if err := ix.checkClasses(q.Classes); err != nil {
		return Window{}, err
	}
	answer := Window{Window: x.bounds(w), Series: []Series{}}
	for _, node := range nodes {
		for _, class := range ix.apart(node, q.Classes) {
			v, err := r.view(x, node, class.of, latencyQuestion(metrics))
			if err != nil {
				return Window{}, err
			}
			answer.Series = append(answer.Series, v.series(class.name, metrics, w))
		}
	}
	return answer, nil
}

// A selection is one series of an answer: a class, or all of them together.
type selection struct {
	name string
	of   []string
}

func (ix *index) apart(node string, classes []string) []selection {
	if classes == nil {
		return []selection{{}}
	}
	var found []selection
	for _, class := range classes {
		if len(ix.where(callsTo(node, []string{class}))) > 0 {
			found = append(found, selection{class, []string{class}})
		}
	}
	return found
}

func (v view) series(class string, metrics []Metric, w span) Series {
	s := Series{Node: v.node, Class: class, Metrics: make(map[Metric][]Value, len(metrics))}
	for _, m := range metrics {
		s.Metrics[m] = v.values(m, w)
	}
	return s
}

func latencyQuestion(metrics []Metric) question {
	if slices.Contains(metrics, LatencyP95) {
		return (*latencies).percentile95
	}
	return nil
}
