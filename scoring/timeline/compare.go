package timeline

import (
	"slices"

	"github.com/shakedown-go/shakedown/internal/text"
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
	nodes := q.Nodes
	known := slices.Concat(baseline.index.Load().nodes(), scenario.index.Load().nodes())
	slices.Sort(known)
	known = slices.Compact(known)
	if nodes == nil {
		nodes = known
	}
	for _, node := range nodes {
		if !slices.Contains(known, node) {
			return Comparison{}, fields.Wrong("nodeId", node, "a node that was called: "+text.Some(known, fewNames))
		}
	}
	if err := checkEither(baseline.index.Load(), scenario.index.Load(), q.Classes); err != nil {
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
		b, a := before.of(node), after.of(node)
		for i, m := range Metrics() {
			c.Changes = append(c.Changes, change(node, m, b.values[i], a.values[i]))
		}
		c.Degradation[node] = 1 - ratio(float64(a.availability), float64(b.availability))
	}
	return c, nil
}

// checkEither rejects names of classes that neither run has.
func checkEither(a, b *index, classes []string) error {
	for _, class := range classes {
		one := []string{class}
		if err := a.checkClasses(one); err != nil && b.checkClasses(one) != nil {
			return err
		}
	}
	return nil
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

// totals are the metrics of each node over one window.
type totals struct {
	window WindowBounds
	nodes  map[string]nodeTotals
}

type nodeTotals struct {
	values       []Value // in the order of Metrics()
	availability Value
}

func (t totals) of(node string) nodeTotals {
	if n, ok := t.nodes[node]; ok {
		return n
	}
	n := nodeTotals{availability: undefined()}
	for range Metrics() {
		n.values = append(n.values, undefined())
	}
	return n
}

func (r *Run) totals(q Query, nodes []string) (totals, error) {
	return steadily(r, func(x extent) (totals, error) {
		w, err := q.window(x)
		if err != nil {
			return totals{}, err
		}
		t := totals{window: x.bounds(w), nodes: map[string]nodeTotals{}}
		ix := r.index.Load()
		for _, node := range nodes {
			if len(ix.where(callsTo(node, q.Classes))) == 0 {
				continue
			}
			v, err := r.view(x, node, q.Classes, nil)
			if err != nil {
				return totals{}, err
			}
			sum, err := r.distribution(v, q.Classes, w)
			if err != nil {
				return totals{}, err
			}
			t.nodes[node] = v.totals(w, sum)
		}
		return t, nil
	})
}

func (v view) totals(w span, all *latencies) nodeTotals {
	sum := v.total(w)
	var busy float64
	for _, b := range v.values(Busy, w) {
		busy += float64(b)
	}
	n := nodeTotals{availability: ratio(sum.served, sum.served+sum.errors)}
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
		n.values = append(n.values, value)
	}
	return n
}
