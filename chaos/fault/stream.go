package fault

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

// CutAfter breaks a stream off: its consumer gets n items and then
// [io.ErrUnexpectedEOF], as from a connection that was closed in the middle.
// The rest is not taken from the source. n is at least 0.
//
// If the stream has fewer items, or the consumer stops after n of them, the
// fault is not delivered.
//
// All faults of streams apply to points of chaos.WrapStream. At other points
// the call goes through, and the event has a note.
func CutAfter(n int) chaos.Fault { return CutAfterWith(n, io.ErrUnexpectedEOF) }

// CutAfterWith is [CutAfter] with the error err, which is required.
func CutAfterWith(n int, err error) chaos.Fault {
	return cutAfter.Of(cut{afterItems{n}, message{err}})
}

var cutAfter = &catalog.Stream[cut]{
	Row: catalog.Row{
		Kind: "stream_cut", Doc: "A stream breaks off with an error.",
		Go: "fault.CutAfter(n), fault.CutAfterWith(n, err)", Example: `{"after":2,"message":"unexpected EOF"}`,
		Layer: chaos.LayerStream, Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectUnknown,
	},
	Stream: func(ctx context.Context, _ chaos.Call, p cut, items iter.Seq2[any, error]) iter.Seq2[any, error] {
		return asked(items, func(given int, yield func(any, error) bool) bool {
			if given != p.After || disarmed(ctx) {
				return true
			}
			yield(nil, p.Err)
			return false
		})
	},
}

// afterItems are the parameters of a fault at one place of a stream.
type afterItems struct {
	After int `json:"after" bounds:"min=0" allowed:"a number of items, 0 or more" doc:"number of items that come before"`
}

type cut struct {
	afterItems
	message
}

func (p cut) Check(c *catalog.Check) {
	c.That(p.Err != nil, "message", nil, "an error, such as io.ErrUnexpectedEOF")
}

// HangAtItem makes a stream stall: its consumer gets n items and then waits
// until its context ends, whose error it gets. If the injector is disarmed
// meanwhile, the stream goes on. n is at least 0.
func HangAtItem(n int) chaos.Fault { return hangAtItem.Of(afterItems{n}) }

var hangAtItem = &catalog.Stream[afterItems]{
	Row: catalog.Row{
		Kind: "stream_hang", Doc: "A stream stalls until its context ends.",
		Go: "fault.HangAtItem(n)", Example: `{"after":2}`,
		Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Explicit, Effect: chaos.EffectUnknown,
	},
	Stream: func(ctx context.Context, _ chaos.Call, p afterItems, items iter.Seq2[any, error]) iter.Seq2[any, error] {
		return asked(items, func(given int, yield func(any, error) bool) bool {
			return given != p.After || late(ctx, -1, yield)
		})
	},
}

// SlowFirstItem delays the first item of a stream by d after it arrived: the
// time to the first token. d is more than 0. [Delay], which also applies to
// streams, waits before the source is asked.
func SlowFirstItem(d time.Duration) chaos.Fault { return slowFirstItem.Of(delay{d}) }

var slowFirstItem = &catalog.Stream[delay]{
	Row: catalog.Row{
		Kind: "slow_first_item", Doc: "The first item of a stream takes longer.",
		Go: "fault.SlowFirstItem(d)", Example: `{"duration":"5s"}`,
		Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Stream: func(ctx context.Context, _ chaos.Call, p delay, items iter.Seq2[any, error]) iter.Seq2[any, error] {
		return arriving(items, func(n int, item any, yield func(any, error) bool) bool {
			return (n > 0 || late(ctx, p.Duration, yield)) && yield(item, nil)
		})
	},
}

// delay are the parameters of a fault that makes something take longer.
type delay struct {
	Duration time.Duration `json:"duration" bounds:"over=0" doc:"time that it takes longer"`
}

// SlowItems delays every item of a stream by d. d is more than 0.
func SlowItems(d time.Duration) chaos.Fault { return slowItems.Of(delay{d}) }

var slowItems = &catalog.Stream[delay]{
	Row: catalog.Row{
		Kind: "slow_items", Doc: "Every item of a stream takes longer.",
		Go: "fault.SlowItems(d)", Example: `{"duration":"500ms"}`,
		Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Stream: func(ctx context.Context, _ chaos.Call, p delay, items iter.Seq2[any, error]) iter.Seq2[any, error] {
		return arriving(items, func(_ int, item any, yield func(any, error) bool) bool {
			return late(ctx, p.Duration, yield) && yield(item, nil)
		})
	},
}

// asked passes a stream on. It calls next whenever the consumer wants an item,
// with the number of items that it got so far. next reports whether to go on.
func asked(items iter.Seq2[any, error], next func(given int, yield func(any, error) bool) bool) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		if !next(0, yield) {
			return
		}
		given := 0
		for item, err := range items {
			if !yield(item, err) {
				return
			}
			if err != nil {
				continue
			}
			if given++; !next(given, yield) {
				return
			}
		}
	}
}

// arriving calls do for each item that arrives, with its number, to pass it on.
// Errors are passed on directly.
func arriving(items iter.Seq2[any, error], do func(n int, item any, yield func(any, error) bool) bool) iter.Seq2[any,
	error] {
	return func(yield func(any, error) bool) {
		n := -1
		for item, err := range items {
			var more bool
			if err != nil {
				more = yield(item, err)
			} else {
				n++
				more = do(n, item, yield)
			}
			if !more {
				return
			}
		}
	}
}

// late waits for d and declares that what follows is late. If the context ends,
// the stream ends with its error, and late returns false.
func late(ctx context.Context, d time.Duration, yield func(any, error) bool) bool {
	if disarmed(ctx) {
		return true
	}
	if _, err := pause(ctx, d); err != nil {
		yield(nil, err)
		return false
	}
	chaos.Changed(ctx)
	return true
}

// disarmed reports whether the injector is disarmed, for faults that do not
// wait.
func disarmed(ctx context.Context) bool { return errors.Is(chaos.Sleep(ctx, 0), chaos.ErrDisarmed) }
