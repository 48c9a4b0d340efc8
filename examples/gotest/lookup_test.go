package gotest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// price is code under test: it asks a supplier, and falls back on the price
// list when the supplier takes too long.
func price(ctx context.Context, supplier func(context.Context, string) (int, error), item string) (cents int, source string, err error) {
	asking, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	cents, err = supplier(asking, item)
	switch {
	case err == nil:
		return cents, "supplier", nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return 2450, "price list", nil
	}
	return 0, "", fmt.Errorf("no price for %s: %w", item, err)
}

func askSupplier(context.Context, string) (int, error) { return 2400, nil }

// A wrapped function does what it always did, until its context carries an
// injector. So the wrapping may stay in production code.
func TestPriceWhenTheSupplierIsSlow(t *testing.T) {
	supplier := chaos.Wrap("supplier.price", askSupplier)

	plan, err := chaos.NewPlan(1,
		chaos.Rule{Target: "supplier.*", When: when.Nth(2), Fault: fault.Delay(time.Hour)},
		chaos.Rule{Target: "supplier.*", When: when.Nth(3), Fault: fault.Fail(fault.ErrUnavailable)},
	)
	require.NoError(t, err)

	synctest.Test(t, func(t *testing.T) { // the hour takes no time
		in := plan.Injector(t.Name(), nil)
		ctx := chaos.NewContext(t.Context(), in)

		_, source, err := price(ctx, supplier, "teapot")
		require.NoError(t, err)
		assert.Equal(t, "supplier", source, "the first call is left alone")

		start := time.Now()
		_, source, err = price(ctx, supplier, "teapot")
		require.NoError(t, err)
		assert.Equal(t, "price list", source)
		assert.Equal(t, time.Second, time.Since(start), "a caller gives up when it said it would")

		_, _, err = price(ctx, supplier, "teapot")
		assert.ErrorIs(t, err, fault.ErrUnavailable, "the error is the one a real supplier would give")
		assert.ErrorIs(t, err, chaos.ErrInjected)

		assert.Empty(t, in.Undelivered(), "both faults were delivered, so the test has tested something")
	})
}
