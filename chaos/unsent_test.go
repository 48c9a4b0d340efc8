package chaos_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
)

// onceError is what a callee says that is not asked twice.
type onceError struct{}

func (onceError) Error() string { return "once" }
func (onceError) Unsent() bool  { return true }

// A further execution that does not reach the callee answers as the one before, a result or an error, and delivers nothing.
func TestARepetitionThatIsNotSent(t *testing.T) {
	gone := errors.New("gone")
	for _, twice := range []chaos.Fault{fault.Duplicate(), fault.Repeat(4), fault.DeliverTwice()} {
		for _, first := range []error{nil, gone, onceError{}} {
			plan, err := chaos.NewPlan(1, chaos.Rule{Target: "work", Fault: twice})
			require.NoError(t, err)
			in := plan.Injector("", nil)
			ctx := chaos.NewContext(t.Context(), in)
			asked := 0
			work := chaos.Wrap("work", func(context.Context, int) (int, error) {
				if asked++; asked > 1 {
					return 0, onceError{}
				}
				return 7, first
			})
			out, err := work(ctx, 1)
			assert.Equal(t, first, err)
			if first == nil {
				assert.Equal(t, 7, out)
			}
			e := in.Events()[0]
			assert.False(t, e.Delivered, "%+v", e)
			assert.Contains(t, e.Note, "the call was not executed again: once")
		}
		plan, err := chaos.NewPlan(1, chaos.Rule{Target: "items", Fault: twice})
		require.NoError(t, err)
		in := plan.Injector("", nil)
		begun := false
		items := chaos.WrapStream("items", func(context.Context, int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				if begun {
					yield(0, onceError{})
					return
				}
				begun = true
				_ = yield(1, nil) && yield(2, nil)
			}
		})
		var got []int
		for item, err := range items(chaos.NewContext(t.Context(), in), 1) {
			assert.NoError(t, err)
			got = append(got, item)
		}
		assert.Equal(t, []int{1, 2}, got)
		assert.False(t, in.Events()[0].Delivered)
	}
}
