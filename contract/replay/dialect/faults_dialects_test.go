package dialect_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/contract/replay"
	"github.com/shakedown-go/shakedown/contract/replay/dialect"
)

// A deskOrder is what the desk of the fixtures is asked to refund.
type deskOrder struct {
	Order int    `json:"order"`
	Key   string `json:"key,omitempty"`
}

// desk makes worlds of the incident that all fixtures tell: an agent that asks for a
// refund again if it gets no receipt, and tools that work. key is what makes asking
// again safe; "": nothing does.
func desk(key string) func(context.Context) (*contract.World, error) {
	return func(context.Context) (*contract.World, error) {
		var paid []string
		seen := map[string]bool{}
		tools, err := chaos.NewRegistry(
			chaos.Func(chaos.Tool{Name: "lookup_order"}, func(context.Context, deskOrder) (map[string]string, error) {
				return map[string]string{"state": "delivered"}, nil
			}),
			chaos.Func(chaos.Tool{Name: "refund", Effect: chaos.EffectDone}, func(_ context.Context, in deskOrder) (map[string]string, error) {
				if in.Key == "" || !seen[in.Key] {
					seen[in.Key] = true
					paid = append(paid, "1042")
				}
				return map[string]string{"id": "R-1"}, nil
			}))
		agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			if _, err := tools.CallTool(ctx, "lookup_order", json.RawMessage(`{"order":1042}`)); err != nil {
				return "", err
			}
			args, err := json.Marshal(deskOrder{1042, key})
			if err != nil {
				return "", err
			}
			for range 3 {
				reply, err := tools.CallTool(ctx, "refund", args)
				var receipt struct{ ID string }
				if err == nil && json.Unmarshal(reply, &receipt) == nil && receipt.ID != "" {
					return "Refunded.", nil
				}
			}
			return "I could not refund the order.", nil
		}
		return &contract.World{Agent: agent, Tools: tools, State: func(context.Context) (any, error) { return paid, nil }}, err
	}
}

// inVirtualTime runs a matrix of which cells may break.
func inVirtualTime(t *testing.T, m *contract.Matrix) (r *contract.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		r, err = m.Run(t.Context(), &contract.RunOptions{Workers: 1, Keep: contract.KeepAll})
		require.NoError(t, err)
	})
	return r
}

// The incident of every dialect ends as rules, in both readings, under which the fragile
// desk pays twice if the reply was lost, and the one with a key pays once.
func TestEachDialectsIncidentBreaksTheFragileDesk(t *testing.T) {
	files, err := filepath.Glob("testdata/import/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 12, "a fixture a dialect and convention")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			require.NoError(t, err)
			defer f.Close()
			sessions, err := dialect.Import(f, nil)
			require.NoError(t, err)
			require.Len(t, sessions, 1)
			after, err := sessions[0].Faults(&replay.FaultOptions{AfterWork: true, Suspected: true})
			require.NoError(t, err)
			require.Len(t, after, 1, "one call failed")
			plan, err := chaos.NewPlan(1, after...)
			require.NoError(t, err)
			for _, agent := range []struct {
				name, key string
				want      contract.CellState
			}{{"fragile", "", contract.Broken}, {"robust", "ticket-7", contract.Held}} {
				report := inVirtualTime(t, &contract.Matrix{NewWorld: desk(agent.key), Prompts: []string{"Refund order 1042"},
					Scenarios: []contract.Scenario{contract.Calm(), contract.Under("again", plan.Rules()...)},
					Invariants: []contract.Invariant{
						invariant.AtMostOnce("paid-once", contract.Critical, func(paid []string) []string { return paid }),
					}})
				assert.Equal(t, contract.Held, report.Cells[0].State, agent.name)
				assert.Equal(t, agent.want, report.Cells[1].State, agent.name+": "+report.Cells[1].Why)
			}
		})
	}
}
