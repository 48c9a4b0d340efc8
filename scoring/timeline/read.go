package timeline

import (
	"errors"
	"slices"
	"time"

	"github.com/shakedown-go/shakedown/internal/text"
)

// An extent describes the bins at the moment of a query.
type extent struct {
	epoch   time.Time
	slot    int64         // ns
	first   int           // the first that is kept; above 0 in a live run alone
	bins    int           // one more than the last
	now     time.Duration // since the epoch, of a live run
	present int           // the bin of now, which is not over; -1 in another run
}

// extent returns the extent of the coarsest series. The other series are widened as
// they are read.
func (r *Run) extent() extent {
	x := extent{epoch: r.options.Epoch, slot: int64(r.options.BinSize) / slotsInBin, present: -1}
	ix := r.index.Load()
	if r.options.Now != nil && len(ix.series) > 0 {
		x.now = r.clock.read(&r.options)
		x.present = int(x.now / x.binSize()) // the bins of a live run keep their length
		x.bins = x.present + 1
	}
	for _, s := range ix.series {
		s.mu.Lock()
		x.slot = max(x.slot, s.slot)
		s.mu.Unlock()
	}
	for _, s := range ix.series {
		s.mu.Lock()
		// A series may have been widened since; then its bins are fewer, never more.
		bins := int(s.first) + len(s.bins)
		for slot := s.slot; slot < x.slot; slot *= 2 {
			bins = (bins + 1) / 2
		}
		s.mu.Unlock()
		x.bins = max(x.bins, bins)
	}
	if r.options.Now != nil {
		x.first = max(0, x.bins-r.options.MaxBins)
	}
	return x
}

func (x extent) binSize() time.Duration { return time.Duration(x.slot * slotsInBin) }

// over reports whether a bin has ended. In the present one, operations that arrived may
// still be served, and calls in flight may still end.
func (x extent) over(bin int) bool { return x.present < 0 || bin < x.present }

// start returns the time at which a bin begins.
func (x extent) start(bin int) time.Time { return x.epoch.Add(time.Duration(bin) * x.binSize()) }

func (x extent) resolve(b Bound, open int) int {
	switch b.kind {
	case boundBin:
		return b.bin
	case boundTime:
		return max(x.first, int(max(0, b.time.Sub(x.epoch))/x.binSize()))
	default:
		return open
	}
}

// BinAt returns the index of the bin that a bound means, at the present length of a
// bin. It may lie after the last recorded bin. It is -1 for an open bound.
func (r *Run) BinAt(b Bound) int { return r.extent().resolve(b, -1) }

// A view is a copy of the bins of some calls over the whole run, so that a backlog
// can be summed from the beginning. Each bin is complete without its neighbours.
type view struct {
	extent
	node  string  // that was called, or made the calls
	class string  // of the calls; "": those of several together
	empty bool    // there are no such calls
	kept  []bin   // from extent.first on
	gone  bin     // the counts of those before
	p95   []int64 // of the latencies of each bin, where they are wanted
}

// A reading says which latencies a view has.
type reading uint8

const (
	counts      reading = iota // none
	percentiles                // the 95th percentile of each bin
)

// bin returns the bin with an index.
func (v *view) bin(i int) *bin { return &v.kept[i-v.first] }

