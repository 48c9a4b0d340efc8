package mcpadapter

import (
	"context"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/mcpadapter/internal/faulthub"
)

// A Feed carries the events of an injector to the server that drives it. The
// zero value is ready:
//
//	var feed mcpadapter.Feed
//	in := chaos.NewInjector(1, &chaos.InjectorOptions{RecordAll: true, OnEvent: feed.Record})
//	srv, err := mcpadapter.NewServer(mcpadapter.Host{Name: "shop", Injector: in, Events: &feed}, nil)
//
// Several servers may listen to one feed; each sees every event.
type Feed struct{ feed faulthub.Feed }

// Record passes on an event in which a fault was delivered, and ignores others.
// It never blocks. It is meant for [chaos.InjectorOptions.OnEvent].
func (f *Feed) Record(_ context.Context, e chaos.Event) { f.feed.Record(e) }

// Dropped counts the events that a listener was too slow for. An event that two
// listeners missed counts twice.
func (f *Feed) Dropped() uint64 { return f.feed.Dropped() }
