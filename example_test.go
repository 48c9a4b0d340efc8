package shakedown_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// newWorld makes everything that one cell touches: the books, the tool that
// writes them, and an agent that tries again when it gets no answer.
func newWorld(context.Context) (*contract.World, error) {
	var refunds []int
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "refund", Effect: chaos.EffectDone},
		func(_ context.Context, order int) (string, error) {
			refunds = append(refunds, order)
			return "refunded", nil
		}))
	agent := func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		for range 3 {
			if _, err := tools.CallTool(ctx, "refund", json.RawMessage(`1042`)); err == nil {
				return "Order 1042 is refunded.", nil
			}
		}
		return "The refund did not work; a colleague will see to it.", nil
	}
	state := func(context.Context) (any, error) { return len(refunds), nil }
	return &contract.World{Agent: agent, Tools: tools, State: state}, err
}

func atMostOneRefund(_ context.Context, o *contract.Observation) error {
	if n := o.After.(int); n > 1 {
		return fmt.Errorf("the order was refunded %d times", n)
	}
	return nil
}

func Example() {
	matrix := &contract.Matrix{
		NewWorld: newWorld,
		Prompts:  []string{"Refund order 1042"},
		Invariants: []contract.Invariant{
			{Name: "one-refund", Severity: contract.Critical, Needs: contract.NeedState, Check: atMostOneRefund},
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "refund-refused", Rules: []chaos.Rule{{Target: "refund", When: when.First(1), Fault: fault.Fail(errors.New("503 service unavailable"))}}},
			{Name: "refund-reply-lost", Rules: []chaos.Rule{{Target: "refund", When: when.First(1), Fault: fault.LoseReplyAfter(time.Millisecond)}}},
		},
		Seed: 1,
	}
	report, err := matrix.Run(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range report.Cells {
		fmt.Println(strings.TrimSpace(fmt.Sprint(c.Cell, " ", c.State, " ", c.Why)))
	}
	fmt.Println(report.Score.Verdict, report.Score.Value)
	// Output:
	// calm/one-refund/1 held
	// refund-refused/one-refund/1 held
	// refund-reply-lost/one-refund/1 broken the order was refunded 2 times
	// FAIL 66.67
}
