package timeline

import (
	"math/bits"
	"sync"
	"time"
)

// A bin is divided into 64 slots, a bit each, which record when a node was busy.
const (
	slotBits   = 6
	slotsInBin = 1 << slotBits
)

// A bin counts the calls and operations that began and ended in one interval. Every
// field is a sum, a maximum or a union, so bins can be merged field by field in any
// order. That is why widening, merging and reading agree.
type bin struct {
	arrivals, attempts       int64 // began here
	served, errors, failures int64 // ended here
	inflight                 int64 // ns in flight, of calls that do not cover the whole bin
	covering                 int64 // calls that cover the whole bin: the change from the bin before
	busy                     uint64
	latency, slowest         int64 // ns, of operations served here
	latencies                latencies
}

// serve counts a served operation. Only these have a latency: quick failures would
// make a broken node look fast.
func (b *bin) serve(latency time.Duration) {
	b.served++
	b.latency += int64(latency)
	b.slowest = max(b.slowest, int64(latency))
	b.latencies.add(latency)
}

func (b *bin) mergeCounts(o *bin) {
	b.arrivals += o.arrivals
	b.attempts += o.attempts
	b.served += o.served
	b.errors += o.errors
	b.failures += o.failures
	b.inflight += o.inflight
	b.covering += o.covering
	b.busy |= o.busy
	b.latency += o.latency
	b.slowest = max(b.slowest, o.slowest)
}

// settle converts the calls that cover whole bins into time in flight and busy
// slots, in place. Afterwards every bin is complete
// without its neighbours. covering is the number of
// calls that cover the bin before the first.
func settle(bins []bin, slot, covering int64) {
	for i := range bins {
		b := &bins[i]
		covering += b.covering
		b.covering = 0
		if covering > 0 {
			b.inflight += covering * slot * slotsInBin
			b.busy = ^uint64(0)
		}
	}
}

// busyFor returns an upper bound of the time with at least one call in flight: the
// smaller of the sum of the calls' times and the time of the slots they touched.
// The first is exact when calls do not overlap.
func (b *bin) busyFor(slot int64) time.Duration {
	return time.Duration(min(b.inflight, int64(bits.OnesCount64(b.busy))*slot))
}

// A grid is a series of bins. Of the bins before it only the counts are left.
type grid struct {
	slot  int64 // ns; doubles with every widening
	first int64 // the index of bins[0]; above 0 in a live run alone
	bins  []bin // up to the last one in use
	gone  bin   // the counts of the bins before the first
}

// A series holds the bins of the calls of one class from one node to another. Each has
// its own lock, so different calls can be added concurrently.
type series struct {
	edgeKey

	mu sync.Mutex
	grid
	attempts, failures int64 // of all calls that have ended
	rank               int   // of the node type
	open               openOperations
	pending            map[*Pending]struct{}
}

func newSeries(of edgeKey, slot int64) *series {
	return &series{edgeKey: of, grid: grid{slot: slot}, rank: lowestRank}
}

func (s *grid) slotOf(t time.Duration) int64 { return int64(t) / s.slot }

// reach returns the slot of t, and makes room for its bin. If there would be too
// many bins, a live run drops the oldest, and another run widens all.
func (s *series) reach(t time.Duration, o *RunOptions) int64 {
	at := s.slotOf(t)
	if o.Now != nil {
		s.forget(at>>slotBits - int64(o.MaxBins) + 1)
	}
	for at>>slotBits-s.first >= int64(o.MaxBins) {
		s.widen(s.slot * 2)
		at = s.slotOf(t)
	}
	need := int(at>>slotBits-s.first) + 1
	if need > cap(s.bins) {
		room := max(need, 2*len(s.bins), 16)
		if o.Now == nil {
			room = min(room, o.MaxBins)
		} else {
			room = min(room, o.MaxBins+o.MaxBins/4+1) // so that not every dropped bin costs a copy
		}
		grown := make([]bin, len(s.bins), room)
		copy(grown, s.bins)
		s.bins = grown
	}
	if need > len(s.bins) {
		s.bins = s.bins[:need]
	}
	return at
}

// forget drops the bins before the given one, and keeps their counts.
func (s *series) forget(first int64) {
	if first <= s.first {
		return
	}
	n := int(min(first-s.first, int64(len(s.bins))))
	for i := range n {
		s.gone.mergeCounts(&s.bins[i])
		s.gone.busy = 0
	}
	clear(s.bins[:n]) // the rest of the array is still in use
	s.bins = s.bins[n:]
	s.first = first
}

// widen merges neighbouring bins until a slot has the given length.
func (s *series) widen(slot int64) {
	for s.slot < slot {
		settle(s.bins, s.slot, 0)
		half := (len(s.bins) + 1) / 2
		for i := range half {
			s.bins[i] = joined(s.bins, i)
		}
		clear(s.bins[half:])
		s.bins = s.bins[:half]
		s.slot *= 2
	}
}

// joined returns the bin made of bins 2i and 2i+1.
func joined(bins []bin, i int) bin {
	left := bins[2*i]
	left.busy = halve(left.busy)
	if 2*i+1 == len(bins) {
		return left
	}
	right := bins[2*i+1]
	right.busy = halve(right.busy) << (slotsInBin / 2)
	left.mergeCounts(&right)
	left.latencies.merge(&right.latencies)
	return left
}

// halve joins neighbouring slots, so that the 64 slots of a bin become the first
// 32 of one twice as long: or pairs, then gather the even bits.
func halve(slots uint64) uint64 {
	x := (slots | slots>>1) & 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return (x | x>>16) & 0x00000000ffffffff
}

// occupy notes that a call was in flight from start to end, which lie in the slots
// from and to. It takes constant time: the first and the last bin get their part,
// and the bins between count as covered. Bins that were dropped are left out.
func (s *grid) occupy(start, end time.Duration, from, to int64) {
	if kept := s.first << slotBits; from < kept {
		from, start = kept, time.Duration(kept*s.slot)
	}
	if end <= start {
		return
	}
	if int64(end) == to*s.slot {
		to-- // it ended as that slot began
	}
	first, last := from>>slotBits-s.first, to>>slotBits-s.first
	a := &s.bins[first]
	if first == last {
		a.inflight += int64(end - start)
		a.busy |= slotsFrom(from) & slotsTo(to)
		return
	}
	width := s.slot * slotsInBin
	z := &s.bins[last]
	a.inflight += (s.first+first+1)*width - int64(start)
	a.busy |= slotsFrom(from)
	z.inflight += int64(end) - (s.first+last)*width
	z.busy |= slotsTo(to)
	if last > first+1 {
		s.bins[first+1].covering++
		z.covering--
	}
}

// slotsFrom and slotsTo are the slots of a bin from, and up to, the given one.
func slotsFrom(slot int64) uint64 { return ^uint64(0) << (slot & (slotsInBin - 1)) }
func slotsTo(slot int64) uint64   { return ^uint64(0) >> (slotsInBin - 1 - slot&(slotsInBin-1)) }

// binOf returns the index of t among the bins; below 0 if its bin was dropped.
func (s *grid) binOf(t time.Duration) int { return int(s.slotOf(t)>>slotBits - s.first) }

func (s *grid) at(t time.Duration) *bin { return s.inSlot(s.slotOf(t)) }

// inSlot returns the bin of a slot, or the one in place of those that were dropped.
func (s *grid) inSlot(slot int64) *bin {
	if i := slot>>slotBits - s.first; i >= 0 {
		return &s.bins[i]
	}
	return &s.gone
}
