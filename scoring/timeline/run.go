package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// RunOptions say how finely a run is kept. The zero value, and nil, work.
type RunOptions struct {
	_ struct{}
	// Epoch is the wall-clock time of offset 0, where bin 0 begins. The zero
	// value means 1970-01-01T00:00:00Z.
	Epoch time.Time
	// BinSize is the length of a bin at first, in whole milliseconds; 0 means a
	// second. A run that outgrows MaxBins doubles it, as often as needed, unless
	// it is live.
	BinSize time.Duration
	// Now makes the run a live one: it is the clock that the samples are measured
	// by. Bins then keep their size, and the newest MaxBins of them, up to Now,
	// are kept. A call that ended before those, or that ends more than a bin
	// after Now, is not counted: [Run.Outside] says how many were. nil: the run
	// is a recording, which keeps everything from the epoch on.
	Now func() time.Time
	// MaxBins bounds the bins of a run, 2 to 1,048,576; 0 means 1000.
	MaxBins int
	// MaxSeries bounds the different combinations of caller, target and class;
	// 0 means 1000. Beyond it all are counted as the one node "(other)", and
	// [Run.Folded] says how many samples were.
	MaxSeries int
	// Notes are what is known of the samples beforehand; [Run.Notes] begins with them.
	Notes []string
	// RetryWithin is the longest pause between a failed attempt and the next of
	// the same operation; a later one begins another operation. 0: no limit.
	RetryWithin time.Duration
}

const (
	defaultMaxBins   = 1000
	defaultMaxSeries = 1000
	largestMaxBins   = 1 << 20
)

func (o *RunOptions) withDefaults() (RunOptions, error) {
	if o == nil {
		o = &RunOptions{}
	}
	c := *o
	if c.Epoch.IsZero() {
		c.Epoch = time.Unix(0, 0)
	}
	c.Epoch = c.Epoch.UTC().Round(0)
	c.BinSize = orDefault(c.BinSize, time.Second)
	c.MaxBins = orDefault(c.MaxBins, defaultMaxBins)
	c.MaxSeries = orDefault(c.MaxSeries, defaultMaxSeries)
	var errs []error
	if c.BinSize < 0 || c.BinSize%time.Millisecond != 0 {
		errs = append(errs, &InputError{"binSize", c.BinSize, "must be a positive whole number of milliseconds"})
	}
	if c.MaxBins < 2 || c.MaxBins > largestMaxBins {
		errs = append(errs, &InputError{"maxBins", c.MaxBins, fmt.Sprintf("must be 2 to %d", largestMaxBins)})
	}
	if c.MaxSeries < 0 {
		errs = append(errs, &InputError{"maxSeries", c.MaxSeries, "must not be negative"})
	}
	if c.RetryWithin < 0 {
		errs = append(errs, &InputError{"retryWithin", c.RetryWithin, "must not be negative"})
	}
	return c, errors.Join(errs...)
}

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// A Run is one recorded session or cell, aggregated: bins of counters and
// latencies for every node and class, and the calls between the nodes. Its
// memory depends on the bins, nodes, classes and spread of latencies, never on the
// number of samples.
//
// All methods are safe for concurrent use; answers reflect the samples whose
// Add has returned. Make one with [NewRun]; the zero value is not usable.
type Run struct {
	options RunOptions
	index   atomic.Pointer[index] // replaced whole, so that adding reads it without a lock
	mu      sync.Mutex            // held to replace the index
	clock   clock                 // of a live run
}

// An index is immutable.
type index struct {
	edges  map[edgeKey]*edge
	series map[seriesKey]*series
}

type edgeKey struct{ caller, target, class string }

type seriesKey struct{ node, class string }

// An edge counts the calls of one caller to one node and class, guarded by the
// lock of the node's series.
type edge struct {
	*series
	attempts, failures int64
	pending            int64 // calls in flight, which are not among the attempts
}

// NewRun makes an empty run, or says what is wrong with the options.
func NewRun(o *RunOptions) (*Run, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Run{options: options}
	r.index.Store(&index{})
	return r, nil
}

// Add counts one call. An invalid sample is not counted, and the error, made of
// [*InputError], says why.
//
// A sample is joined to an operation when it is added. So the samples of one
// operation must be added in the order of their attempts; all others may come in
// any order, from any goroutine. A retry whose earlier attempt is not known,
// because it came later, before the run or in another part of a merge, counts as
// an operation of its own. So does one whose earlier attempt was forgotten: a
// node and class remember the latest 512 to 1024 failed operations.
func (r *Run) Add(s Sample) error {
	if !s.valid() {
		return s.check()
	}
	if r.leavesOut(&s) {
		return nil
	}
	e := r.edge(s.edge())
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count(&s)
	e.series.add(&s, &r.options)
	return nil
}

// maxReported bounds the problems that AddAll reports one by one.
const maxReported = 16

