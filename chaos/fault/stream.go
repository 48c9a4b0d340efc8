package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
)

func streamRows() []*catalog.Row {
	return []*catalog.Row{cutAfterRow, hangAtItemRow, slowFirstItemRow, slowItemsRow}
}

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
	return cutAfter{cut: cut{afterItems{n}, message{err}}}
}

var cutAfterRow = catalog.Fault(catalog.Row{
	Kind: "stream_cut", Doc: "A stream breaks off with an error.",
	Go: "fault.CutAfter(n), fault.CutAfterWith(n, err)", Example: `{"after":2,"message":"unexpected EOF"}`,
	Layer: chaos.LayerStream, Class: chaos.ClassCrash, Visibility: chaos.Explicit,
	Persistence: chaos.Transient, Effect: chaos.EffectUnknown,
}, func(p cut) chaos.Fault { return CutAfterWith(p.After, p.Err) })

// afterItems are the parameters of a fault at one place of a stream.
type afterItems struct {
	After int `json:"after" bounds:"min=0" allowed:"a number of items, 0 or more" doc:"number of items that come before"`
}

type cut struct {
	afterItems
	message
}

type cutAfter struct {
	onStreams
	cut
}

func (f cutAfter) Check() error {
	c := cutAfterRow.Check(f.cut)
	c.That(f.Err != nil, "message", nil, "an error, such as io.ErrUnexpectedEOF")
	return c.Err()
}

func (f cutAfter) Describe() chaos.Description { return cutAfterRow.Describe(f.cut) }

func (f cutAfter) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return asked(items, func(given int, yield func(any, error) bool) bool {
		if given != f.After || disarmed(ctx) {
			return true
		}
		yield(nil, f.Err)
		return false
	})
}

// HangAtItem makes a stream stall: its consumer gets n items and then waits
// until its context ends, whose error it gets. If the injector is disarmed
// meanwhile, the stream goes on. n is at least 0.
func HangAtItem(n int) chaos.Fault { return hangAtItem{afterItems: afterItems{n}} }

var hangAtItemRow = catalog.Fault(catalog.Row{
	Kind: "stream_hang", Doc: "A stream stalls until its context ends.",
	Go: "fault.HangAtItem(n)", Example: `{"after":2}`,
	Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Explicit,
	Persistence: chaos.Transient, Effect: chaos.EffectUnknown,
}, func(p afterItems) chaos.Fault { return HangAtItem(p.After) })

type hangAtItem struct {
	onStreams
	afterItems
}

func (f hangAtItem) Check() error                { return hangAtItemRow.Check(f.afterItems).Err() }
func (f hangAtItem) Describe() chaos.Description { return hangAtItemRow.Describe(f.afterItems) }

func (f hangAtItem) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return asked(items, func(given int, yield func(any, error) bool) bool {
		return given != f.After || late(ctx, -1, yield)
	})
}

// SlowFirstItem delays the first item of a stream by d after it arrived: the
// time to the first token. d is more than 0. [Delay], which also applies to
// streams, waits before the source is asked.
func SlowFirstItem(d time.Duration) chaos.Fault { return slowFirstItem{delay: delay{d}} }

var slowFirstItemRow = catalog.Fault(catalog.Row{
	Kind: "slow_first_item", Doc: "The first item of a stream takes longer.",
	Go: "fault.SlowFirstItem(d)", Example: `{"duration":"5s"}`,
	Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p delay) chaos.Fault { return SlowFirstItem(p.Duration) })

// delay are the parameters of a fault that makes something take longer.
type delay struct {
	Duration time.Duration `json:"duration" bounds:"over=0" doc:"time that it takes longer"`
}

type slowFirstItem struct {
	onStreams
	delay
}

func (f slowFirstItem) Check() error                { return slowFirstItemRow.Check(f.delay).Err() }
func (f slowFirstItem) Describe() chaos.Description { return slowFirstItemRow.Describe(f.delay) }

func (f slowFirstItem) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return arriving(items, func(n int, item any, yield func(any, error) bool) bool {
		return (n > 0 || late(ctx, f.Duration, yield)) && yield(item, nil)
	})
}

// SlowItems delays every item of a stream by d. d is more than 0.
func SlowItems(d time.Duration) chaos.Fault { return slowItems{delay: delay{d}} }

var slowItemsRow = catalog.Fault(catalog.Row{
	Kind: "slow_items", Doc: "Every item of a stream takes longer.",
	Go: "fault.SlowItems(d)", Example: `{"duration":"500ms"}`,
	Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Implicit,
	Persistence: chaos.Transient, Effect: chaos.EffectDone,
}, func(p delay) chaos.Fault { return SlowItems(p.Duration) })

type slowItems struct {
	onStreams
	delay
}

func (f slowItems) Check() error                { return slowItemsRow.Check(f.delay).Err() }
func (f slowItems) Describe() chaos.Description { return slowItemsRow.Describe(f.delay) }

func (f slowItems) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return arriving(items, func(_ int, item any, yield func(any, error) bool) bool {
		return late(ctx, f.Duration, yield) && yield(item, nil)
	})
}

// onStreams is common to all faults of streams.
type onStreams struct{}

// Phase puts the fault after the source.
func (onStreams) Phase() chaos.Phase { return chaos.PhaseChange }

// Inject is called at points that are not streams. It only adds a note.
func (onStreams) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	chaos.Note(ctx, fmt.Sprintf("%s is no stream", c.Target))
	return next(ctx, args)
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
