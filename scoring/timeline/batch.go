package timeline

import "slices"

// A batch adds many samples with few look-ups and few lock operations. It remembers
// the series it saw last, and keeps their locks for a while.
type batch struct {
	run    *Run
	recent [64]struct {
		caller, target, class string
		series                *series
		turn                  int // the series is locked while this is the batch's turn
	}
	held []*series
	turn int
	left int // samples until the locks are released
}

// maxLocked bounds the samples for which a batch keeps its locks, and so the time that
// others wait for them.
const maxLocked = 256

// series returns the series of a sample, locked.
func (b *batch) series(x *Sample) *series {
	if b.left--; b.left <= 0 {
		b.release()
	}
	n := len(x.Target)
	// Comparing equal strings is quicker than hashing them whole.
	slot := &b.recent[(n*7+int(x.Target[n-1])+int(x.Target[n/2])*3+len(x.Caller)*5+len(x.Class))%len(b.recent)]
	if slot.series == nil || slot.target != x.Target || slot.caller != x.Caller || slot.class != x.Class {
		slot.caller, slot.target, slot.class = x.Caller, x.Target, x.Class
		slot.series, slot.turn = b.run.series(x.edge()), 0
	}
	if slot.turn != b.turn {
		b.hold(slot.series)
		slot.turn = b.turn
	}
	return slot.series
}

// hold locks a series. It does not wait for a lock while it holds one, so two
// batches cannot wait for each other.
func (b *batch) hold(s *series) {
	if slices.Contains(b.held, s) {
		return
	}
	if !s.mu.TryLock() {
		b.release()
		s.mu.Lock()
	}
	b.held = append(b.held, s)
}

func (b *batch) release() {
	for _, s := range b.held {
		s.mu.Unlock()
	}
	b.held = b.held[:0]
	b.turn++ // turns count from 1, so a slot with turn 0 is not locked
	b.left = maxLocked
}
