package fault_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A stream of several items is one call: delays come before the first item,
// changes apply to each, and a failure stands in the place of them all.
func TestStreamsOfSeveralItems(t *testing.T) {
	for _, c := range []struct {
		why   string
		fault chaos.Fault
		items []string
		fails bool
		first time.Duration // until the first item, or the error
		runs  int
	}{
		{"a delay", fault.Delay(time.Second), []string{"a", "b", "c"}, false, time.Second, 1},
		{"a change", fault.Mutate("shout", strings.ToUpper), []string{"A", "B", "C"}, false, 0, 1},
		{"a replacement, equal to one of them", fault.Replace("b"), []string{"b", "b", "b"}, false, 0, 1},
		{"a failure", fault.Fail(fault.ErrUnavailable), nil, true, 0, 0},
		{"a time-out", fault.Timeout(time.Minute), nil, true, time.Minute, 0},
		{"a lost reply", fault.LoseReply(), nil, true, time.Second, 1},
		{"a repeated execution, unseen", fault.Repeat(3), []string{"a", "b", "c"}, false, 0, 3},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, in := withRules(t, chaos.Rule{Fault: c.fault})
				runs := 0
				letters := chaos.WrapStream(target, func(context.Context, int) iter.Seq2[string, error] {
					return func(yield func(string, error) bool) {
						runs++
						_ = yield("a", nil) && yield("b", nil) && yield("c", nil)
					}
				})
				start, first, failed := time.Now(), time.Duration(-1), false
				var items []string
				for item, err := range letters(ctx, 0) {
					if first < 0 {
						first = time.Since(start)
					}
					if failed = err != nil; !failed {
						items = append(items, item)
					}
				}
				assert.Equal(t, c.items, items)
				assert.Equal(t, c.fails, failed)
				assert.Equal(t, c.first, first)
				assert.Equal(t, c.runs, runs)
				assert.True(t, onlyEvent(t, in).Delivered)
			})
		})
	}
}

// A point inside a function has no result: delays and failures apply there.
func TestPoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, _ := withRules(t, chaos.Rule{Fault: fault.Delay(time.Second)}, chaos.Rule{Fault: fault.Partition()})
		assert.Equal(t, time.Second, took(func() {
			assert.ErrorIs(t, chaos.Point(ctx, target), fault.ErrNetworkPartition)
		}))
		assert.NoError(t, chaos.Point(ctx, "elsewhere"))
	})
}

// Run by hand, with no call behind it, a fault does to the one who runs it
// what it would do to a caller.
func TestTriggeredByHand(t *testing.T) {
	for _, r := range catalogue() {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := chaos.NewInjector(1, nil)
				require.NoError(t, in.Register(chaos.Rule{Name: "by hand", Target: target, Fault: r.fault}))
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				spent := took(func() {
					defer func() { assert.Equal(t, r.panics, recover() != nil) }()
					fired, err := in.InjectNow(ctx, "by hand")
					assert.True(t, fired)
					for _, want := range r.is {
						assert.ErrorIs(t, err, want)
					}
					assert.Equal(t, r.is != nil, err != nil)
				})
				assert.LessOrEqual(t, max(r.lo, r.spent), spent)
			})
		})
	}
}
