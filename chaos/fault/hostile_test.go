package fault_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// The consumer of a stream that is delivered twice sees the first delivery, and
// nothing of the second: neither its items nor its error, nor that it has none.
func TestDeliveredTwiceOnAStreamShowsTheFirst(t *testing.T) {
	broken := errors.New("conflict: already delivered")
	for name, failing := range map[string]int{"the second fails": 2, "the first fails": 1} {
		t.Run(name, func(t *testing.T) {
			plan, err := chaos.NewPlan(1, chaos.Rule{Target: "feed", Fault: fault.DeliverTwice()})
			require.NoError(t, err)
			in := plan.Injector("", nil)
			runs := 0
			feed := chaos.WrapStream("feed", func(context.Context, int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					runs++
					if yield(1, nil) && runs == failing {
						yield(0, broken)
					}
				}
			})
			var items []int
			var errs []error
			for item, err := range feed(chaos.NewContext(t.Context(), in), 0) {
				if err != nil {
					errs = append(errs, err)
					continue
				}
				items = append(items, item)
			}
			assert.Equal(t, 2, runs)
			assert.Equal(t, []int{1}, items)
			event := in.Events()[0]
			assert.True(t, event.Delivered)
			if failing == 2 {
				assert.Empty(t, errs, "nobody sees how the second delivery ended")
				assert.Equal(t, chaos.OutcomeOK, event.Outcome)
				return
			}
			assert.Equal(t, []error{broken}, errs)
			assert.Equal(t, chaos.OutcomeFailed, event.Outcome)
		})
	}
}

// A stream without end whose reply was to be lost comes through from the moment
// in which the injector is disarmed: what was held back first, then the rest.
func TestLostStreamArrivesWhenDisarmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, err := chaos.NewPlan(1, chaos.Rule{Target: "feed", Fault: fault.LoseReplyAfter(time.Second)})
		require.NoError(t, err)
		in := plan.Injector("", nil)
		feed := chaos.WrapStream("feed", func(ctx context.Context, _ int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for n := 0; n < 100; n++ {
					time.Sleep(time.Second)
					if n == 3 {
						in.Disarm()
					}
					if !yield(n, nil) {
						return
					}
				}
			}
		})
		start := time.Now()
		var items []int
		for item, err := range feed(chaos.NewContext(t.Context(), in), 0) {
			require.NoError(t, err)
			if items = append(items, item); len(items) == 6 {
				break
			}
		}
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, items)
		assert.Equal(t, 6*time.Second, time.Since(start), "nothing was waited for but the source")
		assert.False(t, in.Events()[0].Delivered)
	})
}

// A call that panics takes its time like any other.
func TestTimeBudgetCountsAPanickingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, err := chaos.NewPlan(1, chaos.Rule{Target: "work", Fault: fault.TimeBudget(time.Second, 0)})
		require.NoError(t, err)
		work := chaos.Wrap("work", func(context.Context, int) (int, error) {
			time.Sleep(2 * time.Second)
			panic("out of luck")
		})
		ctx := chaos.NewContext(t.Context(), plan.Injector("", nil))
		assert.Panics(t, func() { _, _ = work(ctx, 0) })
		_, err = work(ctx, 0)
		require.ErrorIs(t, err, fault.ErrResourceExhausted)
	})
}

// What a fault says of every item of a long stream is noted once.
func TestNotesOfALongStreamAreBounded(t *testing.T) {
	lower := fault.Mutate("lower", func(s string) string { return s + "." })
	for name, f := range map[string]chaos.Fault{"a result of the wrong type": fault.Replace("text"), "items of another type": lower} {
		t.Run(name, func(t *testing.T) {
			plan, err := chaos.NewPlan(1, chaos.Rule{Target: "feed", Fault: f})
			require.NoError(t, err)
			in := plan.Injector("", nil)
			feed := chaos.WrapStream("feed", func(context.Context, int) iter.Seq2[float64, error] {
				return func(yield func(float64, error) bool) {
					for n := 0; n < 1000 && yield(float64(n), nil); n++ {
					}
				}
			})
			for _, err := range feed(chaos.NewContext(t.Context(), in), 0) {
				require.NoError(t, err)
			}
			note := in.Events()[0].Note
			assert.NotEmpty(t, note)
			assert.Less(t, len(note), 200)
		})
	}
}
