package chaostest

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// A Stream is an injection point of a wrapper of your own whose calls give one item after the other,
// for [Streams]. All fields are required.
type Stream struct {
	_ struct{}
	// Target is the name of the injection point.
	Target string
	// Items are what a source gives and a caller gets: at least three, each unlike the others. They
	// are not changed.
	Items []any
	// Open opens the wrapper anew, around a callee that, for each execution, takes a sequence from
	// source and passes on its items and its error. The function that it returns makes one call; it
	// gives the items and the error that the caller gets, and ends the call when its consumer stops.
	Open func(source func() iter.Seq2[any, error]) (call func(context.Context) iter.Seq2[any, error])
}

// Streams is [Wrapper] for streams: besides, faults that cut, end, double, drop and swap items must do
// so and no more, and a caller that stops early must end the source. No item may cost an allocation
// more than without an injector where no rule acts; the call may.
func Streams(streams ...Stream) error {
	c := &checker{clock: read()}
	for _, s := range streams {
		if len(s.Items) < 3 {
			c.add(Present, "%s has %d items; allowed: 3 or more", s.Target, len(s.Items))
			continue
		}
		streamCheck{s, c}.check()
	}
	if len(streams) == 0 {
		c.add(Present, "there is no stream")
	}
	return c.err()
}

type streamCheck struct {
	Stream
	*checker
}

// open opens the wrapper around a source that counts what is taken from it.
func (s streamCheck) open(o setup, reached, pulled *atomic.Int64) func(context.Context) iter.Seq2[any, error] {
	return s.Open(func() iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			reached.Add(1)
			for range max(o.rounds, 1) {
				for _, item := range s.Items {
					if pulled.Add(1); !yield(item, nil) {
						return
					}
				}
			}
			if o.failing != nil {
				yield(nil, o.failing)
			}
		}
	})
}

func (s streamCheck) try(o setup) trial {
	var reached, pulled atomic.Int64
	read := s.open(o, &reached, &pulled)
	var items []any
	t := o.run(s.checker, s.Target, func(ctx context.Context) (any, error) {
		for item, err := range read(ctx) {
			if err != nil {
				return nil, err
			}
			if items = append(items, item); len(items) == o.take {
				break
			}
		}
		return nil, nil
	})
	if !t.stuck {
		t.items = items
	}
	t.reached, t.pulled = int(reached.Load()), int(pulled.Load())
	return t
}

func (s streamCheck) check() {
	base := s.try(setup{})
	if base.err != nil || base.panicked != nil || base.cut || base.reached != 1 ||
		!reflect.DeepEqual(base.items, s.Items) {
		s.add(Transparent, "%s: a call without an injector gave %s and ended with %v %v, after %d executions", s.Target,
			show(base.items), base.err, base.panicked, base.reached)
		return
	}
	s.calm(s.Target, base, s.try)
	n := len(s.Items)
	for _, tt := range []struct {
		fault chaos.Fault
		want  []any // the items, if it is delivered; nil: those of the source in any order
		fails bool
	}{
		{fault.CutAfter(1), s.Items[:1], true},
		{fault.CutAfter(n), s.Items, true},
		{fault.EndAfter(1), s.Items[:1], false},
		{fault.DuplicateItem(0), slices.Insert(slices.Clone(s.Items), 0, s.Items[0]), false},
		{fault.DropLastItem(), s.Items[:n-1], false},
		{fault.ReorderItems(2), nil, false},
		{fault.Fail(errLost), []any{}, true},
		{fault.LoseReplyAfter(0), []any{}, true},
		{fault.Duplicate(), s.Items, false},
		{fault.Delay(time.Nanosecond), s.Items, false},
	} {
		t := s.try(under(s.Target, tt.fault))
		if s.honest(s.Target, tt.fault, base, t); t.event.Delivered {
			s.expect(tt.fault, t, tt.want, tt.fails)
		}
	}
	s.stopsEarly()
	if s.virtual {
		s.stops(s.Target, base, s.try)
	}
	s.allocates(s.Target, func(o setup) float64 {
		return s.allocationsOf(o, 17) - s.allocationsOf(o, 1)
	})
}

// expect compares what the caller got under a fault with what the fault says of itself.
func (s streamCheck) expect(f chaos.Fault, t trial, want []any, fails bool) {
	kind := f.(chaos.Described).Describe().Kind
	same := slices.EqualFunc(t.items, want, func(a, b any) bool { return reflect.DeepEqual(a, b) })
	if want == nil {
		same = len(t.items) == len(s.Items)
		for _, item := range s.Items {
			same = same && slices.ContainsFunc(t.items, func(got any) bool { return reflect.DeepEqual(got, item) })
		}
		want = s.Items
	}
	if !same || fails != (t.err != nil) {
		s.add(Items, "%s: %s gave the caller %s and the error %v; allowed: %s, and an error: %v", s.Target, kind,
			show(t.items), t.err, show(want), fails)
	}
}

// stopsEarly has a caller take one item, so that it does not get as far as a fault acts.
func (s streamCheck) stopsEarly() {
	o := under(s.Target, fault.CutAfter(2))
	o.take = 1
	t := s.try(o)
	switch {
	case t.err != nil || len(t.items) != 1 || t.pulled > 2:
		s.add(Items, "%s: a caller that took 1 item got %s and the error %v, and %d were taken from the source",
			s.Target, show(t.items), t.err, t.pulled)
	case t.events != 1:
		s.add(Honest, "%s: a caller that stopped early left %d events", s.Target, t.events)
	case t.event.Delivered:
		s.add(Honest, "%s: a cut after 2 items counts as delivered to a caller that took 1", s.Target)
	}
}

func (s streamCheck) allocationsOf(o setup, rounds int) float64 {
	o.rounds = rounds
	var reached, pulled atomic.Int64
	read := s.open(o, &reached, &pulled)
	ctx, _ := o.context(context.Background(), s.checker)
	return allocations(func() {
		for range read(ctx) {
		}
	})
}
