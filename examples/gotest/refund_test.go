// The matrix that the README begins: an agent that refunds, in a file of its own.

package gotest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

type refund struct {
	Order string `json:"order"`
	Key   string `json:"key"`
}

// newDesk makes the world of one cell: a tool that refunds, and an agent that calls it.
func newDesk(context.Context) (*contract.World, error) {
	refunds := map[string]string{} // order, by idempotency key
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "refund", Effect: chaos.EffectDone},
		func(_ context.Context, in refund) (string, error) {
			refunds[in.Key] = in.Order
			return "refunded", nil
		}))
	agent := func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		for range 3 { // try again when there is no answer: the key makes that safe
			if _, err := tools.CallTool(ctx, "refund", json.RawMessage(`{"order":"1042","key":"a"}`)); err == nil {
				return "Order 1042 is refunded.", nil
			}
		}
		return "Order 1042 could not be refunded; a colleague will see to it.", nil
	}
	state := func(context.Context) (any, error) {
		var orders []string
		for _, order := range refunds {
			orders = append(orders, order)
		}
		return orders, nil
	}
	return &contract.World{Agent: agent, Tools: tools, State: state}, err
}

func TestRefundsInAMatrix(t *testing.T) {
	contracttest.Run(t, &contract.Matrix{
		NewWorld: newDesk,
		Prompts:  []string{"Refund order 1042"},
		Invariants: []contract.Invariant{
			invariant.AtMostOnce("one-refund", contract.Critical, func(orders []string) []string { return orders }),
			invariant.Contains("names-the-order", contract.Low, "1042"),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			contract.Under("reply-lost", chaos.Rule{Target: "refund", When: when.First(1), Fault: fault.LoseReply()}),
			contract.Under("flaky", chaos.Rule{Target: "refund", When: when.Prob(0.3), Fault: fault.Fail(fault.ErrUnavailable)}),
		},
		Trials: 20,
	}, nil)
}
