package compare_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
)

// A report claims that a refund is made once in each of 200 trials. Ten units that run again say otherwise.
func ExampleVerify() {
	refunds := func(check func(trial int) error) *contract.Matrix {
		return &contract.Matrix{
			NewWorld: func(context.Context) (*contract.World, error) {
				return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
					return "refunded", nil
				}}, nil
			},
			Prompts: []string{"Refund order 1042"}, Scenarios: []contract.Scenario{contract.Calm()}, Trials: 200,
			Invariants: []contract.Invariant{{Name: "one-refund", Severity: contract.Critical,
				Check: func(_ context.Context, o *contract.Observation) error { return check(o.Cell.Trial) }}},
		}
	}
	claim, err := refunds(func(int) error { return nil }).Run(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	claim.Repeatable = "yes"

	own := refunds(func(trial int) error {
		if trial%4 == 0 {
			return errors.New("refunded twice")
		}
		return nil
	})
	const seed = 11 // of whoever verifies; who made the claim must not know it
	again, err := own.RunAgain(context.Background(), claim, 10, seed, nil)
	if err != nil {
		panic(err)
	}
	v, err := compare.Verify(claim, again)
	if err != nil {
		panic(err)
	}
	fmt.Print(v)
	// Output:
	// 10 of 200 units ran again, 10 cells of them compared: 4 not as in the file.
	// 4 cells not as in the file:
	//   calm/one-refund/20: held in the file, broken ("refunded twice") now
	//   calm/one-refund/36: held in the file, broken ("refunded twice") now
	//   calm/one-refund/40: held in the file, broken ("refunded twice") now
	//   calm/one-refund/96: held in the file, broken ("refunded twice") now
	// If 25.9 % of the units were forged, one would have been found with 95 %.
	// FAIL: the file is not what its matrix shows.
}
