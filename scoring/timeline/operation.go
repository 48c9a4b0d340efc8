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

// overflow is the name under which everything beyond a limit is counted.
const overflow = "(other)"

// add counts one attempt. A sample is counted completely when it is added, so there
// is no second pass, and only failed operations are remembered.
func (s *series) add(x *Sample, o *RunOptions) {
	to := s.reach(x.End, o)
	from := s.slotOf(x.Start)
	s.occupy(x.Start, x.End, from, to)
	began, ended := s.inSlot(from), s.inSlot(to)
	s.attempts++
	began.attempts++
	start, retried := x.Start, false
	if x.Attempt > 1 || x.Failed {
		start, retried = s.resume(x)
	}
	if !retried {
		began.arrivals++
	}
	if x.Failed {
		s.failures++
		ended.failures++
	}
	if x.Failed {
		s.suspend(x, start)
	} else {
		ended.serve(x.End - start)
	}
	s.rank = min(s.rank, x.Type.rank())
}

// resume finds the operation that x continues, if any, and removes it from the open
// ones. Any other open operation of the same key has ended by now.
func (s *series) resume(x *Sample) (start time.Duration, retried bool) {
	key := operationKey{x.Lane, x.Key}
	before, ok := s.open[key]
	if !ok {
		return x.Start, false
	}
	delete(s.open, key)
	if x.Attempt > before.attempt {
		return before.start, true
	}
	s.at(before.end).errors++
	return x.Start, false
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
