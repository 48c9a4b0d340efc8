package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// source is a stream of words that counts how many were taken from it, and
// notices its end.
type source struct {
	words []string
	fails error // after the words
	taken int
	ended bool
}

func (s *source) stream(context.Context, int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		defer func() { s.ended = true }()
		for _, w := range s.words {
			if s.taken++; !yield(w, nil) {
				return
			}
		}
		if s.fails != nil {
			yield("", s.fails)
		}
	}
}

// consume takes up to most items, and the last error.
func consume(items iter.Seq2[string, error], most int) (got string, err error) {
	n := 0
	for item, itemErr := range items {
		if err = itemErr; err != nil {
			got += "!"
		} else {
			got += item
		}
		if n++; n == most {
			break
		}
	}
	return got, err
}

const all = 99

// Each fault of streams does to its consumer what it says, takes no more of the
// source than it must, and is delivered only to a consumer that saw it.
func TestStreamFaults(t *testing.T) {
	errLost := errors.New("stream lost")
	const s = time.Second
	for _, c := range []struct {
		why       string
		fault     chaos.Fault
		most      int
		got       string
		is        error
		taken     int
		spent     time.Duration
		delivered bool
	}{
		{"cut in the middle", fault.CutAfter(2), all, "ab!", io.ErrUnexpectedEOF, 2, 0, true},
		{"cut with an error of one's own", fault.CutAfterWith(2, errLost), all, "ab!", errLost, 2, 0, true},
		{"cut before the first item", fault.CutAfter(0), all, "!", io.ErrUnexpectedEOF, 0, 0, true},
		{"cut in place of the end", fault.CutAfter(4), all, "abcd!", io.ErrUnexpectedEOF, 4, 0, true},
		{"cut behind the end", fault.CutAfter(5), all, "abcd", nil, 4, 0, false},
		{"cut where nobody looks", fault.CutAfter(3), 3, "abc", nil, 3, 0, false},
		{"a stall", fault.HangAtItem(1), all, "a!", context.DeadlineExceeded, 1, patience, true},
		{"a stall behind the consumer's last", fault.HangAtItem(2), 2, "ab", nil, 2, 0, false},
		{"a slow first token", fault.SlowFirstItem(s), all, "abcd", nil, 4, s, true},
		{"a first token slower than the caller's patience", fault.SlowFirstItem(time.Hour), all, "!", context.DeadlineExceeded, 1, patience, true},
		{"slow items", fault.SlowItems(s / 2), all, "abcd", nil, 4, 2 * s, true},
		{"slow items, of which two are wanted", fault.SlowItems(s / 2), 2, "ab", nil, 2, s, true},
		{"a duplicate", fault.DuplicateItem(1), all, "abbcd", nil, 4, 0, true},
		{"the last item twice", fault.DuplicateItem(3), all, "abcdd", nil, 4, 0, true},
		{"a duplicate nobody takes", fault.DuplicateItem(1), 2, "ab", nil, 2, 0, false},
		{"a duplicate of what does not come", fault.DuplicateItem(4), all, "abcd", nil, 4, 0, false},
		{"an early end", fault.EndAfter(2), all, "ab", nil, 3, 0, true},
		{"an empty stream", fault.EndAfter(0), all, "", nil, 1, 0, true},
		{"an end where the end is", fault.EndAfter(4), all, "abcd", nil, 4, 0, false},
		{"an end that the consumer comes before", fault.EndAfter(2), 2, "ab", nil, 2, 0, false},
		{"no terminator", fault.DropLastItem(), all, "abc", nil, 4, 0, true},
		{"no terminator, for one who stops before", fault.DropLastItem(), 3, "abc", nil, 4, 0, false},
		{"pairs swapped", fault.ReorderItems(2), all, "badc", nil, 4, 0, true},
		{"pairs swapped, and the consumer has seen one", fault.ReorderItems(2), 1, "b", nil, 2, 0, true},
		{"a malformed text", fault.MalformItem(1), all, "ab\xffcd", nil, 4, 0, true},
		{"a malformed text after the last", fault.MalformItem(9), all, "abcd", nil, 4, 0, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &source{words: []string{"a", "b", "c", "d"}}
				ctx, in := withRules(t, chaos.Rule{Fault: c.fault})
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				var got string
				var err error
				assert.Equal(t, c.spent, took(func() { got, err = consume(chaos.WrapStream(target, src.stream)(ctx, 0), c.most) }))
				assert.Equal(t, c.got, got)
				assert.ErrorIs(t, err, c.is)
				if c.is != nil {
					assert.ErrorIs(t, err, chaos.ErrInjected)
				}
				assert.Equal(t, c.taken, src.taken, "items taken from the source")
				assert.Equal(t, src.taken > 0, src.ended, "the source's iterator was stopped")
				e := onlyEvent(t, in)
				assert.Equal(t, c.delivered, e.Delivered)
				assert.Equal(t, c.delivered, len(in.Undelivered()) == 0)
				assert.Equal(t, c.spent, e.Spent)
				if !c.delivered {
					assert.Empty(t, e.Changes)
				}
			})
		})
	}
}

