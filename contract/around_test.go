package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

// again is middleware that calls once more what failed.
type again struct{ chaos.ToolRegistry }

func (a again) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	result, err := a.ToolRegistry.CallTool(ctx, name, args)
	if err != nil {
		return a.ToolRegistry.CallTool(chaos.WithHabit(ctx, "again"), name, args)
	}
	return result, nil
}

func aroundMatrix(t *testing.T) *contract.Matrix {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "get", Effect: chaos.EffectNone},
		func(context.Context, struct{}) (string, error) { return "paid", nil }))
	require.NoError(t, err)
	return &contract.Matrix{
		Name: "m", Prompts: []string{"p"},
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				result, err := tools.CallTool(ctx, "get", nil)
				return string(result), err
			}}, nil
		},
		Invariants: []contract.Invariant{{Name: "answers", Severity: contract.High, JudgesErrors: true,
			Check: func(_ context.Context, o *contract.Observation) error { return o.Err }}},
		Scenarios: []contract.Scenario{{Name: "down", Rules: []chaos.Rule{{Name: "r", Target: "get", Limit: 1, Fault: fault.Fail(fault.ErrUnavailable)}}}},
	}
}

// What Around makes stands outside of the faults, in the matrix and in a single cell, and its calls are marked.
func TestAroundStandsOutsideOfTheFaults(t *testing.T) {
	wrap := func(r chaos.ToolRegistry) chaos.ToolRegistry { return again{r} }
	m := aroundMatrix(t)
	cell := contract.Cell{Scenario: "down", Invariant: "answers", Trial: 1}
	for name, run := range map[string]func(*contract.RunOptions) contract.CellReport{
		"run": func(o *contract.RunOptions) contract.CellReport {
			r, err := m.Run(t.Context(), o)
			require.NoError(t, err)
			return r.Cells[0]
		},
		"one cell": func(o *contract.RunOptions) contract.CellReport {
			c, err := m.RunCell(t.Context(), cell, o)
			require.NoError(t, err)
			return *c
		},
		"a runner": func(o *contract.RunOptions) contract.CellReport {
			r, err := m.Runner(t.Context(), &contract.RunOptions{Keep: contract.KeepAll})
			require.NoError(t, err)
			defer r.Close()
			result, err := r.RunAround(t.Context(), cell, r.Rules("down"), o.Around)
			require.NoError(t, err)
			return result.Cells[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, contract.Broken, run(&contract.RunOptions{Keep: contract.KeepAll}).State)
			assert.Equal(t, contract.Broken, run(&contract.RunOptions{Keep: contract.KeepAll,
				Around: func(chaos.ToolRegistry) chaos.ToolRegistry { return nil }}).State, "nil leaves the tools as they are")
			c := run(&contract.RunOptions{Keep: contract.KeepAll, Around: wrap})
			assert.Equal(t, contract.Held, c.State, c.Why)
			events := c.Observations()[0].Events
			require.Len(t, events, 2)
			assert.True(t, events[0].Delivered)
			assert.Equal(t, []string{"", "again"}, []string{events[0].Habit, events[1].Habit})
		})
	}
}

// A failure of Around breaks its own cell.
func TestAroundMayFail(t *testing.T) {
	r, err := aroundMatrix(t).Run(t.Context(), &contract.RunOptions{Around: func(chaos.ToolRegistry) chaos.ToolRegistry { panic(errors.New("mine")) }})
	require.NoError(t, err)
	assert.Equal(t, contract.Inconclusive, r.Cells[0].State)
	assert.Contains(t, r.Cells[0].Why, "wrapping the tools by Around")
}
