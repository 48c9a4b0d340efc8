package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
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
func CutAfterWith(n int, err error) chaos.Fault { return cutAfter.Of(cut{afterItems{n}, message{err}}) }

var cutAfter = &catalog.Stream[cut]{
	Row: catalog.Row{Kind: "stream_cut", Doc: "A stream breaks off with an error.",
		Go: "fault.CutAfter(n), fault.CutAfterWith(n, err)", Example: `{"after":2,"message":"unexpected EOF"}`,
		Layer: chaos.LayerStream, Class: chaos.ClassCrash, Visibility: chaos.Explicit, Effect: chaos.EffectUnknown},
	Stream: func(ctx context.Context, _ chaos.Call, p cut, in items) items {
		return passOn(in, func(given int, yield yield) bool {
			if given != p.After || disarmed(ctx) {
				return true
			}
			yield(nil, p.Err)
			return false
		}, nil)
	},
}

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
	Row: catalog.Row{Kind: "stream_hang", Doc: "A stream stalls until its context ends.", Go: "fault.HangAtItem(n)",
		Example: `{"after":2}`, Layer: chaos.LayerStream, Class: chaos.ClassTiming, Visibility: chaos.Explicit,
		Effect: chaos.EffectUnknown},
	Stream: func(ctx context.Context, _ chaos.Call, p afterItems, in items) items {
		return passOn(in, func(given int, yield yield) bool {
			return given != p.After || late(ctx, -1, yield)
		}, nil)
	},
}

// SlowFirstItem delays the first item of a stream by d after it arrived: the
// time to the first token. d is more than 0. [Delay], which also applies to
// streams, waits before the source is asked.
func SlowFirstItem(d time.Duration) chaos.Fault { return slowFirstItem.Of(delay{d}) }

var slowFirstItem = &catalog.Stream[delay]{
	Row: catalog.Row{Kind: "slow_first_item", Doc: "The first item of a stream takes longer.",
		Go: "fault.SlowFirstItem(d)", Example: `{"duration":"5s"}`, Layer: chaos.LayerStream, Class: chaos.ClassTiming},
	Stream: func(ctx context.Context, _ chaos.Call, p delay, in items) items {
		return passOn(in, nil, func(n int, item any, yield yield) bool {
			return (n > 0 || late(ctx, p.Duration, yield)) && yield(item, nil)
		})
	},
}

type delay struct {
	Duration time.Duration `json:"duration" bounds:"over=0" doc:"time that it takes longer"`
}

// SlowItems delays every item of a stream by d. d is more than 0.
func SlowItems(d time.Duration) chaos.Fault { return slowItems.Of(delay{d}) }

var slowItems = &catalog.Stream[delay]{
	Row: catalog.Row{Kind: "slow_items", Doc: "Every item of a stream takes longer.", Go: "fault.SlowItems(d)",
		Example: `{"duration":"500ms"}`, Layer: chaos.LayerStream, Class: chaos.ClassTiming},
	Stream: func(ctx context.Context, _ chaos.Call, p delay, in items) items {
		return passOn(in, nil, func(_ int, item any, yield yield) bool {
			return late(ctx, p.Duration, yield) && yield(item, nil)
		})
	},
}

type (
	items = iter.Seq2[any, error]
	yield = func(any, error) bool
)

// passOn passes a stream on. Whenever the consumer wants an item, it calls wanted with
// the number of items so far. When one arrives, it calls arrived with its number, to
// pass it on; nil passes it on as it is. Each reports whether to go on. Errors are passed on.
func passOn(in items, wanted func(given int, yield yield) bool, arrived func(n int, item any, yield yield) bool) items {
	return func(yield yield) {
		n := 0
		if wanted != nil && !wanted(n, yield) {
			return
		}
		for item, err := range in {
			if err != nil || arrived == nil {
				if !yield(item, err) {
					return
				}
			} else if !arrived(n, item, yield) {
				return
			}
			if err == nil {
				n++
			}
			if err == nil && wanted != nil && !wanted(n, yield) {
				return
			}
		}
	}
}

