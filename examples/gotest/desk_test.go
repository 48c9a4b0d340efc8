package gotest

import (
	"testing"

	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// Every invariant in every scenario, a subtest each, in virtual time. To see one
// cell by itself:
//
//	go test -v -run 'TestOrderDesk/^refund-reply-lost$/^one-refund$' ./examples/gotest
func TestOrderDesk(t *testing.T) {
	report := contracttest.Run(t, orderdesk.Matrix(orderdesk.Robust()), nil)
	if report.Filtered {
		return // -run picked some cells, and they have spoken for themselves
	}
	contracttest.AssertPassed(t, report)
	contracttest.AssertHeld(t, report, "one-refund")
	contracttest.AssertScoreAtLeast(t, report, 95)
}
