package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// RunOptions are the settings of [NewRun]: the bins and the bounds of a run. The
// zero value, and nil, give the defaults.
type RunOptions struct {
	_ struct{}
	// Epoch is the wall-clock time of offset 0, where bin 0 begins. The zero
	// value means 1970-01-01T00:00:00Z.
	Epoch time.Time
	// BinSize is the initial length of a bin, in whole milliseconds; 0 means a
	// second. A run that outgrows MaxBins doubles it as often as needed. A live run
	// does not.
	BinSize time.Duration
	// Now is the clock of a live run, by which its samples are measured. A live run
	// keeps the length of its bins, and the newest MaxBins of them, up to Now. A
	// call that ended before those bins, or that ends more than a bin after Now, is
	// not counted; [Run.Outside] says how many there were. nil: the run is not
	// live, and keeps everything from the epoch on.
	Now func() time.Time
	// MaxBins bounds the bins of a run, 2 to 1,048,576; 0 means 1000.
	MaxBins int
	// MaxSeries bounds the combinations of caller, target and class; 0 means 1000.
	// Samples of further ones count for the node "(other)"; [Run.Folded] says how
	// many there were.
	MaxSeries int
	// Notes are remarks about the samples; [Run.Notes] begins with them.
	Notes []string
}

const (
	defaultMaxBins   = 1000
	defaultMaxSeries = 1000
	largestMaxBins   = 1 << 20
)

func (o *RunOptions) withDefaults() (RunOptions, error) {
	o = cmp.Or(o, &RunOptions{})
	c := *o
	if c.Epoch.IsZero() {
		c.Epoch = time.Unix(0, 0)
	}
	c.Epoch = c.Epoch.UTC().Round(0)
	c.BinSize = cmp.Or(c.BinSize, time.Second)
	c.MaxBins = cmp.Or(c.MaxBins, defaultMaxBins)
	c.MaxSeries = cmp.Or(c.MaxSeries, defaultMaxSeries)
	errs := fields.List()
	errs.Demand(c.BinSize >= 0 && c.BinSize%time.Millisecond == 0, "binSize", c.BinSize,
		"a positive whole number of milliseconds")
	errs.Demand(c.MaxBins >= 2 && c.MaxBins <= largestMaxBins, "maxBins", c.MaxBins,
		fmt.Sprintf("2 to %d", largestMaxBins))
	errs.Demand(c.MaxSeries >= 0, "maxSeries", c.MaxSeries, "0 or more")
	return c, errs.Err()
}

// A Run aggregates the calls of one session or cell: bins of counters and latencies
// for every caller, node and class. Its memory depends on the bins, on those names and
// on the spread of latencies, not on the number of samples.
//
// All methods are safe for concurrent use. Answers reflect the samples whose Add
// has returned. Make a Run with [NewRun]; the zero value is not usable.
type Run struct {
	options RunOptions
	index   atomic.Pointer[index] // replaced as a whole, so that Add reads it without a lock
	mu      sync.Mutex            // held to replace the index
	clock   clock                 // of a live run
}

// An index is immutable.
type index struct{ series map[edgeKey]*series }

// An edgeKey names the calls of one class from one node to another.
type edgeKey struct{ caller, target, class string }

// NewRun makes an empty run. The error joins every problem of the options, each an
// [*FieldError].
func NewRun(o *RunOptions) (*Run, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Run{options: options}
	r.index.Store(&index{})
	return r, nil
}

// Add counts one call. An invalid sample is not counted; the error joins its
// problems, each a [*FieldError].
//
// A sample is joined to an operation when it is added. So the samples of one
// operation must be added in the order of their attempts. All others may come in
// any order, from any goroutine. A retry whose earlier attempt is unknown counts as
// an operation of its own. That is so where the earlier attempt is added later,
// or lies before the run. It is also so where it was forgotten: for each caller, node
// and class the latest 512 to 1024 failed operations are remembered.
func (r *Run) Add(s Sample) error {
	if !s.valid() {
		return s.check()
	}
	if r.leavesOut(&s) {
		return nil
	}
	e := r.series(s.edge())
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(&s, &r.options)
	return nil
}

// maxReported bounds the problems that AddAll reports separately.
const maxReported = 16

// AddAll adds each sample in turn, as Add does. Invalid samples are left out. The
// error joins them: the first 16 each with its index, the rest as a number.
func (r *Run) AddAll(samples []Sample) error {
	errs := fields.ListUpTo(maxReported)
	b := batch{run: r, turn: 1}
	defer b.release()
	for i := range samples {
		switch x := &samples[i]; {
		case !x.valid():
			errs.Add(fmt.Errorf("samples[%d]: %w", i, x.check()))
		case !r.leavesOut(x):
			b.series(x).add(x, &r.options)
		}
	}
	return errs.Err()
}

func (s *Sample) edge() edgeKey {
	return edgeKey{cmp.Or(s.Caller, defaultCaller), s.Target, s.Class}
}

// series finds or makes the series of a call. Beyond MaxSeries it returns that of the
// overflow.
func (r *Run) series(key edgeKey) *series {
	if s := r.index.Load().series[key]; s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.index.Load().series
	if s := known[key]; s != nil {
		return s
	}
	if len(known) >= r.options.MaxSeries {
		key = overflowEdge()
		if s := known[key]; s != nil {
			return s
		}
	}
	s := newSeries(key, int64(r.options.BinSize)/slotsInBin)
	next := map[edgeKey]*series{key: s}
	maps.Copy(next, known)
	r.index.Store(&index{next})
	return s
}

// where returns the series whose key matches, in the order of their keys.
func (ix *index) where(match func(edgeKey) bool) []*series {
	var found []*series
	for key, s := range ix.series {
		if match(key) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *series) int {
		return cmp.Or(cmp.Compare(a.caller, b.caller), cmp.Compare(a.target, b.target), cmp.Compare(a.class, b.class))
	})
	return found
}

// callsTo matches the calls to a node, of the given classes (nil: all).
func callsTo(node string, classes []string) func(edgeKey) bool {
	return func(k edgeKey) bool { return k.target == node && ofClass(k, classes) }
}

func ofClass(k edgeKey, classes []string) bool {
	return classes == nil || slices.Contains(classes, k.class)
}

// Epoch returns the wall-clock time at which bin 0 begins, in UTC.
func (r *Run) Epoch() time.Time { return r.options.Epoch }

// BinSize returns the present length of a bin: that of the options, doubled each
// time that a run that is not live outgrew its bins.
func (r *Run) BinSize() time.Duration { return time.Duration(r.extent().slot * slotsInBin) }

// Bins returns one more than the index of the last bin: that of the last call, or
// the present bin of a live run. 0 means that there are no samples.
func (r *Run) Bins() int { return r.extent().bins }

// Folded returns the number of samples that count for the node "(other)".
func (r *Run) Folded() int64 {
	s := r.index.Load().series[overflowEdge()]
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempts
}

func overflowEdge() edgeKey { return edgeKey{overflow, overflow, overflow} }