// nodes returns the names of all nodes that were called, sorted.
func (ix *index) nodes() []string {
	var names []string
	for key := range ix.series {
		names = append(names, key.target)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// errMoved ends a read whose bins were widened or dropped meanwhile.
var errMoved = errors.New("timeline: bins were widened or dropped meanwhile")

// steadily repeats ask while bins are widened or dropped meanwhile. The loop ends:
// each widening doubles the bins, and a bin is dropped only once in its length.
func steadily[T any](r *Run, ask func(extent) (T, error)) (T, error) {
	for {
		answer, err := ask(r.extent())
		if err != errMoved {
			return answer, err
		}
	}
}

// view reads the calls to a node, the given classes together (nil: all).
func (r *Run) view(x extent, node string, classes []string, want reading) (view, error) {
	return r.viewOf(x, node, callsTo(node, classes), want)
}

// viewOf reads the calls that match together.
func (r *Run) viewOf(x extent, node string, match func(edgeKey) bool, want reading) (view, error) {
	all := r.index.Load().where(match)
	v := view{extent: x, node: node, empty: len(all) == 0, kept: make([]bin, x.bins-x.first)}
	if want == percentiles {
		v.p95 = slices.Repeat([]int64{new(latencies).percentile95()}, len(v.kept))
	}
	for _, s := range all {
		if err := s.readInto(&v, want, len(all) == 1); err != nil {
			return v, err
		}
	}
	settle(v.kept, x.slot, v.gone.covering)
	if len(all) > 1 {
		for i := range v.p95 {
			v.p95[i] = v.kept[i].latencies.percentile95()
		}
	}
	return v, nil
}

// views returns the window of a query and reads its nodes, its classes together or apart.
func (r *Run) views(x extent, q Query, want reading, apart bool) (span, []view, error) {
	w, err := q.window(x)
	if err != nil {
		return span{}, nil, err
	}
	ix := r.index.Load()
	nodes, err := ix.checkNodes(q.Nodes)
	if err != nil {
		return span{}, nil, err
	}
	if err := ix.checkClasses(q.Classes); err != nil {
		return span{}, nil, err
	}
	groups := [][]string{q.Classes}
	if apart = apart && q.Classes != nil; apart {
		groups = slices.Collect(slices.Chunk(q.Classes, 1))
	}
	var views []view
	for _, node := range nodes {
		for _, classes := range groups {
			v, err := r.view(x, node, classes, want)
			if err != nil {
				return span{}, nil, err
			}
			if apart {
				v.class = classes[0]
			}
			if !apart || !v.empty {
				views = append(views, v)
			}
		}
	}
	return w, views, nil
}

// lockAt locks the series with slots of the extent's length, from its first bin on.
func (s *series) lockAt(x extent) error {
	s.mu.Lock()
	s.widen(x.slot)
	s.forget(int64(x.first))
	if s.slot > x.slot || s.first > int64(x.first) {
		s.mu.Unlock()
		return errMoved
	}
	return nil
}

// readInto adds the series to the view. Failed operations that have not been
// retried so far count as errors. The percentiles of a series that is alone are taken in place,
// which costs least.
func (s *series) readInto(v *view, want reading, alone bool) error {
	if err := s.lockAt(v.extent); err != nil {
		return err
	}
	defer s.mu.Unlock()
	g := grid{slot: s.slot, first: s.first, bins: v.kept, gone: v.gone}
	n := min(len(s.bins), len(v.kept))
	for i := range n {
		g.bins[i].mergeCounts(&s.bins[i])
		if want == percentiles && alone {
			v.p95[i] = s.bins[i].latencies.percentile95()
		} else if want == percentiles {
			g.bins[i].latencies.merge(&s.bins[i].latencies)
		}
	}
	g.gone.mergeCounts(&s.gone)
	retried := s.readPending(&g, v.now)
	for key, op := range s.open {
		if i := s.binOf(op.end); i < n && !retried[key] {
			g.at(op.end).errors++
		}
	}
	v.gone = g.gone
	return nil
}

// distribution merges the latencies of a window.
func (r *Run) distribution(v view, classes []string, w span) (*latencies, error) {
	sum := new(latencies)
	for _, s := range r.index.Load().where(callsTo(v.node, classes)) {
		if err := s.lockAt(v.extent); err != nil {
			return nil, err
		}
		for i := w.first - v.first; i <= w.last-v.first && i < len(s.bins); i++ {
			sum.merge(&s.bins[i].latencies)
		}
		s.mu.Unlock()
	}
	return sum, nil
}

// checkNodes rejects the names of nodes that the run does not have.
func (ix *index) checkNodes(nodes []string) ([]string, error) {
	known := ix.nodes()
	if nodes == nil {
		return known, nil
	}
	for _, node := range nodes {
		if _, found := slices.BinarySearch(known, node); !found {
			return nil, fields.Wrong("nodeId", node, "a node that was called: "+text.Some(known, fewNames))
		}
	}
	return nodes, nil
}

func (ix *index) checkClasses(classes []string) error {
	for _, class := range classes {
		known := false
		for key := range ix.series {
			known = known || key.class == class
		}
		if !known {
			return fields.Wrong("classId", class, "a class of this run")
		}
	}
	return nil
}

// fewNames bounds the names that an error lists.
const fewNames = 8
