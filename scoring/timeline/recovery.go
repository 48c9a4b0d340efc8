package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The definitions of recovery.
const (
	// Zero: the metric is at most the tolerance, 0 by default.
	Zero = "zero"
	// Baseline: the metric is within the tolerance of its mean before the outage.
	// The tolerance is a tenth of that mean by default.
	Baseline = "baseline"
)

const defaultBaselineTolerance = 0.1

// RecoveryOptions say what counts as recovered. The zero value, and nil, look for
// the first bin without a backlog, from the first bin of the run to its last.
type RecoveryOptions struct {
	_ struct{}
	// OutageStart and LookaheadEnd bound the search, both inclusive.
	OutageStart, LookaheadEnd Bound
	// BasedOn is the metric judged; "" means Backlog.
	BasedOn Metric
	// Definition is Zero (default) or Baseline. Zero fits metrics that are 0 for a
	// healthy node: Backlog, Errors, Failures, RetryTax.
	Definition string
	// Tolerance replaces the default: for Zero a value of the metric, for
	// Baseline a share of the baseline. It must not be negative.
	Tolerance *float64
	// BaselineStart and BaselineEnd bound the window whose mean is the baseline,
	// both inclusive; open ends mean the run's first bin and the bin before the outage.
	BaselineStart, BaselineEnd Bound
	// Classes are the classes judged, together; nil: all.
	Classes []string
	// MaxBins is the largest number of bins of a window; 0 means 1000.
	MaxBins int
}

// A Recovery says when a node had recovered. If it did not recover, or was never
// impaired, RecoveryTs is nil, the durations are undefined, and a note says why.
type Recovery struct {
	Node            string     `json:"nodeId"`
	BasedOn         Metric     `json:"basedOn"`
	RecoveryTs      *time.Time `json:"recoveryTs"` // the beginning of the first recovered bin
	DurationBins    Value      `json:"durationBins"`
	DurationMinutes Value      `json:"durationMinutes"`
	Notes           string     `json:"notes"` // a sentence, or empty
}

// RecoveryTime measures the time from the start of an outage to the first recovered
// bin after one that was not. Bins where the metric is undefined count neither way.
// Errors are [*WindowError] and [*FieldError].
func (r *Run) RecoveryTime(node string, options *RecoveryOptions) (Recovery, error) {
	o := *cmp.Or(options, &RecoveryOptions{})
	o.BasedOn = cmp.Or(o.BasedOn, Backlog)
	o.Definition = cmp.Or(o.Definition, Zero)
	if err := o.check(); err != nil {
		return Recovery{}, err
	}
	return steadily(r, func(x extent) (Recovery, error) { return r.recoveryTime(x, node, o) })
}

func (o RecoveryOptions) check() error {
	errs := fields.List()
	if !o.BasedOn.known() {
		errs.Wrong("basedOn", string(o.BasedOn), metricNames(Metrics()))
	}
	fitsZero := []Metric{Backlog, Errors, Failures, RetryTax}
	switch {
	case o.Definition != Zero && o.Definition != Baseline:
		errs.Wrong("recoveryDefinition", o.Definition, "zero or baseline")
	case o.Definition == Zero && o.BasedOn.known() && !slices.Contains(fitsZero, o.BasedOn):
		errs.Wrong("basedOn", string(o.BasedOn), "for recovery to zero "+metricNames(fitsZero))
	}
	if o.Tolerance != nil && !(*o.Tolerance >= 0) {
		errs.Wrong("tolerance", *o.Tolerance, "0 or more")
	}
	return errs.Err()
}

func (r *Run) recoveryTime(x extent, node string, o RecoveryOptions) (Recovery, error) {
	q := Query{Nodes: []string{node}, Classes: o.Classes, Start: o.OutageStart, End: o.LookaheadEnd, MaxBins: o.MaxBins}
	w, views, err := r.views(x, q, readingOf(o.BasedOn), false)
	if err != nil {
		return Recovery{}, err
	}
	v := views[0]
	rec := Recovery{Node: node, BasedOn: o.BasedOn, DurationBins: undefined(), DurationMinutes: undefined()}
	recovered, what, err := o.condition(v, w)
	if err != nil {
		return Recovery{}, err
	}
	if recovered == nil {
		rec.Notes = what
		return rec, nil
	}
	rec.judge(v, w, o, recovered, what)
	return rec, nil
}

