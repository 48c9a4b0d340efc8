package contract_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
)

// A Runner answers what would have happened under fewer faults.
func ExampleMatrix_Runner() {
	status := chaos.Func(chaos.Tool{Name: "status"}, func(context.Context, struct{}) (string, error) { return "shipped", nil })
	tools, err := chaos.NewRegistry(status)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				for range 2 { // one retry
					if said, err := tools.CallTool(ctx, "status", nil); err == nil {
						return string(said), nil
					}
				}
				return "lost", nil
			}}, nil
		},
		Prompts: []string{"Where is my order?"},
		Invariants: []contract.Invariant{{Name: "not-lost", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
			if o.Response == "lost" {
				return errors.New("the order is said to be lost")
			}
			return nil
		}}},
	}
	ctx := context.Background()
	r, err := m.Runner(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for _, calls := range [][]int{{1, 2}, {1}, {2}} {
		down := chaos.Rule{Name: "down", Target: "status", When: when.Nth(calls...), Fault: fault.Fail(fault.ErrUnavailable)}
		result, err := r.Run(ctx, contract.Cell{Scenario: "down", Invariant: "not-lost", Trial: 1}, []chaos.Rule{down})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("calls", calls, "fail:", result.Cells[0].State)
	}
	// Output:
	// calls [1 2] fail: broken
	// calls [1] fail: held
	// calls [2] fail: undelivered
}
