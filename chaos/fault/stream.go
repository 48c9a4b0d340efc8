package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
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
func CutAfter(n int) chaos.Fault { return cutAfter{after: n, err: io.ErrUnexpectedEOF} }

// CutAfterWith is [CutAfter] with the error err, which is required.
func CutAfterWith(n int, err error) chaos.Fault { return cutAfter{after: n, err: err} }

type cutAfter struct {
	onStreams
	after int
	err   error
}

func (f cutAfter) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return asked(items, func(given int, yield func(any, error) bool) bool {
		if given != f.after || disarmed(ctx) {
			return true
		}
		yield(nil, f.err)
		return false
	})
}

func (f cutAfter) Check() error {
	c := param.Check{Kind: "stream_cut"}
	items(&c, f.after)
	c.That(f.err != nil, "message", nil, "an error, such as io.ErrUnexpectedEOF")
	return c.Err()
}

func (f cutAfter) Describe() chaos.Description {
	p := streamParams{After: &f.after}
	if f.err != nil {
		p.Message = f.err.Error()
	}
	return describeStream("stream_cut", chaos.ClassCrash, chaos.Explicit, p)
}

// HangAtItem makes a stream stall: its consumer gets n items and then waits
// until its context ends, whose error it gets. If the injector is disarmed
// meanwhile, the stream goes on. n is at least 0.
func HangAtItem(n int) chaos.Fault { return hangAtItem{after: n} }

type hangAtItem struct {
	onStreams
	after int
}

func (f hangAtItem) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return asked(items, func(given int, yield func(any, error) bool) bool {
		return given != f.after || late(ctx, -1, yield)
	})
}

func (f hangAtItem) Check() error {
	c := param.Check{Kind: "stream_hang"}
	items(&c, f.after)
	return c.Err()
}

func (f hangAtItem) Describe() chaos.Description {
	return describeStream("stream_hang", chaos.ClassTiming, chaos.Explicit, streamParams{After: &f.after})
}

// SlowFirstItem delays the first item of a stream by d after it arrived: the
// time to the first token. d is more than 0. [Delay], which also applies to
// streams, waits before the source is asked.
func SlowFirstItem(d time.Duration) chaos.Fault { return slowItems{kind: "slow_first_item", d: d} }

// SlowItems delays every item of a stream by d. d is more than 0.
func SlowItems(d time.Duration) chaos.Fault { return slowItems{kind: "slow_items", d: d, all: true} }

type slowItems struct {
	onStreams
	kind string
	d    time.Duration
	all  bool
}

func (f slowItems) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return arriving(items, func(n int, item any, yield func(any, error) bool) bool {
		if (f.all || n == 0) && !late(ctx, f.d, yield) {
			return false
		}
		return yield(item, nil)
	})
}

func (f slowItems) Check() error {
	c := param.Check{Kind: f.kind}
	c.That(f.d > 0, "duration", f.d, "a duration of more than 0")
	return c.Err()
}

func (f slowItems) Describe() chaos.Description {
	return describeStream(f.kind, chaos.ClassTiming, chaos.Implicit, streamParams{Duration: f.d.String()})
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
func arriving(items iter.Seq2[any, error], do func(n int, item any, yield func(any, error) bool) bool) iter.Seq2[any, error] {
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

func items(c *param.Check, n int) {
	c.That(n >= 0, "after", n, "a number of items, 0 or more")
}

// streamParams are the parameters of all faults of streams.
type streamParams struct {
	After    *int   `json:"after,omitempty"` // items before the fault
	Window   int    `json:"window,omitempty"`
	Duration string `json:"duration,omitempty"`
	Message  string `json:"message,omitempty"`
	Name     string `json:"name,omitempty"`
	Type     string `json:"type,omitempty"`
}

func describeStream(kind string, class chaos.Class, seen chaos.Visibility, params any) chaos.Description {
	effect := chaos.EffectDone
	if seen == chaos.Explicit {
		effect = chaos.EffectUnknown // the source was left in the middle of its work
	}
	d := chaos.Description{
		Kind: kind, Class: class, Visibility: seen, Layer: chaos.LayerStream,
		Persistence: chaos.Transient, Effect: effect,
	}
	if params == nil {
		return d
	}
	return param.With(d, params)
}
