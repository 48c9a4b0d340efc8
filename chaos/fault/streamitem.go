package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/internal/param"
	"github.com/shakedown-go/shakedown/internal/jsonvalue"
)

// DuplicateItem delivers one item of a stream twice: the one after the first n.
// n is at least 0.
func DuplicateItem(n int) chaos.Fault { return duplicateItem{after: n} }

type duplicateItem struct {
	onStreams
	after int
}

func (f duplicateItem) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return arriving(items, func(n int, item any, yield func(any, error) bool) bool {
		if !yield(item, nil) {
			return false
		}
		if n != f.after || disarmed(ctx) {
			return true
		}
		chaos.Changed(ctx, chaos.Change{Path: place(n + 1), After: jsonvalue.Document(item)})
		return yield(item, nil)
	})
}

func (f duplicateItem) Check() error {
	c := param.Check{Kind: "duplicate_item"}
	items(&c, f.after)
	return c.Err()
}

func (f duplicateItem) Describe() chaos.Description {
	return describeStream("duplicate_item", chaos.ClassProtocol, chaos.Implicit, streamParams{After: &f.after})
}

// MalformItem spoils one item of a stream: the one after the first n. A JSON
// document is cut in the middle; another text gets a byte that is not UTF-8. n
// is at least 0.
//
// An item is a json.RawMessage, a []byte or a string. An item of another type,
// or an empty one, is passed on, and the event has a note; use [MutateItem] for
// those.
func MalformItem(n int) chaos.Fault {
	return oneItem{kind: "malformed_item", class: chaos.ClassProtocol, after: n, spoil: malform}
}

// MutateItem replaces one item of a stream, the one after the first n, by the
// result of fn. n is at least 0. [Mutate], which also applies to streams,
// changes all items. name and fn are as there.
func MutateItem[T any](n int, name string, fn func(T) T) chaos.Fault {
	m := mutate[T]{name, fn}
	return oneItem{kind: "mutate_item", class: chaos.ClassValue, after: n, name: name, typ: fmt.Sprint(reflect.TypeFor[T]()), noFunc: fn == nil,
		spoil: func(ctx context.Context, item any) (any, error) {
			return m.Inject(ctx, chaos.Call{}, nil, func(context.Context, any) (any, error) { return item, nil })
		}}
}

type oneItem struct {
	onStreams
	kind      string
	class     chaos.Class
	after     int
	name, typ string
	noFunc    bool
	spoil     func(ctx context.Context, item any) (any, error)
}

func (f oneItem) Stream(ctx context.Context, _ chaos.Call, items iter.Seq2[any, error]) iter.Seq2[any, error] {
	return arriving(items, func(n int, item any, yield func(any, error) bool) bool {
		if n != f.after || disarmed(ctx) {
			return yield(item, nil)
		}
		return yield(f.spoil(ctx, item))
	})
}

func (f oneItem) Check() error {
	c := param.Check{Kind: f.kind}
	items(&c, f.after)
	c.That(f.typ == "" || f.name != "", "name", `""`, "a name that says what fn does")
	c.That(!f.noFunc, "fn", nil, "a function")
	return c.Err()
}

func (f oneItem) Describe() chaos.Description {
	return describeStream(f.kind, f.class, chaos.Implicit, streamParams{After: &f.after, Name: f.name, Type: f.typ})
}

// malform changes a text so that its reader cannot decode it.
func malform(ctx context.Context, item any) (any, error) {
	doc, ok := jsonvalue.Text(item)
	if !ok || len(doc) == 0 {
		chaos.Note(ctx, fmt.Sprintf("an item of type %T is not a text that can be malformed", item))
		return item, nil
	}
	broken := spoiled(doc)
	chaos.Changed(ctx, chaos.Change{Before: jsonvalue.Document(item), After: jsonvalue.Document(string(broken))})
	switch item.(type) {
	case string:
		return string(broken), nil
	case []byte:
		return broken, nil
	}
	return json.RawMessage(broken), nil
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

// place is the path of the n-th item of a stream.
func place(n int) string { return "$[" + strconv.Itoa(n) + "]" }
