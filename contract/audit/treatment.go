package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// A treatment is a way to call a tool such that its work should be done once.
type treatment struct {
	name, does string
	fault      chaos.Fault // on the first call; nil: none
	fresh      bool        // whether the first call did its work is not known
	turns      int         // how often it is made, each time in another way; 0: once
	run        func(ctx context.Context, t *trial)
}

// Treatments that are known by their names. Those with another key and without one show what the key is good for: the
// work may be done twice.
const (
	inARow        = "twice"
	otherSpelling = "other-spelling"
	together      = "at-once"
	inTheMiddle   = "cancelled"
	restarting    = "restarted"
	anotherKey    = "other-key"
	withoutKey    = "without-key"
)

func informs(treatment string) bool { return treatment == anotherKey || treatment == withoutKey }

// treatments are all that there are.
func (o *Options) treatments() []treatment {
	cancellations := cmp.Or(o.Cancellations, usualCancellations)
	return []treatment{
		{name: "once", does: "it is called once", fresh: true, run: func(ctx context.Context, t *trial) { t.again(ctx, t.args) }},
		{name: "reply-lost", does: "the first reply is lost, and it is called again", fault: fault.LoseReply(), fresh: true, run: twice},
		{name: inARow, does: "it is called twice in a row", run: twice},
		{name: otherSpelling, does: "it is called again with its arguments in another order and other white space", run: spelledOtherwise},
		{name: together, does: "it is called several times at once", fresh: true, turns: len(callers), run: atOnce},
		{name: inTheMiddle, does: "the first call is cancelled in the middle, and it is called again",
			fresh: true, turns: 2 * cancellations, run: cancelled},
		{name: "timed-out", does: "the first call times out before it reaches the tool, and it is called again",
			fault: fault.Timeout(leastSettle), fresh: true, run: twice},
		{name: restarting, does: "it is called, restarted, and called again", run: restarted},
		{name: anotherKey, does: "it is called with two idempotency keys", run: twice},
		{name: withoutKey, does: "it is called twice without an idempotency key", run: twice},
	}
}

func twice(ctx context.Context, t *trial) {
	t.failed = t.call(ctx, t.args)
	t.look(ctx)
	t.again(ctx, t.second)
}

func spelledOtherwise(ctx context.Context, t *trial) {
	if plain(t.second) == plain(t.args) {
		t.untried = "its arguments have no two members to exchange, and a transport may leave out white space"
	}
	twice(ctx, t)
}

// callers are how many calls are made at once, by turn: of many some two meet in a window that two calls may miss.
var callers = [...]int{2, 8, 16}

func atOnce(ctx context.Context, t *trial) {
	n, sent := callers[t.turn], len(t.evidence.Calls)
	t.together = new(sync.WaitGroup)
	t.together.Add(n)
	var calls errgroup.Group
	for range n {
		calls.Go(func() error { return t.call(ctx, t.args) })
	}
	failed := calls.Wait()
	switch t.together = nil; {
	case t.took < leastTime:
		t.untried = fmt.Sprintf("a call takes %v: only calls that take %v are surely under way at once", t.took, leastTime)
	case mostAtOnce(t.evidence.Calls[sent:]) < max(leastAtOnce, n/2):
		t.untried = "too few of the calls were under way at once"
	}
	if failed != nil { // also if one was answered: the others call again, and the tool may be gone
		t.again(ctx, t.args)
	}
}

// Two calls of a tool that takes microseconds are also found under way at once where one of them was interrupted, and
// then seldom in the window that matters. So it takes more calls at once than a small machine can run.
const (
	leastAtOnce = 4
	leastTime   = 100 * time.Microsecond
)

// mostAtOnce is the largest number of the calls that were under way together.
func mostAtOnce(calls []Call) (most int) {
	for _, a := range calls {
		n := 0
		for _, b := range calls {
			if b.Start <= a.Start && a.Start < b.End {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func cancelled(ctx context.Context, t *trial) {
	if !t.repeated && !t.sooner {
		// Of the longer time: a server may first load what a call then waits for, and one that had more time for that
		// answers sooner. A cancellation in the shorter time would always come before the work.
		t.part, t.lasts, t.tooLate = t.nextPart(), t.tookMost, 0
	}
	middle := time.Duration(float64(t.lasts) * t.part)
	if middle <= 0 {
		t.conclude(NotTried, "a call takes no time that could be measured, so it cannot be cancelled in the middle")
		t.turn = t.treatment.turns // nor can it in a later turn
		return
	}
	short, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(t.o.Every+middle, cancel)
	began := time.Now()
	t.failed = t.call(short, t.args)
	lasted := time.Since(began) - t.o.Every
	timer.Stop()
	cancel()
	if t.failed == nil {
		t.untried = "the call ended before it was cancelled"
	}
	if t.sooner = t.failed == nil && !t.repeated && t.tooLate < mostTooLate && lasted > leastTime; t.sooner {
		t.tooLate++
		t.lasts = lasted // the tool or the machine is quicker than it was when it was measured
		t.turn--
	}
	t.look(ctx)
	t.points = append(t.points, point{float64(middle) / float64(t.tookMost), t.middle})
	t.again(ctx, t.args)
}

// mostTooLate is how often a turn is made again because the call ended before it was cancelled.
const mostTooLate = 3

// A point is the state that a call left that was cancelled after a part of its time.
type point struct {
	part  float64
	state any
}

// nextPart is after which part of its time the next call is cancelled. The first half of the turns is spread evenly,
// since the state need not show what a call has begun. Then the largest gap between two cancellations that left
// different states is halved: in there a step of the work ends.
func (t *trial) nextPart() float64 {
	if spread := t.treatment.turns / 2; t.turn < spread {
		return (float64(t.turn) + .5) / float64(spread)
	}
	points := append([]point{{0, t.before}, {1, t.once}}, t.points...)
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.part, b.part) })
	next, widest := 0., 0.
	for i, p := range points[1:] {
		width := p.part - points[i].part
		if same(points[i].state, p.state) {
			width /= 1 << 20 // only where there is no other gap
		}
		if width > widest {
			next, widest = (points[i].part+p.part)/2, width
		}
	}
	return next
}

func restarted(ctx context.Context, t *trial) {
	t.failed = t.call(ctx, t.args)
	t.look(ctx)
	if err := t.world.Restart(chaos.NewContext(ctx, nil)); err != nil {
		t.conclude(Unknown, "it could not be restarted: "+err.Error())
		return
	}
	t.restarted = t.state(ctx, "after the restart of")
	t.again(ctx, t.args)
}
