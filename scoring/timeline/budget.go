package timeline

import (
	"cmp"
	"fmt"
	"time"
)

// An SLO is an objective for the share of good operations. An operation is good if
// it was served, within Latency if that is set. The zero value asks for 99.9 %
// served over the window.
type SLO struct {
	_ struct{}
	// Objective is the share that should be good: above 0, below 1. 0 means 0.999.
	Objective float64
	// Latency is the longest time a good operation takes; 0: any.
	Latency time.Duration
	// Period is the time that the error budget covers; 0 means the queried window.
	Period time.Duration
}

const defaultObjective = 0.999

// A Budget reports how well a node kept an objective, and how quickly it used up
// the error budget. The error budget is the share of operations that may be bad: 1
// − objective.
type Budget struct {
	Node      string       `json:"nodeId"`
	Window    WindowBounds `json:"window"`
	Objective float64      `json:"objective"`
	Ended     int64        `json:"ended"` // operations
	Good      int64        `json:"good"`
	SLI       Value        `json:"sli"` // good/ended; null where nothing ended
	// BurnRate is (1 − sli)/(1 − objective): 1 uses up the budget exactly in the period.
	BurnRate Value `json:"burnRate"`
	// Consumed is the share of the period's budget that the window used up:
	// burnRate × window/period. It assumes that the whole period is as busy. Above
	// 1 is overspent.
	Consumed Value `json:"budgetConsumed"`
}

// Budgets judges the objective at each node of the query. Errors are [*WindowError]
// and [*FieldError].
func (r *Run) Budgets(q Query, slo SLO) ([]Budget, error) {
	slo.Objective = cmp.Or(slo.Objective, defaultObjective)
	if err := slo.check(); err != nil {
		return nil, err
	}
	return steadily(r, func(x extent) ([]Budget, error) {
		w, views, err := r.views(x, q, slo.question())
		if err != nil {
			return nil, err
		}
		budgets := make([]Budget, len(views))
		for i, v := range views {
			budgets[i] = slo.judge(v, w)
		}
		return budgets, nil
	})
}

func (o SLO) check() error {
	errs := fields.List()
	if !(o.Objective > 0 && o.Objective < 1) {
		errs.Wrong("objective", o.Objective, "above 0 and below 1")
	}
	if o.Latency < 0 {
		errs.Wrong("latency", o.Latency, "0 or more")
	}
	if o.Period < 0 {
		errs.Wrong("period", o.Period, "0 or more")
	}
	return errs.Err()
}

func (o SLO) question() question {
	if o.Latency == 0 {
		return nil
	}
	return func(l *latencies) int64 { return l.within(o.Latency) }
}

func (o SLO) judge(v view, w span) Budget {
	b := Budget{Node: v.node, Window: v.extent.bounds(w), Objective: o.Objective}
	for i := w.first; i <= w.last; i++ {
		bin := v.bin(i)
		good := bin.served
		if v.asked != nil {
			good = v.asked[i-v.first]
		}
		b.Good, b.Ended = b.Good+good, b.Ended+bin.served+bin.errors
	}
	window := time.Duration(w.bins()) * v.binSize()
	b.SLI = ratio(b.Good, b.Ended)
	b.BurnRate = (1 - b.SLI) / Value(1-o.Objective)
	b.Consumed = b.BurnRate * Value(window.Seconds()/cmp.Or(o.Period, window).Seconds())
	return b
}

// String formats the budget as one line: node, SLI, burn rate.
func (b Budget) String() string {
	return fmt.Sprintf("%s: %v of %d good, objective %v, burn rate %v", b.Node, b.SLI, b.Ended, b.Objective, b.BurnRate)
}