// What several faults do to one stream follows the order of their rules; a
// difference that one makes and another hides was not delivered.
func TestStreamFaultsTogether(t *testing.T) {
	shout := fault.Mutate("shout", func(s string) string { return strings.ReplaceAll(s, "c", "C") })
	for _, c := range []struct {
		why   string
		inner chaos.Fault
		outer chaos.Fault
		got   string
		also  []string
		idle  []string
	}{
		{"changed, then doubled", shout, fault.DuplicateItem(2), "abCCd", []string{"inner"}, nil},
		{"changed, then cut off", shout, fault.EndAfter(2), "ab", nil, []string{"inner"}},
		{"all items changed, then one doubled", fault.Mutate("shout", strings.ToUpper), fault.DuplicateItem(0), "AABCD", []string{"inner"}, nil},
		{"doubled, then all changed", fault.DuplicateItem(0), fault.Mutate("shout", strings.ToUpper), "AABCD", []string{"inner"}, nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			src := &source{words: []string{"a", "b", "c", "d"}}
			ctx, in := withRules(t, chaos.Rule{Name: "inner", Fault: c.inner}, chaos.Rule{Name: "outer", Fault: c.outer})
			got, err := consume(chaos.WrapStream(target, src.stream)(ctx, 0), all)
			assert.NoError(t, err)
			e := onlyEvent(t, in)
			assert.True(t, e.Delivered)
			assert.Equal(t, c.got, got)
			assert.Equal(t, c.idle, e.Idle)
			assert.Equal(t, c.also, e.Also)
			assert.Equal(t, "outer", e.Rule)
		})
	}
}

// An end that comes early is seen by who comes to it, not by who leaves while an
// outer fault still hands over what it held.
func TestAnEndThatNobodyComesTo(t *testing.T) {
	for most, seen := range map[int]bool{1: false, all: true} {
		src := &source{words: []string{"a", "b", "c", "d"}}
		ctx, in := withRules(t, chaos.Rule{Name: "end", Fault: fault.EndAfter(2)}, chaos.Rule{Name: "order", Fault: fault.ReorderItems(4)})
		got, err := consume(chaos.WrapStream(target, src.stream)(ctx, 0), most)
		assert.NoError(t, err)
		assert.Equal(t, "ba"[:min(most, 2)], got)
		assert.Equal(t, !seen, len(in.Undelivered()) == 1)
		assert.Equal(t, !seen, len(onlyEvent(t, in).Idle) == 1)
	}
}

// An error of the source reaches the consumer as it is, through every fault.
func TestStreamFaultsLeaveErrorsAlone(t *testing.T) {
	errSource := errors.New("source failed")
	for kind, f := range streamFaults() {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &source{fails: errSource}
				ctx, in := withRules(t, chaos.Rule{Fault: f})
				_, err := consume(chaos.WrapStream(target, src.stream)(ctx, 0), all)
				if kind == "malformed_item" || kind == "stream_hang" || kind == "stream_cut" {
					return // they act before there is an item, or say so themselves
				}
				assert.Equal(t, errSource, err)
				assert.False(t, onlyEvent(t, in).Delivered)
			})
		})
	}
}