// condition returns the condition of a recovered value, as a function and in words.
// The function is nil where there is no baseline.
func (o RecoveryOptions) condition(v view, w span) (func(float64) bool, string, error) {
	if o.Definition == Zero {
		tolerance := 0.0
		if o.Tolerance != nil {
			tolerance = *o.Tolerance
		}
		return func(f float64) bool { return f <= tolerance }, fmt.Sprintf("%s at most %v", o.BasedOn,
			Value(tolerance)), nil
	}
	before, err := o.baselineWindow(v.extent, w)
	if err != nil {
		return nil, "", err
	}
	baseline := mean(v.values(o.BasedOn, before))
	if !baseline.Defined() {
		return nil, fmt.Sprintf("no baseline: %s is undefined in all bins %d to %d.", o.BasedOn, before.first,
			before.last), nil
	}
	share := defaultBaselineTolerance
	if o.Tolerance != nil {
		share = *o.Tolerance
	}
	b, slack := float64(baseline), share*float64(baseline)
	switch o.BasedOn {
	case Capacity:
		return func(f float64) bool { return f >= b-slack }, fmt.Sprintf("capacity at least %v", Value(b-slack)), nil
	case Latency, LatencyP95:
		return func(f float64) bool { return f <= b+slack }, fmt.Sprintf("%s at most %v", o.BasedOn,
			Value(b+slack)), nil
	default:
		within := func(f float64) bool { return f >= b-slack && f <= b+slack }
		return within, fmt.Sprintf("%s within %v of %v", o.BasedOn, Value(slack), baseline), nil
	}
}

func (o RecoveryOptions) baselineWindow(x extent, w span) (span, error) {
	if o.BaselineEnd.kind == boundOpen {
		if w.first == x.first {
			return span{}, fields.Because("baselineWindow", nil,
				errors.New("the outage starts in the first bin: nothing was recorded before it"), "")
		}
		o.BaselineEnd = Bin(w.first - 1)
	}
	return Query{Start: o.BaselineStart, End: o.BaselineEnd, MaxBins: o.MaxBins}.window(x)
}

// judge reads the bins in order: impaired first, then recovered, then perhaps
// impaired again.
func (r *Recovery) judge(v view, w span, o RecoveryOptions, recovered func(float64) bool, what string) {
	at, entered, well, relapses := -1, false, true, 0
	for i, value := range v.values(o.BasedOn, w) {
		if !value.Defined() {
			continue
		}
		was := well
		well = recovered(float64(value))
		entered = entered || !well
		if well && entered && at < 0 {
			at = w.first + i
		}
		if was && !well && at >= 0 {
			relapses++
		}
	}
	if !entered {
		r.Notes = fmt.Sprintf("nothing to recover from: %s in every bin %d to %d.", what, w.first, w.last)
		return
	}
	if at < 0 {
		r.Notes = fmt.Sprintf("not recovered by bin %d: never %s after it had not been.", w.last, what)
		return
	}
	start := v.start(at)
	r.RecoveryTs = &start
	r.DurationBins = Value(at - w.first)
	r.DurationMinutes = Value((time.Duration(at-w.first) * v.binSize()).Minutes())
	if relapses > 0 {
		state := "recovered at the end"
		if !well {
			state = "not recovered at the end"
		}
		r.Notes = fmt.Sprintf("flapping: unwell again %d times after the first recovery, %s.", relapses, state)
	}
}

func mean(values []Value) Value {
	var sum float64
	var n int64
	for _, v := range values {
		if v.Defined() {
			sum += float64(v)
			n++
		}
	}
	return ratio(sum, n)
}
