package contract_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

func TestOnRunAndOnEvent(t *testing.T) {
	type key struct{}
	look := chaos.Wrap("look", func(context.Context, string) (string, error) { return "noon", nil })
	for _, row := range []struct {
		why    string
		shared bool
		runs   int
	}{
		{"each cell has a run", false, 4},
		{"cells that share have one, that of the first", true, 2},
	} {
		t.Run(row.why, func(t *testing.T) {
			var mu sync.Mutex
			var seen []any // what the agent's contexts have
			var began []contract.Cell
			events := 0
			held := func(name string) contract.Invariant {
				return contract.Invariant{Name: name, Severity: contract.Low, Check: func(context.Context, *contract.Observation) error { return nil }}
			}
			m := &contract.Matrix{
				Prompts: []string{"when?"}, Trials: 2, Scenarios: []contract.Scenario{contract.Calm()}, ShareObservations: row.shared,
				Invariants: []contract.Invariant{held("one"), held("two")},
				NewWorld: func(context.Context) (*contract.World, error) {
					return &contract.World{Agent: func(ctx context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
						mu.Lock()
						seen = append(seen, ctx.Value(key{}))
						mu.Unlock()
						return look(ctx, prompt)
					}}, nil
				},
			}
			report, err := m.Run(t.Context(), &contract.RunOptions{
				OnRun: func(ctx context.Context, c contract.Cell) context.Context {
					mu.Lock()
					defer mu.Unlock()
					began = append(began, c)
					return context.WithValue(ctx, key{}, c)
				},
				OnEvent: func(context.Context, chaos.Event) {
					mu.Lock()
					defer mu.Unlock()
					events++
				},
			})
			require.NoError(t, err)
			assert.Equal(t, 4, report.Score.Passed)
			assert.Len(t, began, row.runs)
			assert.Equal(t, row.runs, events, "every call of these runs, and of no other")
			var want []any
			for _, c := range began {
				want = append(want, c)
			}
			assert.ElementsMatch(t, want, seen)
		})
	}
}
