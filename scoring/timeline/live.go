package timeline

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// clock holds the last time that was read in a live run, and counts the calls left
// out because of it.
type clock struct {
	now    atomic.Int64 // since the epoch; it never goes back
	before atomic.Int64
	ahead  atomic.Int64
}

// read reads the clock.
func (c *clock) read(o *RunOptions) time.Duration {
	now := int64(max(0, o.Now().Sub(o.Epoch)))
	for {
		known := c.now.Load()
		if now <= known {
			return time.Duration(known)
		}
		if c.now.CompareAndSwap(known, now) {
			return time.Duration(now)
		}
	}
}

// within reports whether a sample lies before or after the bins of a live run. The
// clock is read at most once a bin.
func (r *Run) within(x *Sample) (before, ahead bool) {
	o := &r.options
	now := time.Duration(r.clock.now.Load())
	if x.End > now+o.BinSize {
		now = r.clock.read(o)
		ahead = x.End > now+o.BinSize
	}
	return int64(x.End/o.BinSize) <= int64(now/o.BinSize)-int64(o.MaxBins), ahead
}

// leavesOut counts a sample that lies outside a live run, and reports whether it does.
func (r *Run) leavesOut(x *Sample) bool {
	if r.options.Now == nil {
		return false
	}
	before, ahead := r.within(x)
	if before {
		r.clock.before.Add(1)
	}
	if ahead {
		r.clock.ahead.Add(1)
	}
	return before || ahead
}

// Outside returns the numbers of calls that a live run left out: those that ended
// before the bins it kept at the time, and those that end more than a bin after
// Now.
func (r *Run) Outside() (before, ahead int64) { return r.clock.before.Load(), r.clock.ahead.Load() }

// Pending is a call in flight; see [Run.Begin].
type Pending struct {
	run    *Run
	series *series // nil: it is not remembered
	sample Sample
	ended  atomic.Bool // it has been counted as ended
}

// maxPending bounds the calls in flight that a series remembers.
const maxPending = 1 << 16

// Begin counts a call from its beginning: as an attempt, as an arrival unless it is
// a retry, as backlog, and as busy time up to now. [Pending.End] then adds how it
// ended. The sample's End and Failed are ignored. An Attempt of 0 means
// unknown: it is the next attempt if the one before failed. Only a live run has a
// clock. In another run, and beyond 65,536 calls in flight from one node to another,
// Begin remembers nothing and End does what [Run.Add] does.
//
// For an invalid sample it returns nil and the problems, each a [*FieldError],
// joined.
func (r *Run) Begin(s Sample) (*Pending, error) {
	s.End = s.Start
	if !s.valid() {
		return nil, s.check()
	}
	p := &Pending{run: r, sample: s}
	if r.options.Now == nil {
		return p, nil
	}
	if before, ahead := r.within(&s); before || ahead {
		return p, nil // End decides whether it counts
	}
	in := r.series(s.edge())
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.pending) >= maxPending {
		return p, nil
	}
	if in.pending == nil {
		in.pending = make(map[*Pending]struct{})
	}
	p.series = in
	in.pending[p] = struct{}{}
	in.rank = min(in.rank, s.Type.rank())
	return p, nil
}

// End counts the ended call as [Run.Add] does. The sample describes the whole call.
// A call counts once: a second End, and End of a nil Pending, return an error.
// After an End with an invalid sample the call is no longer in flight, and may be
// ended again with a valid one.
func (p *Pending) End(s Sample) error {
	if p == nil {
		return errors.New("timeline: the call was not begun")
	}
	if !p.ended.CompareAndSwap(false, true) {
		return errors.New("timeline: the call has ended already")
	}
	if s := p.series; s != nil {
		s.mu.Lock()
		delete(s.pending, p)
		s.mu.Unlock()
	}
	err := p.run.Add(s)
	p.ended.Store(err == nil)
	return err
}

// readPending adds the calls in flight, up to now, to the bins of a view. It
// returns the failed operations that they retry: those have not ended.
func (s *series) readPending(g *grid, now time.Duration) map[operationKey]bool {
	var retried map[operationKey]bool
	end := min(int64(now)/g.slot, (g.first+int64(len(g.bins)))<<slotBits-1)
	for p := range s.pending {
		x := p.sample
		if from := g.slotOf(x.Start); from <= end {
			g.occupy(x.Start, max(x.Start, now), from, end)
		}
		began := g.last()
		if g.binOf(x.Start) < len(g.bins) {
			began = g.at(x.Start)
		}
		began.attempts++
		key := operationKey{x.Lane, x.Key}
		before, open := s.open[key]
		if x.Attempt == 0 && before.end <= x.Start {
			x.Attempt = before.attempt + 1
		}
		if open && !retried[key] && x.Attempt > before.attempt {
			if retried == nil {
				retried = make(map[operationKey]bool)
			}
			retried[key] = true
			continue
		}
		began.arrivals++
	}
	return retried
}

func (g *grid) last() *bin { return &g.bins[len(g.bins)-1] }

// Notes returns, in sentences, the limits of the run: the length its bins grew to,
// the calls that it left out or no longer has, and the calls in flight. It is empty
// where the run is as the options ask.
func (r *Run) Notes() []string {
	notes := slices.Clone(r.options.Notes)
	x := r.extent()
	if size := x.binSize(); size > r.options.BinSize {
		notes = append(notes,
			fmt.Sprintf("Bins last %v instead of %v: the run is longer than %d of those.", size, r.options.BinSize,
				r.options.MaxBins))
	}
	if x.first > 0 {
		notes = append(notes,
			fmt.Sprintf("What happened before %s is no longer kept: a live run has its newest %d bins of %v.",
				x.start(x.first).Format(time.RFC3339Nano), r.options.MaxBins, r.options.BinSize))
	}
	before, ahead := r.Outside()
	if before > 0 {
		notes = append(notes, fmt.Sprintf("%s not counted: ended before the bins that were kept.", calls(before)))
	}
	if ahead > 0 {
		notes = append(notes,
			fmt.Sprintf("%s not counted: ended more than a bin after the clock of the run; the clock of their source is ahead.", calls(ahead)))
	}
	if n := r.Folded(); n > 0 {
		notes = append(notes,
			fmt.Sprintf("%s counted as the node %s: there are more than %d combinations of caller, target and class.",
				calls(n), overflow, r.options.MaxSeries))
	}
	if n := r.InFlight(); n > 0 {
		notes = append(notes,
			fmt.Sprintf("%s in flight: counted as arrivals and backlog, not yet as served or failed.", calls(int64(n))))
	}
	return notes
}

func calls(n int64) string {
	if n == 1 {
		return "1 call is"
	}
	return fmt.Sprintf("%d calls are", n)
}

// InFlight returns the number of calls that have begun and not ended; see
// [Run.Begin].
func (r *Run) InFlight() int {
	n := 0
	for _, s := range r.index.Load().series {
		s.mu.Lock()
		n += len(s.pending)
		s.mu.Unlock()
	}
	return n
}
