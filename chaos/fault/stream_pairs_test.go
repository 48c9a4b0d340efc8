package fault_test

import (
	"context"
	"errors"
	"fmt"
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
