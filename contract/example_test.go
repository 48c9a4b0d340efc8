package contract_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// newClock makes a world whose agent has one tool and trusts it.
func newClock(context.Context) (*contract.World, error) {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(context.Context, struct{}) (string, error) {
		return "noon", nil
	}))
	return &contract.World{
		Tools: tools,
		Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			answer, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
			if err != nil {
				return "It is midnight.", nil // what it says when it does not know
			}
			return "It is " + string(answer) + ".", nil
		},
	}, err
}

func ExampleMatrix_Run() {
	m := &contract.Matrix{
		NewWorld: newClock,
		Prompts:  []string{"What time is it?"},
		Invariants: []contract.Invariant{
			invariant.NotEmpty("answers", contract.Medium),
			invariant.Excludes("never-midnight", contract.Critical, "midnight"),
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "clock-down", Rules: []chaos.Rule{{Target: "clock", Fault: fault.Fail(fault.ErrUnavailable)}}},
		},
		Seed: 1,
	}
	r, err := m.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Cells {
		fmt.Print(c.Cell, " ", c.State)
		if c.Why != "" {
			fmt.Print(": ", c.Why)
		}
		fmt.Println()
	}
	fmt.Printf("%v %.2f: %s\n", r.Score.Verdict, r.Score.Value, r.Score.Why)
	// Output:
	// calm/answers/1 held
	// calm/never-midnight/1 held
	// clock-down/answers/1 held
	// clock-down/never-midnight/1 broken: the answer contains the excluded "midnight" at byte 6: "It is midnight."
	// FAIL 62.50: critical invariant "never-midnight" broke in scenario "clock-down"
}

// A cell that broke is run again alone: same seed, same faults.
func ExampleMatrix_RunCell() {
	m := &contract.Matrix{
		NewWorld:   newClock,
		Prompts:    []string{"What time is it?"},
		Invariants: []contract.Invariant{invariant.Excludes("never-midnight", contract.High, "midnight")},
		Scenarios:  []contract.Scenario{{Name: "clock-down", Rules: []chaos.Rule{{Target: "clock", Fault: fault.Fail(fault.ErrUnavailable)}}}},
	}
	c, err := m.RunCell(context.Background(), contract.Cell{Scenario: "clock-down", Invariant: "never-midnight", Trial: 1}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.State, c.Evidence.Response)
	for _, e := range c.Evidence.Events {
		fmt.Println(e.Target, e.Rule, e.Delivered, e.Err)
	}
	// Output:
	// broken It is midnight.
	// clock clock:error true service unavailable
}
