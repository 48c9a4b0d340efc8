package fault

import (
	"context"
	"iter"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// EndAfter ends a stream early and without an error: its consumer gets n items
// and takes them for the whole stream. That happens when a connection is closed
// in good order in the middle of an answer. n is at least 0.
//
// One item more is taken from the source, and dropped. A stream of n items or
// fewer is not changed.
func EndAfter(n int) chaos.Fault { return endAfter{after: n} }

type endAfter struct {
	onStreams
	after int
}

func (f endAfter) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return arriving(items, func(n int, item any, yield func(any, error) bool) bool {
		if n != f.after || disarmed(ctx) {
			return yield(item, nil)
		}
		chaos.Changed(ctx, chaos.Change{Path: place(n), Before: jsonvalue.Document(item)})
		return false
	})
}

func (f endAfter) Check() error {
	c := param.Check{Kind: "early_end"}
	items(&c, f.after)
	return c.Err()
}

func (f endAfter) Describe() chaos.Description {
	return describeStream("early_end", chaos.ClassOmission, chaos.Implicit, streamParams{After: &f.after})
}

// DropLastItem drops the last item of a stream, which in many protocols is its
// terminator: a consumer that waits for it finds the stream unfinished. Each
// item is held back until the next one arrives.
func DropLastItem() chaos.Fault { return dropLast{} }

type dropLast struct{ onStreams }

func (dropLast) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		var held any
		holds, n := false, 0
		for item, err := range items {
			if holds {
				n++
				if !yield(held, nil) {
					return
				}
			}
			if holds = err == nil; holds {
				held = item
			} else if !yield(item, err) {
				return
			}
		}
		switch {
		case !holds:
		case disarmed(ctx):
			yield(held, nil)
		default:
			chaos.Changed(ctx, chaos.Change{Path: place(n), Before: jsonvalue.Document(held)})
		}
	}
}

func (dropLast) Describe() chaos.Description {
	return describeStream("missing_terminator", chaos.ClassOmission, chaos.Implicit, nil)
}

// ReorderItems delivers the items of a stream in another order. It collects
// window items at a time, the last time what is left, and shuffles them. The
// order is drawn from the call's coordinates and always differs from the
// original one. So an item comes at most window-1 places too early or too late.
// window is at least 2.
//
// Items are held back until their window is full. If only equal items changed
// places, the fault is not delivered.
func ReorderItems(window int) chaos.Fault { return reorderItems{window: window} }

type reorderItems struct {
	onStreams
	window int
}

func (f reorderItems) Stream(ctx context.Context, c chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		s := shuffle{ctx: ctx, c: c, yield: yield}
		for item, err := range items {
			if err != nil {
				if !s.flush() || !yield(item, err) {
					return
				}
				continue
			}
			s.held = append(s.held, item)
			if (len(s.held) >= f.window || disarmed(ctx)) && !s.flush() {
				return
			}
		}
		s.flush()
	}
}

// shuffle delivers one window of items at a time.
type shuffle struct {
	ctx   context.Context
	c     chaos.Call
	yield func(any, error) bool
	held  []any
	n     int // items handed over
}

// drawOrder is the salt of the first draw of an order: ASCII for "ord", with
// room for one salt an item.
const drawOrder = 0x6f7264 << 32

func (s *shuffle) flush() bool {
	order := s.order()
	for i, from := range order {
		item := s.held[from]
		if !equal(s.held[i], item) {
			chaos.Changed(s.ctx, chaos.Change{Path: place(s.n), Before: jsonvalue.Document(s.held[i]), After: jsonvalue.Document(item)})
		}
		s.n++
		if !s.yield(item, nil) {
			return false
		}
	}
	s.held = s.held[:0]
	return true
}

// order draws a permutation (Fisher and Yates) of the items held. If that is
// the original order, it is rotated by one place.
func (s *shuffle) order() []int {
	order := make([]int, len(s.held))
	for i := range order {
		order[i] = i
	}
	if len(order) < 2 || disarmed(s.ctx) {
		return order
	}
	moved := false
	for i := len(order) - 1; i > 0; i-- {
		k := int(s.c.Draw(drawOrder+uint64(s.n+i)) * float64(i+1))
		order[i], order[k] = order[k], order[i]
	}
	for i, from := range order {
		moved = moved || i != from
	}
	if !moved {
		order = append(order[1:], order[0])
	}
	return order
}

func (f reorderItems) Check() error {
	c := param.Check{Kind: "reordered_items"}
	c.That(f.window >= 2, "window", f.window, "a number of items, at least 2")
	return c.Err()
}

func (f reorderItems) Describe() chaos.Description {
	return describeStream("reordered_items", chaos.ClassProtocol, chaos.Implicit, streamParams{Window: f.window})
}
