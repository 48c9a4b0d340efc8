package faulthub

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
)

// A Feed passes the events of an injector on to any number of listeners. The zero
// value is ready.
type Feed struct {
	mu        sync.RWMutex
	listeners []*listener
	dropped   atomic.Uint64
}

// listener is a bounded queue. A slow reader loses events, and never delays a
// call of the program under test.
type listener struct {
	events  chan chaos.Event
	dropped atomic.Uint64
}

// Queued is how many events wait for a listener.
const Queued = 1024

// Record passes on an event in which a fault was delivered, and ignores others.
// It never waits for a listener.
func (f *Feed) Record(e chaos.Event) {
	if !e.Delivered {
		return
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, l := range f.listeners {
		select {
		case l.events <- e:
		default:
			l.dropped.Add(1)
			f.dropped.Add(1)
		}
	}
}

// Dropped counts the events that a listener was too slow for. An event that two
// listeners missed counts twice.
func (f *Feed) Dropped() uint64 { return f.dropped.Load() }

// Follow adds a listener. The returned function passes its events to sink, and the
// number of those that came too fast to lost, until end is closed; events from
// before the end are passed on too.
func (f *Feed) Follow(end <-chan struct{}, sink func(chaos.Event), lost func(n uint64)) (run func()) {
	queue, leave := f.listen()
	return func() {
		defer leave()
		var reported uint64
		take := func(e chaos.Event) {
			sink(e)
			if dropped := queue.dropped.Load(); dropped > reported {
				lost(dropped - reported)
				reported = dropped
			}
		}
		for {
			select {
			case e := <-queue.events:
				take(e)
				continue
			case <-end:
			}
			for {
				select {
				case e := <-queue.events:
					take(e)
				default:
					return
				}
			}
		}
	}
}

// listen adds a listener; leave removes it.
func (f *Feed) listen() (l *listener, leave func()) {
	l = &listener{events: make(chan chaos.Event, Queued)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners = append(f.listeners, l)
	return l, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.listeners = slices.DeleteFunc(f.listeners, func(other *listener) bool { return other == l })
	}
}