// streamFaults has one of each kind, which acts on a stream of four words.
func streamFaults() map[string]chaos.Fault {
	return map[string]chaos.Fault{
		"stream_cut": fault.CutAfter(1), "stream_hang": fault.HangAtItem(1), "slow_first_item": fault.SlowFirstItem(time.Minute),
		"slow_items": fault.SlowItems(time.Minute), "duplicate_item": fault.DuplicateItem(1), "malformed_item": fault.MalformItem(1),
		"early_end":          fault.EndAfter(1),
		"missing_terminator": fault.DropLastItem(), "reordered_items": fault.ReorderItems(3),
	}
}

// Disarming takes a fault out of a stream at once, be it waiting or not: what
// follows comes as it is.
func TestStreamFaultsEndWhenDisarmed(t *testing.T) {
	for kind, f := range streamFaults() {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &source{words: []string{"a", "b", "c", "d"}}
				ctx, in := withRules(t, chaos.Rule{Fault: f})
				stop := time.AfterFunc(moment, in.Disarm)
				defer stop.Stop()
				got := ""
				spent := took(func() {
					for item, err := range chaos.WrapStream(target, src.stream)(ctx, 0) {
						assert.NoError(t, err)
						if got += item; len(got) == 1 {
							in.Disarm()
						}
					}
				})
				assert.LessOrEqual(t, spent, moment)
				if kind == "reordered_items" { // the window that was held already keeps its order
					assert.Len(t, got, 4)
				} else {
					assert.Equal(t, "abcd", got)
				}
			})
		})
	}
}

// At a point that is no stream they let the call through, and say so.
func TestStreamFaultsElsewhere(t *testing.T) {
	for kind, f := range streamFaults() {
		t.Run(kind, func(t *testing.T) {
			ctx, in := withRules(t, chaos.Rule{Fault: f})
			d := &desk{}
			status, err := wrapped(t, d)(ctx)
			assert.NoError(t, err)
			assert.Equal(t, "shipped", status)
			e := onlyEvent(t, in)
			assert.False(t, e.Delivered)
			assert.Contains(t, e.Note, "orders.status is no stream")
		})
	}
}

// A malformed item is one that its reader refuses, whatever it was.
func TestMalformedItems(t *testing.T) {
	for _, doc := range []string{`{"a":1}`, `[1,2]`, `12`, `1`, `"text"`, `true`, `null`, ` `, `data: {"a":1}`, `東京`} {
		ctx, in := withRules(t, chaos.Rule{Fault: fault.MalformItem(0)})
		chunks := chaos.WrapStream(target, func(context.Context, int) iter.Seq2[json.RawMessage, error] {
			return func(yield func(json.RawMessage, error) bool) { yield(json.RawMessage(doc), nil) }
		})
		for item, err := range chunks(ctx, 0) {
			assert.NoError(t, err)
			assert.False(t, json.Valid(item), "%q", item)
			assert.NotEqual(t, strings.ToValidUTF8(string(item), ""), "", "something is left of %s", doc)
		}
		assert.True(t, onlyEvent(t, in).Delivered)
	}
	ctx, in := withRules(t, chaos.Rule{Fault: fault.MalformItem(0)})
	numbers := chaos.WrapStream(target, func(context.Context, int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) { yield(7, nil) }
	})
	for n := range numbers(ctx, 0) {
		assert.Equal(t, 7, n)
	}
	e := onlyEvent(t, in)
	assert.False(t, e.Delivered)
	assert.Contains(t, e.Note, "an item of type int is not a text")
}

// The order of a window is drawn from the call: it repeats, no item is lost,
// and none moves further than the window.
func TestReorderIsAPermutationOfWindows(t *testing.T) {
	for seed := range uint64(50) {
		words := strings.Split("abcdefghijk", "")
		read := func() string {
			p, err := chaos.NewPlan(seed, chaos.Rule{Target: target, Fault: fault.ReorderItems(4)})
			assert.NoError(t, err)
			ctx := chaos.NewContext(t.Context(), p.Injector("cell", nil))
			got, err := consume(chaos.WrapStream(target, (&source{words: words}).stream)(ctx, 0), all)
			assert.NoError(t, err)
			return got
		}
		got := read()
		assert.Equal(t, got, read())
		for i, window := range []string{"abcd", "efgh", "ijk"} {
			part := got[4*i : min(4*i+4, len(got))]
			assert.NotEqual(t, window, part)
			assert.ElementsMatch(t, strings.Split(window, ""), strings.Split(part, ""), fmt.Sprint(seed))
		}
	}
}
