package timeline

import (
	"slices"
	"strings"
	"time"
)

// A Metric is a number that a run has for every node and bin. A call or operation
// that begins counts in the bin in which it begins, one that ends in the bin in
// which it ends.
type Metric string

// The metrics. With B the length of a bin in seconds:
const (
	// Arrivals are the operations that began.
	Arrivals Metric = "arrivals"
	// Served are the operations that succeeded.
	Served Metric = "served"
	// Errors are the operations that failed with their last attempt.
	Errors Metric = "errors"
	// Attempts are the calls that began: operations and their retries.
	Attempts Metric = "attempts"
	// Failures are the calls that failed.
	Failures Metric = "failures"
	// Backlog is the number of operations that have begun and not ended by the end of the bin.
	Backlog Metric = "backlog"
	// Latency is the mean duration of the served operations in ms, with retries and
	// the pauses between them; null where none was served. Operations that failed
	// have no latency.
	Latency Metric = "latency"
	// LatencyP95 is their 95th percentile, in ms: exact up to 1024 operations in
	// the bin, at most 1/128 too high beyond; null where none was served.
	LatencyP95 Metric = "latencyP95"
	// Busy is the time with at least one call in flight, in seconds, 0 to B.
	Busy Metric = "busy"
	// Capacity is served/busy, in operations a busy second: 0 where the node was
	// busy and served nothing, null where it was idle.
	Capacity Metric = "capacity"
	// Utilization is busy/B, 0 to 1.
	Utilization Metric = "utilization"
	// ThroughputRatio is served/arrivals; null where nothing arrived.
	ThroughputRatio Metric = "throughputRatio"
	// RetryTax is failures/attempts; null where nothing was attempted.
	RetryTax Metric = "retryTax"
)

// Metrics returns all metrics, in the order of their documentation.
func Metrics() []Metric {
	return []Metric{Arrivals, Served, Errors, Attempts, Failures, Backlog, Latency, LatencyP95,
		Busy, Capacity, Utilization, ThroughputRatio, RetryTax}
}

func checkMetrics(asked []Metric) ([]Metric, error) {
	if len(asked) == 0 {
		return Metrics(), nil
	}
	for _, m := range asked {
		if !m.known() {
			return nil, fields.Wrong("metric", string(m), metricNames(Metrics()))
		}
	}
	return asked, nil
}

func (m Metric) known() bool {
	return slices.Contains(Metrics(), m)
}

func metricNames(ms []Metric) string {
	names := make([]string, len(ms))
	for i, m := range ms {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}

// values returns a metric for each bin of a window.
func (v view) values(m Metric, w span) []Value {
	values := make([]Value, w.bins())
	if m == Backlog {
		backlog := v.gone.arrivals - v.gone.served - v.gone.errors
		for i := v.first; i <= w.last; i++ {
			b := v.bin(i)
			backlog += b.arrivals - b.served - b.errors
			if i >= w.first {
				values[i-w.first] = Value(backlog)
			}
		}
		return values
	}
	if m == LatencyP95 {
		for i := range values {
			values[i] = milliseconds(v.p95[w.first-v.first+i], v.bin(w.first+i).slowest)
		}
		return values
	}
	for i := range values {
		values[i] = v.bin(w.first+i).value(m, v.slot)
	}
	return values
}

// value computes a metric from the counts of the bin: any but the backlog and the
// percentile.
func (b *bin) value(m Metric, slot int64) Value {
	width := time.Duration(slot * slotsInBin)
	switch m {
	case Arrivals:
		return Value(b.arrivals)
	case Served:
		return Value(b.served)
	case Errors:
		return Value(b.errors)
	case Attempts:
		return Value(b.attempts)
	case Failures:
		return Value(b.failures)
	case Latency:
		return ratio(float64(b.latency)/float64(time.Millisecond), b.served)
	case Busy:
		return Value(b.busyFor(slot).Seconds())
	case Capacity:
		return ratio(b.served, b.busyFor(slot).Seconds())
	case Utilization:
		return Value(float64(b.busyFor(slot)) / float64(width))
	case ThroughputRatio:
		return ratio(b.served, b.arrivals)
	case RetryTax:
		return ratio(b.failures, b.attempts)
	default:
		return undefined()
	}
}

// milliseconds converts a percentile in ns. The slowest latency is known exactly,
// and no percentile is above it.
func milliseconds(ns, slowest int64) Value {
	if ns < 0 {
		return undefined()
	}
	return Value(float64(min(ns, slowest)) / float64(time.Millisecond))
}

// total returns the bins of a window merged into one.
func (v view) total(w span) *bin {
	sum := new(bin)
	for i := w.first; i <= w.last; i++ {
		sum.mergeCounts(v.bin(i))
	}
	return sum
}
