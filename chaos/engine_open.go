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

// An openCall is a call that leaves an event, and has none yet.
type openCall interface {
	number() uint64
	settleOpen(elapsed time.Duration)
}

// openCalls are the calls under way that will leave an event. Whoever takes a call out
// writes its event: the goroutine of the call as it ends, or [Injector.End]. They are a
// list and no map, since every recorded call goes in and out.
type openCalls struct {
	mu   sync.Mutex
	last *openLink
}

// An openLink is the place of a call in the list. The zero value is in none.
type openLink struct {
	call         openCall // nil: not in the list
	before, next *openLink
}

func (o *openCalls) add(l *openLink, c openCall) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.call, l.before = c, o.last
	if o.last != nil {
		o.last.next = l
	}
	o.last = l
}

// take takes a call out, and reports whether it was there.
func (o *openCalls) take(l *openLink) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.call == nil {
		return false
	}
	if l.before != nil {
		l.before.next = l.next
	}
	if l.next != nil {
		l.next.before = l.before
	} else {
		o.last = l.before
	}
	*l = openLink{}
	return true
}

// takeAll takes all calls out, in the order in which they began.
func (o *openCalls) takeAll() (calls []openCall) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for l := o.last; l != nil; {
		before := l.before
		calls = append(calls, l.call)
		*l = openLink{}
		l = before
	}
	o.last = nil
	slices.SortFunc(calls, func(a, b openCall) int { return cmp.Compare(a.number(), b.number()) })
	return calls
}

// recording is a call that is recorded and has no injection.
type recording struct {
	frame  frame // by which inner calls know their caller
	record record
	open   openLink
}

func (r *recording) number() uint64 { return r.record.begun }

func (r *recording) settleOpen(elapsed time.Duration) {
	own := r.record // the call goes on
	own.outcome = open
	own.endsAt(elapsed, nil)
	own.site.in.keep(&r.frame, &own)
}

func (x *injection) number() uint64 { return x.rec.begun }

func (x *injection) settleOpen(elapsed time.Duration) {
	x.mu.Lock()
	left, lastWord := x.left, x.beforeEnd
	x.mu.Unlock()
	if left && lastWord != nil {
		lastWord()
	}
	r := x.openRecord()
	r.endsAt(elapsed, nil)
	x.set.site.in.keep(&x.frame, r)
}

// openRecord is settle for a call that has not ended. It runs beside the call, so it
// reads only what x.mu guards, and what does not change once the rules act.
func (x *injection) openRecord() *record {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closeLocked()
	rec, more := x.rec, x.more
	rec.more = &more
	if rec.values != nil {
		own := *rec.values
		rec.values = &own
	}
	rec.outcome, rec.effect = open, x.effectSoFar()
	if x.left {
		rec.note("the answer was neither read to its end nor closed")
	}
	held, masked := x.current(), slices.Clone(x.masked)
	for a := range x.byPhase {
		f := x.soFar(a, held)
		a.settle(f.delivered)
		if f.masked {
			masked = append(masked, a.place)
		} else {
			rec.credit(a, f)
		}
	}
	x.nameUnused(&rec, masked)
	return &rec
}

// soFar is the fate of a rule of a call that is open; held is the index of the rule whose
// code runs, or the number of rules: the callee runs, or the call has returned and is
// kept open. The rule that holds the call is delivered: the caller has no answer because
// of it. What an inner rule made of the result has not reached the caller.
func (x *injection) soFar(a *callRule, held int) fate {
	if x.left {
		f := x.fateOf(a)
		f.delivered = f.delivered || a.underWay > 0
		f.masked = f.masked && !f.delivered
		return f
	}
	seen := x.onItems(a) && a.seen && !x.losesReply()
	f := fate{shown: a.reached || seen}
	f.delivered = f.shown || a.index == held || a.underWay > 0 || a.spent > 0 || a.again ||
		a.nexts > 1 && x.runs > a.before
	f.masked = !f.delivered && a.index > held
	return f
}
