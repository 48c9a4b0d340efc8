package chaos

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// End ends the cell. It closes the injector, as [Injector.Close] does, and gives each
// call that is under way and would leave an event that event now, in the order in which the
// calls began: with [OutcomeOpen], and delivered by what holds it or reached it so far.
//
// End reads the clock, so in a testing/synctest bubble it must be called from that bubble.
// It ends no wait; [Injector.Disarm] does.
func (in *Injector) End() {
	in.Close()
	elapsed := in.Elapsed() // one time for all: a call does not end before those within it
	for _, c := range in.open.takeAll() {
		c.settleOpen(elapsed)
	}
}

type openCall interface {
	number() uint64
	settleOpen(elapsed time.Duration)
}

// openCalls are the calls under way that will leave an event. Whoever takes a call out
// writes its event: the goroutine of the call as it ends, or [Injector.End]. They are a
// list and no map, since every recorded call goes in and out.
type openCalls struct {
	mu   sync.Mutex
	list []*openLink
}

// An openLink is the place of a call in the list. The zero value is in none.
type openLink struct {
	call  openCall // nil: not in the list
	index int
}

func (o *openCalls) add(l *openLink, c openCall) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.call, l.index = c, len(o.list)
	o.list = append(o.list, l)
}

// take takes a call out, and reports whether it was there.
func (o *openCalls) take(l *openLink) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.call == nil {
		return false
	}
	end := len(o.list) - 1
	last := o.list[end]
	o.list[l.index], last.index = last, l.index
	o.list[end], l.call = nil, nil
	o.list = o.list[:end]
	return true
}

// takeAll takes all calls out, in the order in which they began.
func (o *openCalls) takeAll() (calls []openCall) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.list {
		calls = append(calls, l.call)
		l.call = nil
	}
	o.list = nil
	slices.SortFunc(calls, func(a, b openCall) int { return cmp.Compare(a.number(), b.number()) })
	return calls
}

func (r *recording) number() uint64 { return r.rec.begun }

func (r *recording) settleOpen(elapsed time.Duration) {
	own := r.rec // the call goes on
	own.outcome = OutcomeOpen
	own.endsAt(elapsed, nil)
	own.site.in.keep(&r.inner, &own)
}
