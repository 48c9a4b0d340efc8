package timeline

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// openOperations holds the failed operations of a series that may still be retried,
// in bounded memory.
type openOperations map[operationKey]openOperation

type operationKey struct {
	lane string
	key  uint64
}

type openOperation struct {
	start, end time.Duration // of the operation's first attempt, of its last so far
	attempt    int
}

// maxOpen bounds the failed operations that a series remembers. When there are
// more, the half that failed longest ago counts as ended.
const maxOpen = 1024

// maxFaults bounds the different faults that a series counts separately.
const maxFaults = 64

// overflow is the name under which everything beyond a limit is counted.
const overflow = "(other)"

// add counts one attempt. A sample is counted completely when it is added, so there
// is no second pass, and only failed operations are remembered.
func (s *series) add(x *Sample, o *RunOptions) {
	to := s.reach(x.End, o)
	from := s.slotOf(x.Start)
	s.occupy(x.Start, x.End, from, to)
	began, ended := s.at(x.Start), s.at(x.End)
	s.attempts++
	began.attempts++
	start, retried := x.Start, false
	if x.Attempt > 1 || x.Failed {
		start, retried = s.resume(x, o.RetryWithin)
	}
	if !retried {
		began.arrivals++
	}
	if x.Failed {
		s.failures++
		ended.failures++
	}
	switch {
	case !x.Failed:
		ended.serve(x.End - start)
	case x.Final:
		ended.errors++
	default:
		s.suspend(x, start)
	}
	s.rank = min(s.rank, x.Type.rank())
	if x.Fault != "" || x.Rule != "" {
		s.countFault(x)
	}
}

// resume finds the operation that x continues, if any, and removes it from the open
// ones. Any other open operation of the same key has ended by now.
func (s *series) resume(x *Sample, within time.Duration) (start time.Duration, retried bool) {
	key := operationKey{x.Lane, x.Key}
	before, ok := s.open[key]
	if !ok {
		return x.Start, false
	}
	delete(s.open, key)
	if before.continues(x, within) {
		return before.start, true
	}
	s.at(before.end).errors++
	return x.Start, false
}

// continues reports whether a call is the next attempt of the operation.
func (o openOperation) continues(x *Sample, within time.Duration) bool {
	return x.Attempt > o.attempt && (within == 0 || x.Start-o.end <= within)
}

// suspend remembers an operation that failed and may be retried.
func (s *series) suspend(x *Sample, start time.Duration) {
	if s.open == nil {
		s.open = make(openOperations)
	}
	if len(s.open) >= maxOpen {
		s.closeOldest()
	}
	key := operationKey{x.Lane, x.Key}
	s.open[key] = openOperation{start: start, end: x.End, attempt: max(1, x.Attempt)}
}

// closeOldest ends half of the open operations. So the cost of sorting is spread
// over the many that then fit.
func (s *series) closeOldest() {
	keys := slices.SortedFunc(maps.Keys(s.open), func(a, b operationKey) int {
		return cmp.Or(
			cmp.Compare(s.open[a].end, s.open[b].end),
			cmp.Compare(a.lane, b.lane),
			cmp.Compare(a.key, b.key))
	})
	for _, key := range keys[:len(keys)/2] {
		op := s.open[key]
		s.at(op.end).errors++
		delete(s.open, key)
	}
}

// countFault counts a delivered fault in the bin in which its call began.
func (s *series) countFault(x *Sample) {
	key := faultKey{x.Rule, x.Fault}
	if s.faults == nil {
		s.faults = make(map[faultKey][]int64)
	}
	if _, known := s.faults[key]; !known && len(s.faults) >= maxFaults {
		key = faultKey{overflow, overflow}
	}
	if i := s.binOf(x.Start); i >= 0 {
		s.faults[key] = raise(s.faults[key], i, 1)
	}
}

// raise adds n to counts[i], extending it where it is too short.
func raise(counts []int64, i int, n int64) []int64 {
	for len(counts) <= i {
		counts = append(counts, 0)
	}
	counts[i] += n
	return counts
}
