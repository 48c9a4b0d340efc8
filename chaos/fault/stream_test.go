package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// onStreams are faults that a stream can meet: those of its items, and of calls. An item
// in another place counts, even if it equals the one that was there, so no fault here makes
// items equal.
func onStreams() map[string]chaos.Fault {
	faults := map[string]chaos.Fault{
		"SlowFirstItem": fault.SlowFirstItem(time.Second), "SlowItems": fault.SlowItems(2 * time.Second), "DropLastItem": fault.DropLastItem(),
		"ReorderItems 2": fault.ReorderItems(2), "ReorderItems 3": fault.ReorderItems(3),
		"LoseReply": fault.LoseReplyAfter(0), "LoseReply late": fault.LoseReplyAfter(5 * time.Second), "Delay": fault.Delay(9 * time.Second),
		"Duplicate": fault.Duplicate(), "Fail": fault.Fail(errors.New("down")),
	}
	for n := range 4 {
		of := " " + strconv.Itoa(n)
		faults["CutAfter"+of], faults["EndAfter"+of], faults["HangAtItem"+of] = fault.CutAfter(n), fault.EndAfter(n), fault.HangAtItem(n)
		faults["DuplicateItem"+of], faults["MalformItem"+of] = fault.DuplicateItem(n), fault.MalformItem(n)
	}
	return faults
}

// feed is a stream that the faults act on.
type feed struct {
	name  string
	items []string
	fails bool
}

func feeds() []feed {
	return []feed{
		{"four items", []string{"one", "two", "three", "four"}, false},
		{"a failing source", []string{"one", "two"}, true}, {"one item", []string{"one"}, false}, {"no item", nil, false},
	}
}

// taken is what a consumer sees of a stream, and its source of the consumer.
type taken struct {
	items string // each with its time
	end   string // the error, or the end; empty: the consumer left before
	runs  int    // of the source
}

// take consumes one stream with faults, of which the consumer takes so many items, -1:
// all. A fault that is nil is left out. delivered are the places of those that were
// delivered, and failed reports whether the event has an error.
func take(t *testing.T, from feed, most int, faults ...chaos.Fault) (s taken, delivered []int, failed bool) {
	var rules []chaos.Rule
	for i, f := range faults {
		if f != nil {
			rules = append(rules, chaos.Rule{Name: strconv.Itoa(i), Fault: f, Target: "stream"})
		}
	}
	plan, err := chaos.NewPlan(1, rules...)
	require.NoError(t, err)
	in := plan.Injector("cell", nil)
	stream := chaos.WrapStream("stream", func(context.Context, int) iter.Seq2[string, error] {
		s.runs++
		return func(yield func(string, error) bool) {
			for _, item := range from.items {
				if !yield(item, nil) {
					return
				}
			}
			if from.fails {
				yield("", errors.New("the source failed"))
			}
		}
	})
	ctx, cancel := context.WithTimeout(chaos.NewContext(t.Context(), in), time.Hour)
	defer cancel()
	began, n := time.Now(), 0
	consume := func() {
		for item, err := range stream(ctx, 0) {
			if err != nil {
				s.end = fmt.Sprintf("%v %v", time.Since(began), err)
				return
			}
			s.items += fmt.Sprintf("%v %s;", time.Since(began), item)
			if n++; n == most {
				return
			}
		}
		s.end = fmt.Sprintf("%v end", time.Since(began))
	}
	consume()
	if len(rules) == 0 {
		return s, nil, false
	}
	require.LessOrEqual(t, len(in.Events()), 1)
	for _, e := range in.Events() {
		if e.Delivered {
			for _, name := range append(slices.Clone(e.Also), e.Rule) {
				i, err := strconv.Atoi(name)
				require.NoError(t, err)
				delivered = append(delivered, i)
			}
		}
		failed = e.Err != ""
	}
	slices.Sort(delivered)
	return s, delivered, failed
}

func waits(name string) bool {
	return strings.HasPrefix(name, "Slow") || strings.HasPrefix(name, "Hang") || name == "Delay" || name == "LoseReply late"
}

// Two faults on one stream, however many items its consumer takes before it leaves: those
// are delivered that explain what it got. The oracle takes the stream without faults and
// with each of them alone.
func TestTheDeliveredOfTwoFaultsExplainWhatTheConsumerGot(t *testing.T) {
	faults := onStreams()
	names, c, every := slices.Sorted(maps.Keys(faults)), &complaints{counts: map[string]int{}}, 7
	if os.Getenv("SHAKEDOWN_DEEP") != "" {
		every = 1
	}
	i := 0
	for _, from := range feeds() {
		for _, most := range []int{1, 2, 3, -1} {
			synctest.Test(t, func(t *testing.T) {
				none, _, _ := take(t, from, most)
				first, second := map[string]taken{}, map[string]taken{}
				for _, name := range names {
					var alone []int
					first[name], alone, _ = take(t, from, most, faults[name])
					second[name], _, _ = take(t, from, most, nil, faults[name])
					if (first[name] != none) != (len(alone) > 0) {
						c.add("alone", "%s, %d items: %s: %+v", from.name, most, name, first[name])
					}
				}
				for _, x := range names {
					for _, y := range names {
						if i++; i%every != 0 || y == fmt.Sprint("EndAfter ", len(from.items)) {
							continue // it ends the stream before the source says that it has no more
						}
						both, delivered, failed := take(t, from, most, faults[x], faults[y])
						c.counts["pairs"]++
						j := seenTogether{none, both, [2]taken{first[x], second[y]}, [2]string{x, y}, delivered, failed}
						if wrong := j.wrong(); wrong != "" {
							c.add(wrong, "%s, %d items: %s, then %s: %v\n%+v", from.name, most, x, y, delivered, j)
						}
					}
				}
			})
		}
	}
	c.check(t)
}

// complaints are what contradicts a law, by its sentence. A bubble that failed would end
// the test.
type complaints struct {
	counts map[string]int
	first  []string
}

func (c *complaints) add(sentence, format string, args ...any) {
	if c.counts[sentence]++; len(c.first) < 10 {
		c.first = append(c.first, sentence+": "+fmt.Sprintf(format, args...))
	}
}

func (c *complaints) check(t *testing.T) {
	t.Logf("%v", c.counts)
	for _, one := range c.first {
		assert.Fail(t, one)
	}
}

// seenTogether is what two faults showed, together and alone.
type seenTogether struct {
	none, both taken
	alone      [2]taken
	names      [2]string
	delivered  []int
	failed     bool
}

// wrong says which sentence of the law does not hold; empty: all do.
func (j seenTogether) wrong() string {
	is := func(want ...int) bool { return slices.Equal(j.delivered, want) }
	switch first, second := j.both == j.alone[0], j.both == j.alone[1]; {
	case j.failed && (j.both.end == "" || strings.HasSuffix(j.both.end, " end")):
		return "the event has an error that the consumer did not get"
	case j.both == j.none && !is():
		return "nothing was seen, and one was delivered"
	case j.both != j.none && is():
		return "something was seen, and none was delivered"
	case j.both == j.none, waits(j.names[0]), waits(j.names[1]):
	case first && !second && !is(0), second && !first && !is(1):
		return "what was seen is what one shows alone, and the other was delivered"
	}
	return ""
}