// AddAll is Add for each sample in turn. Invalid samples are left out and
// reported, joined: the first 16 each with its index, the rest as a number.
func (r *Run) AddAll(samples []Sample) error {
	var errs []error
	invalid := 0
	b := batch{run: r, turn: 1}
	defer b.release()
	for i := range samples {
		x := &samples[i]
		if x.valid() {
			if r.leavesOut(x) {
				continue
			}
			e := b.edge(x)
			e.count(x)
			e.series.add(x, &r.options)
			continue
		}
		if invalid++; invalid <= maxReported {
			errs = append(errs, fmt.Errorf("samples[%d]: %w", i, x.check()))
		}
	}
	if invalid > maxReported {
		errs = append(errs, fmt.Errorf("timeline: %d more invalid samples", invalid-maxReported))
	}
	return errors.Join(errs...)
}

func (s *Sample) edge() edgeKey {
	return edgeKey{cmp.Or(s.Caller, defaultCaller), s.Target, s.Class}
}

func (e *edge) count(x *Sample) {
	e.attempts++
	if x.Failed {
		e.failures++
	}
}

// edge finds or makes the edge of a call, or that of the overflow where there is
// no room for another.
func (r *Run) edge(key edgeKey) *edge {
	if e := r.index.Load().edges[key]; e != nil {
		return e
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ix := r.index.Load()
	if e := ix.edges[key]; e != nil {
		return e
	}
	if len(ix.edges) >= r.options.MaxSeries {
		key = overflowEdge()
		if e := ix.edges[key]; e != nil {
			return e
		}
	}
	return r.insert(ix, key)
}

// insert replaces the index by one that has the edge too.
func (r *Run) insert(ix *index, key edgeKey) *edge {
	next := &index{edges: maps.Clone(ix.edges), series: ix.series}
	if next.edges == nil {
		next.edges = make(map[edgeKey]*edge)
	}
	of := seriesKey{key.target, key.class}
	s := ix.series[of]
	if s == nil {
		s = newSeries(of, int64(r.options.BinSize)/slotsInBin)
		next.series = maps.Clone(ix.series)
		if next.series == nil {
			next.series = make(map[seriesKey]*series)
		}
		next.series[of] = s
	}
	e := &edge{series: s}
	next.edges[key] = e
	r.index.Store(next)
	return e
}

// Merge adds what other holds to r; other is unchanged. Merging the parts of a
// run gives the run itself, provided that the attempts of each operation are in
// one part. Calls in flight stay with other. Both must have the same Epoch and BinSize, else an [*InputError] is
// returned and r is unchanged.
func (r *Run) Merge(other *Run) error {
	a, b := &r.options, &other.options
	if !a.Epoch.Equal(b.Epoch) {
		return &InputError{"epoch", b.Epoch.Format(time.RFC3339Nano), "must be that of the run merged into, " + a.Epoch.Format(time.RFC3339Nano)}
	}
	if a.BinSize != b.BinSize {
		return &InputError{"binSize", b.BinSize, fmt.Sprintf("must be that of the run merged into, %v", a.BinSize)}
	}
	ix := other.index.Load()
	copies := make(map[*series]*series, len(ix.series))
	for _, s := range ix.series {
		copies[s] = s.copy()
	}
	homes := make(map[*series]*series, len(ix.series))
	// In a fixed order, so that the same runs are folded in the same way.
	for _, key := range sortedEdges(ix.edges) {
		from := ix.edges[key]
		to := r.mergeEdge(key, from)
		if homes[from.series] == nil || to.node == from.node {
			homes[from.series] = to.series
		}
	}
	for s, home := range homes {
		if copies[s] == nil { // added to other since the copies were made
			continue
		}
		home.mu.Lock()
		home.merge(copies[s], a)
		home.mu.Unlock()
	}
	return nil
}

func (r *Run) mergeEdge(key edgeKey, from *edge) *edge {
	from.mu.Lock()
	attempts, failures := from.attempts, from.failures
	from.mu.Unlock()
	to := r.edge(key)
	to.mu.Lock()
	defer to.mu.Unlock()
	to.attempts += attempts
	to.failures += failures
	return to
}

func sortedEdges(edges map[edgeKey]*edge) []edgeKey {
	return slices.SortedFunc(maps.Keys(edges), func(a, b edgeKey) int { return a.compare(b) })
}

// Epoch is the wall-clock time at which bin 0 begins, in UTC.
func (r *Run) Epoch() time.Time { return r.options.Epoch }

// BinSize is the present length of a bin: that of the options, doubled as often
// as a run that is not live outgrew its bins.
func (r *Run) BinSize() time.Duration { return time.Duration(r.extent().slot * slotsInBin) }

// Bins is one more than the index of the last bin: that in which the last call
// was seen, or of a live run the present one. 0: there are no samples.
func (r *Run) Bins() int { return r.extent().bins }

// Folded counts the samples that were counted as the node "(other)".
func (r *Run) Folded() int64 {
	e := r.index.Load().edges[overflowEdge()]
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.attempts
}

func overflowEdge() edgeKey { return edgeKey{overflow, overflow, overflow} }
