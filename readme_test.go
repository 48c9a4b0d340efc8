// The README shows this file from its first declaration on.

package shakedown_test

import (
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// An order is refunded once, although the payment service fails twice.
func TestRefund(t *testing.T) {
	ctx := contracttest.Inject(t, 1, chaos.Rule{Target: "payments.refund", Limit: 2, Fault: fault.Fail(fault.ErrUnavailable)})

	refunds := 0
	refund := func() error { // your code, with an injection point
		if err := chaos.Point(ctx, "payments.refund"); err != nil {
			return err
		}
		refunds++
		return nil
	}
	for range 3 { // what is tested: it tries again
		if refund() == nil {
			break
		}
	}
	if refunds != 1 {
		t.Errorf("%d refunds", refunds)
	}
}