// late waits for d and declares that what follows is late. If the context ends,
// the stream ends with its error, and late returns false.
func late(ctx context.Context, d time.Duration, yield yield) bool {
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

// DuplicateItem delivers one item of a stream twice: the one after the first n.
// n is at least 0.
func DuplicateItem(n int) chaos.Fault { return duplicateItem.Of(afterItems{n}) }

var duplicateItem = &catalog.Stream[afterItems]{
	Row: catalog.Row{Kind: "duplicate_item", Doc: "An item of a stream arrives twice.", Go: "fault.DuplicateItem(n)",
		Example: `{"after":1}`, Layer: chaos.LayerStream, Class: chaos.ClassProtocol},
	Stream: func(ctx context.Context, _ chaos.Call, p afterItems, in items) items {
		return passOn(in, nil, func(n int, item any, yield yield) bool {
			if !yield(item, nil) {
				return false
			}
			if n != p.After || disarmed(ctx) {
				return true
			}
			chaos.Changed(ctx, chaos.Change{Path: place(n + 1), After: jsonvalue.Document(item)})
			return yield(item, nil)
		})
	},
}

// MalformItem spoils one item of a stream: the one after the first n. It is cut in
// the middle, and ends in a byte that is not UTF-8. n is at least 0.
//
// An item is a json.RawMessage, a []byte or a string. An item of another type,
// or an empty one, is passed on, and the event has a note.
func MalformItem(n int) chaos.Fault { return malformItem.Of(afterItems{n}) }

var malformItem = &catalog.Stream[afterItems]{
	Row: catalog.Row{Kind: "malformed_item", Doc: "An item of a stream cannot be decoded.", Go: "fault.MalformItem(n)",
		Example: `{"after":1}`, Layer: chaos.LayerStream, Class: chaos.ClassProtocol},
	Stream: func(ctx context.Context, _ chaos.Call, p afterItems, in items) items {
		return passOn(in, nil, func(n int, item any, yield yield) bool {
			if n == p.After && !disarmed(ctx) {
				item = malform(ctx, item)
			}
			return yield(item, nil)
		})
	},
}

// malform changes a text so that its reader cannot decode it.
func malform(ctx context.Context, item any) any {
	doc, ok := jsonvalue.Text(item)
	if !ok || len(doc) == 0 {
		chaos.Note(ctx, fmt.Sprintf("an item of type %T is not a text that can be malformed", item))
		return item
	}
	const noUTF8 = 0xFF // in no encoding of a rune (RFC 3629, section 1)
	broken := append(slices.Clone(doc[:(len(doc)+1)/2]), noUTF8)
	chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(item), After: jsonvalue.Document(string(broken))})
	return jsonvalue.Like(broken, item)
}

// EndAfter ends a stream early and without an error: its consumer gets n items
// and takes them for the whole stream. That happens when a connection is closed
// in good order in the middle of an answer. n is at least 0.
//
// One item more is taken from the source, and dropped. A stream of n items or
// fewer is not changed.
func EndAfter(n int) chaos.Fault { return endAfter.Of(afterItems{n}) }

var endAfter = &catalog.Stream[afterItems]{
	Row: catalog.Row{Kind: "early_end", Doc: "A stream ends early and without an error.", Go: "fault.EndAfter(n)",
		Example: `{"after":2}`, Layer: chaos.LayerStream, Class: chaos.ClassOmission},
	Stream: func(ctx context.Context, _ chaos.Call, p afterItems, in items) items {
		return passOn(in, nil, func(n int, item any, yield yield) bool {
			if n != p.After || disarmed(ctx) {
				return yield(item, nil)
			}
			chaos.Changed(ctx, chaos.Change{Path: place(n), Before: jsonvalue.Document(item)})
			return false
		})
	},
}

// DropLastItem drops the last item of a stream, which in many protocols is its
// terminator: a consumer that waits for it finds the stream unfinished. Each
// item is held back until the next one arrives.
func DropLastItem() chaos.Fault { return dropLastItem.Of(catalog.None{}) }

var dropLastItem = &catalog.Stream[catalog.None]{
	Row: catalog.Row{Kind: "missing_terminator", Doc: "A stream lacks its last item.", Go: "fault.DropLastItem()",
		Layer: chaos.LayerStream, Class: chaos.ClassOmission},
	Stream: func(ctx context.Context, _ chaos.Call, _ catalog.None, in items) items {
		return func(yield yield) {
			var held any
			holds, n := false, 0
			for item, err := range in {
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
	},
}

// ReorderItems delivers the items of a stream in another order. It collects
// window items at a time, the last time what is left, and shuffles them. The
// order is drawn from the call's coordinates and always differs from the
// original one. So an item comes at most window-1 places too early or too late.
// window is at least 2.
//
// Items are held back until their window is full. If only equal items changed
// places, the fault is not delivered.
func ReorderItems(window int) chaos.Fault { return reorderItems.Of(itemWindow{window}) }

var reorderItems = &catalog.Stream[itemWindow]{
	Row: catalog.Row{Kind: "reordered_items", Doc: "The items of a stream come in another order.",
		Go: "fault.ReorderItems(window)", Example: `{"window":3}`, Layer: chaos.LayerStream,
		Class: chaos.ClassProtocol},
	Stream: func(ctx context.Context, c chaos.Call, p itemWindow, in items) items {
		return func(yield yield) {
			s := shuffle{ctx: ctx, c: c, yield: yield}
			for item, err := range in {
				if err != nil {
					if !s.flush() || !yield(item, err) {
						return
					}
					continue
				}
				s.held = append(s.held, item)
				if (len(s.held) >= p.Window || disarmed(ctx)) && !s.flush() {
					return
				}
			}
			s.flush()
		}
	},
}

type itemWindow struct {
	Window int `json:"window" bounds:"min=2" allowed:"a number of items, at least 2" doc:"number of items that change places with each other"`
}

// shuffle delivers one window of items at a time.
type shuffle struct {
	ctx   context.Context
	c     chaos.Call
	yield yield
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
			chaos.Changed(s.ctx,
				chaos.Change{Path: place(s.n), Before: jsonvalue.Document(s.held[i]), After: jsonvalue.Document(item)})
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

// place is the path of the n-th item of a stream.
func place(n int) string { return "$[" + strconv.Itoa(n) + "]" }
