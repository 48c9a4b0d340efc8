package goal_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/goal"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// An agent that never retries keeps its promise, for it does nothing. The goal says that
// this is not what the test is about.
func Example() {
	status := chaos.Func(chaos.Tool{Name: "orders.status"}, func(context.Context, struct{}) (string, error) {
		return "shipped", nil
	})
	tools, err := chaos.NewRegistry(status)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				said, err := tools.CallTool(ctx, "orders.status", json.RawMessage(`{}`))
				if err != nil {
					return "I cannot tell at the moment.", nil
				}
				return "Your order: " + string(said), nil
			}}, nil
		},
		Prompts:    []string{"Where is my order?"},
		Invariants: []contract.Invariant{invariant.Excludes("no-stack-trace", contract.High, "goroutine")},
		Scenarios: []contract.Scenario{contract.Under("flaky",
			chaos.Rule{Target: "orders.status", When: when.Nth(1), Fault: fault.Fail(fault.ErrUnavailable)})},
		Goals: []contract.Goal{goal.Recovered("orders.status")},
	}
	report, err := m.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Score.Passed, "of", report.Score.Decided, "cells held")
	fmt.Println(report.Score.Verdict, report.Score.Why)
	// Output:
	// 1 of 1 cells held
	// INCONCLUSIVE goal "recovered-orders.status" was reached in none of 1 run
}
