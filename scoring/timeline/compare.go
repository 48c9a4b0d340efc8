package timeline

import (
	"maps"
	"slices"
)

// A Comparison shows a scenario beside its baseline.
type Comparison struct {
	Baseline WindowBounds `json:"baseline"`
	Scenario WindowBounds `json:"scenario"`
	// Changes has a row for every node and metric, sorted by node, in the order
	// of the metrics' documentation.
	Changes []Change `json:"changes"`
	// Degradation is, for every node, the share of the baseline's availability that
	// was lost: 1 − (served/ended)ₛ / (served/ended)ᵦ. 0 is none, 1 is all, below 0
	// is better than the baseline. It is null where either is undefined.
	Degradation map[string]Value `json:"degradation"`
}

// A Change is one metric of one node over both windows. Counts and busy are sums,
// backlog is its largest value. The other metrics are computed from the sums, and
// latencies from all operations of the window. For a node that one run does not
// have, the values of that run are null.
type Change struct {
	Node     string `json:"nodeId"`
	Metric   Metric `json:"metric"`
	Baseline Value  `json:"baseline"`
	Scenario Value  `json:"scenario"`
	Change   Value  `json:"change"` // scenario − baseline
	Ratio    Value  `json:"ratio"`  // scenario/baseline
	// Worse reports that the change, however small, is for the worse. It is no test
	// of significance. It is never set for arrivals, attempts, busy and
	// utilization, which are neither good nor bad.
	Worse bool `json:"worse"`
}

// Compare applies one query to both runs. Each run resolves the bounds for itself.
// Counts compare only where both windows, which the answer shows, have the same
// length. Errors are [*WindowError] and [*FieldError]; a node is unknown only if
// neither run has it.
func Compare(baseline, scenario *Run, q Query) (Comparison, error) {
	both := index{map[edgeKey]*series{}}
	maps.Copy(both.series, baseline.index.Load().series)
	maps.Copy(both.series, scenario.index.Load().series)
	nodes, err := both.checkNodes(q.Nodes)
	if err != nil {
		return Comparison{}, err
	}
	if err := both.checkClasses(q.Classes); err != nil {
		return Comparison{}, err
	}
	before, err := baseline.totals(q, nodes)
	if err != nil {
		return Comparison{}, err
	}
	after, err := scenario.totals(q, nodes)
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{Baseline: before.window, Scenario: after.window, Degradation: map[string]Value{}}
	for _, node := range nodes {
		for i, m := range Metrics() {
			c.Changes = append(c.Changes, change(node, m, before.values[node][i], after.values[node][i]))
		}
		c.Degradation[node] = 1 - ratio(float64(after.served[node]), float64(before.served[node]))
	}
	return c, nil
}

func change(node string, m Metric, before, after Value) Change {
	c := Change{Node: node, Metric: m, Baseline: before, Scenario: after,
		Change: after - before, Ratio: ratio(float64(after), float64(before))}
	switch m {
	case Errors, Failures, Backlog, Latency, LatencyP95, RetryTax:
		c.Worse = after > before
	case Served, Capacity, ThroughputRatio:
		c.Worse = after < before
	}
	return c
}

// totals are the metrics of each node over one window, in the order of Metrics(), and the share
// of the operations that ended which were served. For a node without calls they are undefined.
type totals struct {
	window WindowBounds
	values map[string][]Value
	served map[string]Value
}

func (r *Run) totals(q Query, nodes []string) (totals, error) {
	return steadily(r, func(x extent) (totals, error) {
		w, err := q.window(x)
		if err != nil {
			return totals{}, err
		}
		t := totals{x.bounds(w), map[string][]Value{}, map[string]Value{}}
		for _, node := range nodes {
			v, err := r.view(x, node, q.Classes, counts)
			if err != nil {
				return totals{}, err
			}
			all, err := r.distribution(v, q.Classes, w)
			if err != nil {
				return totals{}, err
			}
			t.values[node], t.served[node] = v.totals(w, all)
		}
		return t, nil
	})
}

func (v view) totals(w span, all *latencies) (values []Value, served Value) {
	if v.empty {
		return slices.Repeat([]Value{undefined()}, len(Metrics())), undefined()
	}
	sum := v.total(w)
	var busy float64
	for _, b := range v.values(Busy, w) {
		busy += float64(b)
	}
	for _, m := range Metrics() {
		value := sum.value(m, v.slot)
		switch m {
		case Backlog:
			value = slices.Max(v.values(Backlog, w))
		case LatencyP95:
			value = milliseconds(all.percentile95(), sum.slowest)
		case Busy:
			value = Value(busy)
		case Capacity:
			value = ratio(float64(sum.served), busy)
		case Utilization:
			value = Value(busy / (float64(w.bins()) * v.binSize().Seconds()))
		}
		values = append(values, value)
	}
	return values, ratio(sum.served, sum.served+sum.errors)
}
