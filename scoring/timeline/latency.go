package timeline

import (
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latencies holds the durations of the served operations of one bin. Up to maxExact
// are kept one by one; beyond that all are in a sparse HDR histogram. Its buckets
// depend on the value alone, so the content depends neither on the order of the
// operations nor on how they were merged. Its size is bounded.
type latencies struct {
	few   []float32 // ns, in no order; all of them while many is nil, else those not yet in many
	many  *hdrhistogram.PackedHistogram
	known int64 // the percentile; valid while fresh
	fresh bool
}

const (
	// With maxExact a million operations in a thousand bins are kept one by one:
	// recording in the histogram costs some ten times as much.
	maxExact = 1024
	// Two significant digits keep a value within 1/128 of the truth.
	sketchDigits = 2
)

func (l *latencies) count() int64 {
	n := int64(len(l.few))
	if l.many != nil {
		n += l.many.TotalCount()
	}
	return n
}

func (l *latencies) add(d time.Duration) {
	if len(l.few) == maxExact {
		l.flush()
	}
	if len(l.few) == cap(l.few) {
		l.few = slices.Grow(l.few, max(8, min(len(l.few), maxExact-len(l.few))))
	}
	l.few = append(l.few, float32(d))
	l.fresh = false
}

// flush moves the values kept one by one into the histogram.
func (l *latencies) flush() {
	if l.many == nil {
		l.many = hdrhistogram.NewPacked(1, math.MaxInt64/2, sketchDigits)
	}
	highest := l.many.HighestTrackableValue()
	slices.Sort(l.few) // the histogram is faster when neighbours share a bucket
	for _, ns := range l.few {
		// A value within the limit is recordable, so there is no error.
		_ = l.many.RecordValue(min(int64(ns), highest))
	}
	l.few = l.few[:0]
}

// merge adds o, without keeping any part of it.
func (l *latencies) merge(o *latencies) {
	if l.many == nil && o.many == nil && len(l.few)+len(o.few) <= maxExact {
		l.few = append(l.few, o.few...)
		l.fresh = false
		return
	}
	l.fresh = false
	l.flush()
	if o.many != nil {
		l.many.Merge(o.many)
	}
	for _, ns := range o.few {
		l.add(time.Duration(ns))
	}
}

// percentile95 returns the nearest-rank 95th percentile in ns; -1 without values.
// It is exact to seven digits while all values are kept, and at most 1/128 too high
// otherwise.
func (l *latencies) percentile95() int64 {
	if !l.fresh {
		l.known, l.fresh = l.percentile(95), true
	}
	return l.known
}

func (l *latencies) percentile(p float64) int64 {
	n := l.count()
	if n == 0 {
		return -1
	}
	rank := min(max(int64(math.Ceil(p/100*float64(n)-rankSlack)), 1), n)
	if l.many != nil {
		l.flush()
		// The histogram rounds p·n/100 to a rank: this p gives the rank itself.
		return l.many.ValueAtPercentile(100 * float64(rank) / float64(n))
	}
	return int64(nth(l.few, int(rank)-1))
}

// rankSlack keeps a whole rank from being rounded up: 0.95·20 is slightly above 19
// in binary.
const rankSlack = 1e-9

// nth reorders a so that a[n] is what it would be in a sorted a, and returns it.
// This is Hoare's selection: it looks at three elements for every one of a, where
// sorting looks at a dozen.
func nth(a []float32, n int) float32 {
	low, high := 0, len(a)-1
	for low < high {
		x, y, z := a[low], a[low+(high-low)/2], a[high]
		pivot := max(min(x, y), min(max(x, y), z)) // the median
		i, j := low, high
		for i <= j {
			for a[i] < pivot {
				i++
			}
			for a[j] > pivot {
				j--
			}
			if i <= j {
				a[i], a[j] = a[j], a[i]
				i++
				j--
			}
		}
		if n <= j {
			high = j
		} else if n >= i {
			low = i
		} else {
			break
		}
	}
	return a[n]
}
