package timeline

import "time"

// A Panel is what a picture of a run shows of one node.
type Panel struct {
	Node     string
	Start    time.Time     // of the window's first bin
	FirstBin int           // the number of that bin
	BinSize  time.Duration // of all bins
	Served   []Value       // operations, by bin of the window
	Errors   []Value       // likewise
	Faulty   []bool        // whether a fault was delivered, by bin
	// Incidents are the outages and degradations in the window.
	Incidents []Incident
}

// Panels returns what a picture of the window shows of each node, sorted by name.
// Errors are [*WindowError] and [*FieldError].
func (r *Run) Panels(q Query, rule OutageRule) ([]Panel, error) {
	return judged(r, q, rule, func(x extent, w span, v view) ([]Panel, error) {
		deliveries, err := r.deliveries(x, v.node, q.Classes)
		if err != nil {
			return nil, err
		}
		return []Panel{{Node: v.node, Start: x.start(w.first), FirstBin: w.first, BinSize: v.binSize(),
			Served: v.values(Served, w), Errors: v.values(Errors, w),
			Faulty: faultyBins(deliveries, x, w), Incidents: rule.incidents(v, w)}}, nil
	})
}
