package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/search"
)

// An agent pays, tries once more when it fails, and then says that it has paid.
func ExampleExplain() {
	pay := chaos.Func(chaos.Tool{Name: "pay", Effect: chaos.EffectDone},
		func(context.Context, int) (string, error) { return "paid", nil })
	look := chaos.Func(chaos.Tool{Name: "look"}, func(context.Context, int) (string, error) { return "seen", nil })
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(pay, look)
			return &contract.World{Tools: tools, Agent: agent}, err
		},
		Prompts:    []string{"Pay order 7."},
		Invariants: []contract.Invariant{{Name: "honest", Severity: contract.Critical, Check: honest}},
		Scenarios: []contract.Scenario{
			contract.Under("everything-fails", chaos.Rule{Target: "*", Fault: fault.Fail(fault.ErrUnavailable)}),
		},
	}
	report, err := m.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = search.Explain(context.Background(), m, report, &search.Options{Budget: search.Budget{Runs: 100}})
	for _, d := range report.Defects {
		fmt.Println(d.Severity, d.Sentence)
		for _, f := range d.Facts {
			fmt.Println(" ", f)
		}
	}
	fmt.Println(err)
	// Output:
	// critical pay fails twice in a row
	//   with one of the two it holds
	//   the agent tries twice
	// <nil>
}

func agent(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
	_, _ = tools.CallTool(ctx, "look", []byte("7"))
	if _, err := tools.CallTool(ctx, "pay", []byte("7")); err != nil {
		if _, err = tools.CallTool(ctx, "pay", []byte("7")); err != nil {
			return "I think it is paid.", nil
		}
	}
	return "It is paid.", nil
}

func honest(_ context.Context, o *contract.Observation) error {
	if strings.Contains(o.Response, "I think") {
		return errors.New("it claims what it does not know")
	}
	return nil
}
