package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// DuplicateItem delivers one item of a stream twice: the one after the first n.
// n is at least 0.
func DuplicateItem(n int) chaos.Fault { return duplicateItem.Of(afterItems{n}) }

var duplicateItem = &catalog.Stream[afterItems]{
	Row: catalog.Row{
		Kind: "duplicate_item", Doc: "An item of a stream arrives twice.",
		Go: "fault.DuplicateItem(n)", Example: `{"after":1}`,
		Layer: chaos.LayerStream, Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Stream: func(ctx context.Context, _ chaos.Call, p afterItems, items iter.Seq2[any, error]) iter.Seq2[any, error] {
		return arriving(items, func(n int, item any, yield func(any, error) bool) bool {
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

// MalformItem spoils one item of a stream: the one after the first n. A JSON
// document is cut in the middle; another text gets a byte that is not UTF-8. n
// is at least 0.
//
// An item is a json.RawMessage, a []byte or a string. An item of another type,
// or an empty one, is passed on, and the event has a note.
func MalformItem(n int) chaos.Fault { return malformItem.Of(afterItems{n}) }

var malformItem = &catalog.Stream[afterItems]{
	Row: catalog.Row{
		Kind: "malformed_item", Doc: "An item of a stream cannot be decoded.",
		Go: "fault.MalformItem(n)", Example: `{"after":1}`,
		Layer: chaos.LayerStream, Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Stream: func(ctx context.Context, _ chaos.Call, p afterItems, items iter.Seq2[any, error]) iter.Seq2[any, error] {
		return oneItem(ctx, items, p.After, malform)
	},
}

// oneItem passes a stream on with one item changed, the one after the first n.
func oneItem(ctx context.Context, items iter.Seq2[any, error], after int,
	change func(ctx context.Context, item any) any) iter.Seq2[any, error] {
	return arriving(items, func(n int, item any, yield func(any, error) bool) bool {
		if n != after || disarmed(ctx) {
			return yield(item, nil)
		}
		return yield(change(ctx, item), nil)
	})
}

// malform changes a text so that its reader cannot decode it.
func malform(ctx context.Context, item any) any {
	doc, ok := jsonvalue.Text(item)
	if !ok || len(doc) == 0 {
		chaos.Note(ctx, fmt.Sprintf("an item of type %T is not a text that can be malformed", item))
		return item
	}
	broken := spoiled(doc)
	chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(item), After: jsonvalue.Document(string(broken))})
	switch item.(type) {
	case string:
		return string(broken)
	case []byte:
		return broken
	}
	return json.RawMessage(broken)
}

func spoiled(doc []byte) []byte {
	half := len(doc) / 2
	if json.Valid(doc) {
		cut := append([]byte(nil), doc[:half]...)
		if json.Valid(cut) || half == 0 { // of a number, or of one digit
			cut = append(cut, '{')
		}
		return cut
	}
	for half > 0 && !utf8.RuneStart(doc[half]) {
		half--
	}
	const noUTF8 = 0xFF // in no encoding of a rune (RFC 3629, section 1)
	broken := append([]byte(nil), doc[:half]...)
	broken = append(broken, noUTF8)
	return append(broken, doc[half:]...)
}

// EndAfter ends a stream early and without an error: its consumer gets n items
// and takes them for the whole stream. That happens when a connection is closed
// in good order in the middle of an answer. n is at least 0.
//
// One item more is taken from the source, and dropped. A stream of n items or
// fewer is not changed.
func EndAfter(n int) chaos.Fault { return endAfter.Of(afterItems{n}) }

var endAfter = &catalog.Stream[afterItems]{
	Row: catalog.Row{
		Kind: "early_end", Doc: "A stream ends early and without an error.",
		Go: "fault.EndAfter(n)", Example: `{"after":2}`,
		Layer: chaos.LayerStream, Class: chaos.ClassOmission, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Stream: func(ctx context.Context, _ chaos.Call, p afterItems, items iter.Seq2[any, error]) iter.Seq2[any, error] {
		return arriving(items, func(n int, item any, yield func(any, error) bool) bool {
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
	Row: catalog.Row{
		Kind: "missing_terminator", Doc: "A stream lacks its last item.", Go: "fault.DropLastItem()",
		Layer: chaos.LayerStream, Class: chaos.ClassOmission, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Stream: func(ctx context.Context, _ chaos.Call, _ catalog.None, items iter.Seq2[any, error]) iter.Seq2[any, error] {
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
	Row: catalog.Row{
		Kind: "reordered_items", Doc: "The items of a stream come in another order.",
		Go: "fault.ReorderItems(window)", Example: `{"window":3}`,
		Layer: chaos.LayerStream, Class: chaos.ClassProtocol, Visibility: chaos.Implicit, Effect: chaos.EffectDone,
	},
	Stream: func(ctx context.Context, c chaos.Call, p itemWindow, items iter.Seq2[any, error]) iter.Seq2[any, error] {
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
