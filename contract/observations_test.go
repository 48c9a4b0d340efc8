package contract_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// A broken cell has the answers of its whole run, not only the one that decided; they
// are retained as the evidence is.
func TestObservationsAreThoseOfTheWholeRun(t *testing.T) {
	look := chaos.Func(chaos.Tool{Name: "look"}, func(context.Context, struct{}) (string, error) { return "seen", nil })
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(look)
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, prompt string, r chaos.ToolRegistry) (string, error) {
				_, err := r.CallTool(ctx, "look", nil)
				return "did " + prompt, err
			}}, err
		},
		Prompts: []string{"a", "b", "c"},
		Invariants: []contract.Invariant{
			{Name: "no-b", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
				if o.Prompt == "b" {
					return errors.New("b")
				}
				return nil
			}},
			{Name: "holds", Severity: contract.High, Check: func(context.Context, *contract.Observation) error { return nil }},
		},
		Scenarios: []contract.Scenario{contract.Calm()},
	}
	for _, row := range []struct {
		keep         contract.KeepPolicy
		broken, held []string
	}{
		{contract.KeepBroken, []string{"did a", "did b"}, nil},
		{contract.KeepAll, []string{"did a", "did b"}, []string{"did a", "did b", "did c"}},
		{contract.KeepNone, nil, nil},
	} {
		r, err := m.Run(t.Context(), &contract.RunOptions{Keep: row.keep})
		require.NoError(t, err)
		for i, want := range [][]string{row.broken, row.held} {
			var got []string
			for _, o := range r.Cells[i].Observations() {
				got = append(got, o.Response)
				assert.Len(t, o.Events, 1, "the calls of one prompt")
			}
			assert.Equal(t, want, got, "policy %d, %v", row.keep, r.Cells[i].Cell)
		}
	}
}
