package faulthub

import (
	"context"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
)

// Queued is how many events wait in a [Queue].
const Queued = 1024

// A Queue passes the events of an injector in which a fault was delivered to one
// goroutine. It is bounded: a slow reader loses events, and never delays a call of the
// program under test. Make one with [NewQueue].
type Queue struct {
	events  chan chaos.Event
	dropped atomic.Uint64
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{events: make(chan chaos.Event, Queued)} }

// Record queues an event, for [chaos.Injector.Watch]. It never waits.
func (q *Queue) Record(_ context.Context, e chaos.Event) {
	if !e.Delivered {
		return
	}
	select {
	case q.events <- e:
	default:
		q.dropped.Add(1)
	}
}

// Dropped counts the events that did not fit.
func (q *Queue) Dropped() uint64 { return q.dropped.Load() }

// Run passes the events to sink, and the number of those that did not fit to lost, until
// end is closed; events from before the end are passed on too.
func (q *Queue) Run(end <-chan struct{}, sink func(chaos.Event), lost func(n uint64)) {
	var reported uint64
	for open := true; open || len(q.events) > 0; {
		select {
		case e := <-q.events:
			sink(e)
			if dropped := q.Dropped(); dropped > reported {
				lost(dropped - reported)
				reported = dropped
			}
		case <-end:
			open, end = false, nil
		}
	}
}
