package contract_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// Two shards make a matrix. The second goes on from the file of the first, so its report is the whole.
func ExampleShard() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	m := &contract.Matrix{
		Prompts: []string{"Refund order 1042"}, Trials: 4, Scenarios: []contract.Scenario{contract.Calm()},
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
				return "Order 1042 is refunded.", nil
			}}, nil
		},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.Critical,
			Check: func(_ context.Context, o *contract.Observation) error {
				if o.Response == "" {
					return errors.New("no answer")
				}
				return nil
			}}},
	}
	first := ""
	for index := 1; index <= 2; index++ {
		shard := contract.Shard{Index: index, Count: 2}
		file := shard.File(filepath.Join(dir, "desk.run.jsonl"))
		r, err := m.Run(context.Background(), &contract.RunOptions{Shard: shard, File: file, Resume: first})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(filepath.Base(file), r.Score.Verdict, r.Partial(), r.Score.Why)
		first = file
	}
	// Output:
	// desk.1of2.run.jsonl INCONCLUSIVE true nothing broke in 2 of 4 cells
	// desk.2of2.run.jsonl PASS false no critical invariant broke; 4 of 4 decided cells held
}
