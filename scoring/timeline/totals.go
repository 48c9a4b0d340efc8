package timeline

// Totals sum up a node over a window.
type Totals struct {
	NodeID          string  `json:"nodeId"`
	ClassID         string  `json:"classId,omitempty"`
	Arrivals        float64 `json:"arrivals" jsonschema:"operations that began"`
	Served          float64 `json:"served" jsonschema:"operations that ended well"`
	Errors          float64 `json:"errors" jsonschema:"operations that failed in the end, all retries included"`
	Attempts        float64 `json:"attempts" jsonschema:"calls, retries included"`
	Failures        float64 `json:"failures" jsonschema:"calls that failed"`
	MaxBacklog      float64 `json:"maxBacklog" jsonschema:"most operations in flight at the end of a bin"`
	WorstLatencyMs  Value   `json:"worstLatencyMs" jsonschema:"largest mean latency of a bin, in ms; null where nothing was served"`
	ThroughputRatio Value   `json:"throughputRatio" jsonschema:"served/arrivals over the window; null where nothing arrived"`
	RetryTax        Value   `json:"retryTax" jsonschema:"failures/attempts over the window; null where nothing was attempted"`
}

// Totals sums the series up. An undefined bin counts as nothing.
func (s Series) Totals() Totals {
	sum := func(m Metric) (total float64) {
		for _, v := range s.Metrics[m] {
			if v.Defined() {
				total += float64(v)
			}
		}
		return total
	}
	t := Totals{NodeID: s.Node, ClassID: s.Class, Arrivals: sum(Arrivals), Served: sum(Served), Errors: sum(Errors),
		Attempts: sum(Attempts), Failures: sum(Failures), WorstLatencyMs: undefined()}
	for _, v := range s.Metrics[Backlog] {
		t.MaxBacklog = max(t.MaxBacklog, float64(v))
	}
	for _, v := range s.Metrics[Latency] {
		if v.Defined() && (!t.WorstLatencyMs.Defined() || v > t.WorstLatencyMs) {
			t.WorstLatencyMs = v
		}
	}
	t.ThroughputRatio, t.RetryTax = ratio(t.Served, t.Arrivals), ratio(t.Failures, t.Attempts)
	return t
}
