package timeline

import (
	"fmt"
	"time"
)

// The kinds of a [Warning].
const (
	GrowingBacklog       = "growingBacklog"       // the backlog is larger than in the bin before
	ArrivalsOverCapacity = "arrivalsOverCapacity" // more arrived a second than a busy second serves
	SlowerThanObjective  = "slowerThanObjective"  // the p95 latency is above the objective
)

// warningBins is the least number of consecutive bins that make a warning: one or
// two may be chance.
const warningBins = 3

// A Warning is a series of at least three bins with an early sign of trouble.
// Nothing need have failed.
type Warning struct {
	Node     string    `json:"nodeId"`
	Kind     string    `json:"kind"`
	StartTs  time.Time `json:"startTs"`
	EndTs    time.Time `json:"endTs"` // exclusive
	StartBin int       `json:"startBin"`
	EndBin   int       `json:"endBin"` // inclusive
	Details  string    `json:"details"`
}

// Warnings returns the warnings of the query's nodes, sorted by node, kind and
// time. objective is the longest p95 latency that is fine; 0 means that there is
// none. A bin where a metric is undefined ends a series. Errors are [*WindowError]
// and [*FieldError].
func (r *Run) Warnings(q Query, objective time.Duration) ([]Warning, error) {
	if objective < 0 {
		return nil, fields.Wrong("objective", objective, "0 or more")
	}
	return steadily(r, func(x extent) ([]Warning, error) {
		w, views, err := r.views(x, q, latencyQuestion([]Metric{LatencyP95}))
		if err != nil {
			return nil, err
		}
		var found []Warning
		for _, v := range views {
			found = append(found, v.warnings(w, objective)...)
		}
		return found, nil
	})
}

func (v view) warnings(w span, objective time.Duration) []Warning {
	backlog := v.values(Backlog, w)
	var before Value
	if w.first > v.first {
		before = v.values(Backlog, span{w.first - 1, w.first - 1})[0]
	}
	growing := make([]bool, w.bins())
	for i, value := range backlog {
		growing[i] = value > before
		before = value
	}
	found := v.warn(GrowingBacklog, growing, w, func(s span) string {
		return fmt.Sprintf("backlog grew for %d bins, to %v", s.bins(), backlog[s.last])
	})
	arrivals, capacity := v.values(Arrivals, w), v.values(Capacity, w)
	over := make([]bool, w.bins())
	for i := range over {
		over[i] = capacity[i].Defined() && float64(arrivals[i]) > float64(capacity[i])*v.binSize().Seconds()
	}
	found = append(found, v.warn(ArrivalsOverCapacity, over, w, func(s span) string {
		perSecond := float64(mean(arrivals[s.first:s.last+1])) / v.binSize().Seconds()
		return fmt.Sprintf("%v arrivals/s against a capacity of %v/s, on average over %d bins",
			Value(perSecond), mean(capacity[s.first:s.last+1]), s.bins())
	})...)
	if objective == 0 {
		return found
	}
	waits := v.values(LatencyP95, w)
	slow := make([]bool, w.bins())
	for i, ms := range waits {
		slow[i] = float64(ms) > objective.Seconds()*1000
	}
	return append(found, v.warn(SlowerThanObjective, slow, w, func(s span) string {
		return fmt.Sprintf("p95 latency above %v for %d bins, %v ms on average", objective, s.bins(),
			mean(waits[s.first:s.last+1]))
	})...)
}

func (v view) warn(kind string, bad []bool, w span, details func(span) string) []Warning {
	var found []Warning
	for _, s := range streaks(bad, warningBins) {
		first, last := w.first+s.first, w.first+s.last
		found = append(found, Warning{
			Node: v.node, Kind: kind, Details: details(s),
			StartTs: v.start(first), EndTs: v.start(last + 1), StartBin: first, EndBin: last,
		})
	}
	return found
}
