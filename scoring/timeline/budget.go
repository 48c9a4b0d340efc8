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
	Consumed Value       `json:"budgetConsumed"`
	Alerts   []BurnAlert `json:"alerts"`
}

// A BurnAlert is one line of the multi-window, multi-burn-rate alerts of the Google
// SRE Workbook, chapter 5 "Alerting on SLOs". Its windows are scaled from 30 days
// to the SLO's period, and are at least a bin long.
type BurnAlert struct {
	Severity  string  `json:"severity"` // page or ticket
	BurnRate  float64 `json:"burnRate"` // fires where both windows burn faster
	LongBins  int     `json:"longBins"`
	ShortBins int     `json:"shortBins"`
	// Judged is the number of bins at which the long window lay within the queried
	// window. 0 means that the run is too short for this alert.
	Judged int `json:"judgedBins"`
	// Fired are the windows during which the alert fired.
	Fired []WindowBounds `json:"fired"`
}

// burnRules are the three lines of that table; long and short are shares of the
// period.
func burnRules() []struct {
	severity    string
	burn        float64
	long, short float64
} {
	const days30 = 30 * 24 * 60 // minutes
	return []struct {
		severity    string
		burn        float64
		long, short float64
	}{
		{"page", 14.4, 60. / days30, 5. / days30},
		{"page", 6, 6 * 60. / days30, 30. / days30},
		{"ticket", 1, 3 * 24 * 60. / days30, 6 * 60. / days30},
	}
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

// tally counts the good and the ended operations up to each bin of the window. The
// counts of a part of the window are then a difference.
func (o SLO) tally(v view, w span) (good, ended []int64) {
	good, ended = make([]int64, w.bins()+1), make([]int64, w.bins()+1)
	for i := range w.bins() {
		b := v.bin(w.first + i)
		g := b.served
		if v.asked != nil {
			g = v.asked[w.first-v.first+i]
		}
		good[i+1], ended[i+1] = good[i]+g, ended[i]+b.served+b.errors
	}
	return good, ended
}

func (o SLO) judge(v view, w span) Budget {
	good, ended := o.tally(v, w)
	n := w.bins()
	burn := func(from, to int) Value { // of the bins [from, to)
		sli := ratio(good[to]-good[from], ended[to]-ended[from])
		return (1 - sli) / Value(1-o.Objective)
	}
	window := time.Duration(n) * v.binSize()
	period := cmp.Or(o.Period, window)
	b := Budget{
		Node: v.node, Window: v.extent.bounds(w), Objective: o.Objective,
		Ended: ended[n], Good: good[n], SLI: ratio(good[n], ended[n]), BurnRate: burn(0, n),
	}
	b.Consumed = b.BurnRate * Value(window.Seconds()/period.Seconds())
	for _, rule := range burnRules() {
		a := BurnAlert{Severity: rule.severity, BurnRate: rule.burn, Fired: []WindowBounds{},
			LongBins:  v.binsIn(rule.long * float64(period)),
			ShortBins: v.binsIn(rule.short * float64(period))}
		fires := make([]bool, n)
		for end := a.LongBins; end <= n; end++ {
			a.Judged++
			fires[end-1] = burn(end-a.LongBins, end) > Value(rule.burn) && burn(end-a.ShortBins, end) > Value(rule.burn)
		}
		for _, s := range streaks(fires, 1) {
			a.Fired = append(a.Fired, v.extent.bounds(span{w.first + s.first, w.first + s.last}))
		}
		b.Alerts = append(b.Alerts, a)
	}
	return b
}

// binsIn rounds to whole bins, at least one.
func (x extent) binsIn(ns float64) int {
	return max(1, int(ns/float64(x.binSize())+0.5))
}

// String formats the budget as one line: node, SLI, burn rate.
func (b Budget) String() string {
	return fmt.Sprintf("%s: %v of %d good, objective %v, burn rate %v", b.Node, b.SLI, b.Ended, b.Objective, b.BurnRate)
}
