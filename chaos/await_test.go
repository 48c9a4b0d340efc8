package chaos_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// TestAwaitArm: before Arm calls pass, uncounted and without an event; from then on the
// injector is one like any other. Closing wins over both.
func TestAwaitArm(t *testing.T) {
	down := errors.New("down")
	for _, record := range []bool{false, true} {
		plan, err := chaos.NewPlan(1, chaos.Rule{Name: "r", Target: "f", When: when.Nth(2), Fault: failer{err: down}})
		require.NoError(t, err)
		in := plan.Injector("", &chaos.InjectorOptions{RecordAll: record, AwaitArm: true})
		ctx := chaos.NewContext(context.Background(), in)
		f := chaos.Wrap("f", func(context.Context, int) (int, error) { return 1, nil })
		for range 3 {
			_, err := f(ctx, 1)
			require.NoError(t, err)
			require.NoError(t, chaos.Point(ctx, "f"))
		}
		injected, err := in.InjectNow(ctx, "r")
		assert.False(t, injected)
		assert.NoError(t, err)
		assert.Empty(t, in.Events())
		assert.Empty(t, in.Targets())
		in.Disarm()
		assert.NoError(t, chaos.Point(ctx, "f"))
		in.Arm()
		assert.NoError(t, chaos.Point(ctx, "f"), "the first call that counts")
		assert.ErrorIs(t, chaos.Point(ctx, "f"), down, "the second")

		late := plan.Injector("", &chaos.InjectorOptions{AwaitArm: true})
		late.Close()
		assert.ErrorIs(t, chaos.Point(chaos.NewContext(ctx, late), "f"), chaos.ErrCellEnded)
	}
}
