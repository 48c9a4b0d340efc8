package mcpadapter

import (
	"context"
	"sync/atomic"

	"github.com/shakedown-go/shakedown/chaos"
)

// A Feed carries the events of an injector to the server that drives it. The
// zero value is ready:
//
//	var feed mcpadapter.Feed
//	in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, OnEvent: feed.Record})
//	srv, err := mcpadapter.NewServer(mcpadapter.Host{Name: "shop", Injector: in, Events: &feed}, nil)
//
// Several servers may listen to one feed; each sees every event.
type Feed struct {
	listeners atomic.Pointer[[]*listener]
	dropped   atomic.Uint64
}

// listener is a bounded queue. A slow reader loses events, and never delays a
// call of the program under test.
type listener struct {
	events  chan chaos.Event
	dropped atomic.Uint64
}

// queued is how many events wait for a listener.
const queued = 1024

// Record passes on an event in which a fault was delivered, and ignores others.
// It never blocks. It is meant for [chaos.InjectorOptions.OnEvent].
func (f *Feed) Record(_ context.Context, e chaos.Event) {
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

// listen adds a listener; leave removes it.
func (f *Feed) listen() (l *listener, leave func()) {
	l = &listener{events: make(chan chaos.Event, queued)}
	f.change(func(list []*listener) []*listener { return append(list, l) })
	return l, func() {
		f.change(func(list []*listener) []*listener {
			kept := list[:0]
			for _, other := range list {
				if other != l {
					kept = append(kept, other)
				}
			}
			return kept
		})
	}
}

// change replaces the list, which others may be reading.
func (f *Feed) change(by func([]*listener) []*listener) {
	for {
		old := f.listeners.Load()
		var list []*listener
		if old != nil {
			list = append(list, *old...)
		}
		list = by(list)
		if f.listeners.CompareAndSwap(old, &list) {
			return
		}
	}
}
