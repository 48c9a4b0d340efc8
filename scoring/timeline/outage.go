package timeline

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// An OutageRule says which bins of a node are bad. With the zero value a bin is bad
// if at most half of the operations that arrived in it were served.
//
// A bin with calls in flight of which none ended is bad by every metric: callers that
// wait make no other calls. A bin without arrivals and without calls in flight says
// nothing, and is not bad.
//
// Its JSON is that of the MCP tools which take a rule.
type OutageRule struct {
	_ struct{}
	// Metric is judged in each bin. Where it is undefined it says nothing.
	//
	//   - Served (default), or ThroughputRatio: bad where served/arrivals ≤ Threshold, 0.5 by default
	//   - Capacity: bad where it is ≤ Threshold, a tenth of the window's largest by default
	//   - Backlog, Latency, LatencyP95: bad where above Threshold, which has no default
	Metric Metric `json:"metric,omitempty" jsonschema:"what is judged in each bin" enum:"served,throughputRatio,capacity,backlog,latency,latencyP95" default:"\"served\""`
	// Threshold is in the unit of the metric; nil means the default.
	Threshold *float64 `json:"threshold,omitempty" jsonschema:"in the unit of the metric; required for backlog and latency (ms)" range:"0"`
	// MinBins is the least number of consecutive bad bins that make an incident; 0
	// means 1.
	MinBins int `json:"minDurationBins,omitempty" jsonschema:"shortest streak of bad bins that counts" range:"1,1000" default:"1"`
}

const (
	defaultServedThreshold   = 0.5 // of what arrived
	defaultCapacityThreshold = 0.1 // of the largest in the window
)

// The types and severities of an [Incident].
const (
	Outage      = "outage"      // nothing was served in any of its bins
	Degradation = "degradation" // something was
	High        = "high"        // an outage, or at least half of the window
	Medium      = "medium"      // at least three bins
	Low         = "low"         // less
)

const mediumBins = 3

// callsHang is the condition of a bin that is bad by every metric.
const callsHang = "calls in flight and none ended"

// An Incident is a maximal series of consecutive bad bins of a node.
type Incident struct {
	Node     string    `json:"nodeId"`
	StartTs  time.Time `json:"startTs"`
	EndTs    time.Time `json:"endTs"` // exclusive
	StartBin int       `json:"startBin"`
	EndBin   int       `json:"endBin"` // inclusive
	Type     string    `json:"type"`
	Severity string    `json:"severity"`
	Metric   Metric    `json:"metric"`
	Details  Details   `json:"details"`
}

// Details are the numbers behind an incident.
type Details struct {
	Reason string `json:"reason"` // the condition that its bins meet, in words
	// Values has the threshold of the rule, and the counts over all bins of the
	// incident.
	Values struct {
		Threshold Value `json:"threshold"`
		Arrivals  int64 `json:"arrivals"`
		Served    int64 `json:"served"`
		Errors    int64 `json:"errors"`
	} `json:"values"`
}

// String formats the details as one line.
func (d Details) String() string {
	return fmt.Sprintf("%s: %d arrivals, %d served, %d errors", d.Reason, d.Values.Arrivals, d.Values.Served,
		d.Values.Errors)
}

// Bins returns the length of the incident in bins.
func (i Incident) Bins() int { return i.EndBin - i.StartBin + 1 }

// DetectOutages returns the incidents of the query's nodes, sorted by node and
// time. An incident that begins or ends with the window may be longer than the
// window shows. In the present bin of a live run, too few served operations, and calls
// of which none ended, are no incident yet. Errors are [*WindowError] and [*FieldError].
func (r *Run) DetectOutages(q Query, rule OutageRule) ([]Incident, error) {
	if err := rule.check(); err != nil {
		return nil, err
	}
	return steadily(r, func(x extent) (found []Incident, err error) {
		w, views, err := r.views(x, q, readingOf(rule.metric()), false)
		for _, v := range views {
			found = append(found, rule.incidents(v, w)...)
		}
		return found, err
	})
}

func (o OutageRule) metric() Metric {
	if o.Metric == "" || o.Metric == ThroughputRatio {
		return Served
	}
	return o.Metric
}

func (o OutageRule) minBins() int { return max(1, o.MinBins) }

