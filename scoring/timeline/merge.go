package timeline

import (
	"cmp"
	"maps"
	"slices"
)

func (k edgeKey) compare(o edgeKey) int {
	return cmp.Or(
		cmp.Compare(k.caller, o.caller),
		cmp.Compare(k.target, o.target),
		cmp.Compare(k.class, o.class))
}

// copy returns a series that shares nothing with s.
func (s *series) copy() *series {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := newSeries(seriesKey{s.node, s.class}, s.slot)
	c.rank, c.open, c.first, c.gone = s.rank, maps.Clone(s.open), s.first, s.gone.clone()
	c.bins = make([]bin, len(s.bins))
	for i := range s.bins {
		c.bins[i] = s.bins[i].clone()
	}
	c.faults = make(map[faultKey][]int64, len(s.faults))
	for key, counts := range s.faults {
		c.faults[key] = slices.Clone(counts)
	}
	return c
}

// merge adds o to s, after which o must not be used. The caller holds the lock of
// s.
func (s *series) merge(o *series, options *RunOptions) {
	s.widen(o.slot)
	o.widen(s.slot)
	if options.Now != nil {
		s.forget(max(o.first, o.first+int64(len(o.bins)-options.MaxBins)))
		o.forget(s.first)
	}
	for len(o.bins) > options.MaxBins {
		s.widen(s.slot * 2)
		o.widen(s.slot)
	}
	s.gone.mergeCounts(&o.gone)
	if n := len(o.bins); n > len(s.bins) {
		s.bins = append(s.bins, make([]bin, n-len(s.bins))...)
	}
	for i := range o.bins {
		s.bins[i].merge(&o.bins[i])
	}
	s.rank = min(s.rank, o.rank)
	s.mergeFaults(o)
	s.mergeOpen(o)
}

func (s *series) mergeFaults(o *series) {
	if s.faults == nil {
		s.faults = make(map[faultKey][]int64)
	}
	for _, key := range slices.SortedFunc(maps.Keys(o.faults), faultKey.compare) {
		to := key
		if _, known := s.faults[key]; !known && len(s.faults) >= maxFaults {
			to = faultKey{overflow, overflow}
		}
		for i, n := range o.faults[key] {
			s.faults[to] = raise(s.faults[to], i, n)
		}
	}
}

func (k faultKey) compare(o faultKey) int {
	return cmp.Or(cmp.Compare(k.rule, o.rule), cmp.Compare(k.fault, o.fault))
}

// mergeOpen keeps the later of two open operations of one key. The earlier one has
// ended, because the later one followed it.
func (s *series) mergeOpen(o *series) {
	if s.open == nil {
		s.open = make(openOperations)
	}
	for key, theirs := range o.open {
		ours, both := s.open[key]
		if both && ours.end > theirs.end {
			ours, theirs = theirs, ours
		}
		if both {
			s.at(ours.end).errors++
		}
		s.open[key] = theirs
	}
	for len(s.open) > maxOpen {
		s.closeOldest()
	}
}
