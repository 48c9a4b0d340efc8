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
	listeners atomic.Pointer[[]*listener] // replaced whole
	dropped   atomic.Uint64
	mu        sync.Mutex // held while the list is replaced
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
	list := f.listeners.Load()
	if list == nil {
		return
	}
	for _, l := range *list {
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
	f.replace(func(list []*listener) []*listener { return append(list, l) })
	return l, func() {
		f.replace(func(list []*listener) []*listener {
			return slices.DeleteFunc(list, func(other *listener) bool { return other == l })
		})
	}
}

// replace replaces the list, which others may be reading, by a changed copy.
func (f *Feed) replace(by func([]*listener) []*listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*listener
	if old := f.listeners.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = by(list)
	f.listeners.Store(&list)
}