func (o OutageRule) check() error {
	if o.MinBins < 0 {
		return fields.Wrong("minDurationBins", o.MinBins, "0 or more")
	}
	if o.Threshold != nil && math.IsNaN(*o.Threshold) {
		return fields.Wrong("threshold", *o.Threshold, "a number")
	}
	switch m := o.metric(); m {
	case Served, Capacity:
		return nil
	case Backlog, Latency, LatencyP95:
		if o.Threshold == nil {
			return fields.Wrong("threshold", nil, fmt.Sprintf("a number: metric %s has no default", m))
		}
		return nil
	default:
		return fields.Wrong("metric", string(m), "served, capacity, backlog, latency or latencyP95")
	}
}

// incidents returns the incidents of a window.
func (o OutageRule) incidents(v view, w span) (found []Incident) {
	bad, hanging, threshold := o.bad(v, w)
	for _, s := range streaks(bad, o.minBins()) {
		n := 0
		for _, only := range hanging[s.first : s.last+1] {
			if only {
				n++
			}
		}
		found = append(found, o.incident(v, w, span{w.first + s.first, w.first + s.last}, threshold, n))
	}
	return found
}

// bad marks the bad bins of a window, and those that are bad only because calls hang.
func (o OutageRule) bad(v view, w span) (bad, hanging []bool, threshold float64) {
	judged := o.metric()
	if judged == Served {
		judged = ThroughputRatio
	}
	values := v.values(judged, w)
	threshold = o.threshold(values)
	hanging = v.hanging(w)
	bad = slices.Clone(hanging)
	for i, value := range values {
		if value.Defined() && (float64(value) <= threshold) == o.low() && (v.over(w.first+i) || !o.low()) {
			bad[i], hanging[i] = true, false
		}
	}
	return bad, hanging, threshold
}

// hanging marks the bins with calls in flight of which none ended. In the present bin of
// a live run they may still end.
func (v view) hanging(w span) []bool {
	marked := make([]bool, w.bins())
	for i := range marked {
		b := v.bin(w.first + i)
		marked[i] = (b.inflight > 0 || b.attempts > 0) && b.served+b.failures == 0 && v.over(w.first+i)
	}
	return marked
}

// low reports whether small values are the bad ones.
func (o OutageRule) low() bool { return o.metric() == Served || o.metric() == Capacity }

func (o OutageRule) threshold(values []Value) float64 {
	if o.Threshold != nil {
		return *o.Threshold
	}
	if o.metric() == Served {
		return defaultServedThreshold
	}
	largest := 0.0
	for _, v := range values {
		if v.Defined() {
			largest = max(largest, float64(v))
		}
	}
	return defaultCapacityThreshold * largest
}

// incident describes a streak of bad bins, of which some are bad only because calls hang.
func (o OutageRule) incident(v view, w, at span, threshold float64, hanging int) Incident {
	sum := v.total(at)
	i := Incident{
		Node: v.node, Metric: o.metric(), Type: Degradation, Severity: Low,
		StartTs: v.start(at.first), EndTs: v.start(at.last + 1), StartBin: at.first, EndBin: at.last,
	}
	if sum.served == 0 {
		i.Type = Outage
	}
	switch {
	case i.Type == Outage || 2*at.bins() >= w.bins():
		i.Severity = High
	case at.bins() >= mediumBins:
		i.Severity = Medium
	}
	rule := "above"
	if o.low() {
		rule = "at most"
	}
	name := map[Metric]string{Served: "served/arrivals", Capacity: "capacity", Backlog: "backlog",
		Latency: "mean latency in ms", LatencyP95: "p95 latency in ms"}[o.metric()]
	i.Details.Reason = fmt.Sprintf("%s %s %v", name, rule, Value(threshold))
	switch hanging {
	case 0:
	case at.bins():
		i.Details.Reason = callsHang
	default:
		i.Details.Reason += ", or " + callsHang + ","
	}
	i.Details.Reason += fmt.Sprintf(" for %d bins", at.bins())
	d := &i.Details.Values
	d.Threshold, d.Arrivals, d.Served, d.Errors = Value(threshold), sum.arrivals, sum.served, sum.errors
	return i
}

// streaks returns the maximal series of true that have at least that length.
func streaks(bad []bool, atLeast int) []span {
	var found []span
	first := 0
	for i := 0; i <= len(bad); i++ {
		if i < len(bad) && bad[i] {
			continue
		}
		if i > first && i-first >= atLeast {
			found = append(found, span{first, i - 1})
		}
		first = i + 1
	}
	return found
}
