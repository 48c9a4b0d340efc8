package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/audit"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// The result of an audit that a file has, and the matrix of an agent that calls again when a reply is lost. The tool itself
// declares nothing, so without the audit the invariant could not decide.
func ExampleResult_Declare() {
	audited, err := audit.Read(bytes.NewReader([]byte(`{"tools": [{
		"tool": "refund", "verdict": "doubles", "why": "reply-lost: the work is done more than once: \"/1042\" is 2, and after one call 1",
		"readOnly": "not claimed", "idempotent": "not claimed", "destructive": "not claimed",
		"evidence": [{"tool": "refund", "treatment": "twice", "verdict": "doubles", "effect": "adds"}]
	}]}`)))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := &contract.Matrix{
		Invariants: []contract.Invariant{invariant.NoDuplicateEffects("one-refund", contract.Critical)},
		Scenarios: []contract.Scenario{{Name: "reply-lost", Prompts: []string{"Refund order 1042."},
			Rules: []chaos.Rule{{Target: "refund", Fault: fault.LoseReply(), Limit: 1}}}},
		NewWorld: func(context.Context) (*contract.World, error) {
			refund := chaos.Func(chaos.Tool{Name: "refund"}, func(context.Context, struct{ Order string }) (string, error) {
				return "refunded", nil
			})
			tools, err := chaos.NewRegistry(refund)
			if err != nil {
				return nil, err
			}
			return &contract.World{Tools: audited.Declare(tools), Agent: agent}, nil
		},
	}
	r, err := m.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	why, _, _ := strings.Cut(r.Cells[0].Why, " Calls:")
	fmt.Printf("%v: %s\n", r.Cells[0].State, why)
	// Output:
	// broken: the effect of refund was done 2 times for equal arguments; an audit found that it doubles.
}

// agent refunds an order, and tries again if that fails.
func agent(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
	for range 3 {
		if _, err := tools.CallTool(ctx, "refund", json.RawMessage(`{"order":"1042"}`)); err == nil {
			return "Order 1042 was refunded.", nil
		}
	}
	return "The refund failed.", nil
}
