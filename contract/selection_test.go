package contract_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

func selectable() *contract.Matrix {
	holds := func(context.Context, *contract.Observation) error { return nil }
	return &contract.Matrix{
		Name: "m", Seed: 7, NewWorld: func(context.Context) (*contract.World, error) { return &contract.World{}, nil }, Prompts: []string{"p"}, Trials: 2,
		Invariants: []contract.Invariant{
			{Name: "always", Severity: contract.High, Check: holds},
			{Name: "calm-only", Severity: contract.Low, Applies: contract.NoFault, Check: holds},
		},
		Scenarios: []contract.Scenario{contract.Calm(),
			{Name: "down", Rules: []chaos.Rule{{Name: "r", Target: "t", Fault: fault.Fail(fault.ErrUnavailable)}, {Target: "u", Fault: unnamed{}}}}},
	}
}

type unnamed struct{ chaos.Fault }

// A selection is the cells that fit every filter, of a copy of the matrix.
func TestASelection(t *testing.T) {
	m := selectable()
	seed := uint64(9)
	for _, tc := range []struct {
		s     contract.Selection
		cells int
	}{
		{contract.Selection{}, 6}, // always twice, calm-only once, in two trials
		{contract.Selection{Scenarios: []string{"down"}}, 2},
		{contract.Selection{Invariants: []string{"calm-only"}}, 2},
		{contract.Selection{Trial: 2}, 3},
		{contract.Selection{Trials: 5, Invariants: []string{"always"}, Scenarios: []string{"down"}}, 5},
		{contract.Selection{Trials: 5, Trial: 5, Seed: &seed}, 3},
	} {
		own, chosen, err := tc.s.Of(m)
		require.NoError(t, err)
		n := 0
		for _, c := range own.Cells() {
			if chosen(c) {
				n++
			}
		}
		assert.Equal(t, tc.cells, n, "%+v", tc.s)
		if tc.s.Seed != nil {
			assert.EqualValues(t, 9, own.Seed)
		}
	}
	assert.Equal(t, []any{2, uint64(7)}, []any{m.Trials, m.Seed}, "the matrix itself is left alone")

	_, _, err := contract.Selection{Trial: 3, Scenarios: []string{"down", "dwon"}, Invariants: []string{"x"}}.Of(m)
	for _, want := range []string{"contract: trial is 3; allowed: 1 to 2", `contract: scenarios[1] is "dwon"; allowed: calm, down; did you mean down?`,
		`contract: invariants[0] is "x"; allowed: always, calm-only`} {
		assert.ErrorContains(t, err, want)
	}
	_, _, err = contract.Selection{Invariants: []string{"calm-only"}, Scenarios: []string{"down"}}.Of(m)
	assert.ErrorIs(t, err, contract.ErrNothingSelected)
}

func TestTheOutlineOfAMatrix(t *testing.T) {
	o := selectable().Outline()
	assert.Equal(t, []any{"m", 6, 2, "7", true}, []any{o.Name, o.Cells, o.Trials, o.Seed, o.Parallel})
	assert.Equal(t, []contract.OutlineScenario{
		{Name: "calm", Rules: []contract.OutlineRule{}},
		{Name: "down", Rules: []contract.OutlineRule{{Name: "r", Target: "t", Fault: "error"}, {Target: "u", Fault: "contract_test.unnamed"}}},
	}, o.Scenarios)
	m := selectable()
	m.NewWorld = nil
	m.Scenarios[0].Layer, m.Scenarios[0].Prompts, m.Scenarios[0].NewWorld = chaos.LayerLLM, []string{"own"}, world("t")
	m.Scenarios[1].Rewrite = strings.ToUpper
	own := m.Outline()
	assert.False(t, own.Parallel, "the other scenario has no world of its own")
	assert.Equal(t, contract.OutlineScenario{Name: "calm", Rules: []contract.OutlineRule{}, Layer: "llm", Prompts: []string{"own"}, OwnWorld: true}, own.Scenarios[0])
	assert.True(t, own.Scenarios[1].Rewrites)
	m.Scenarios[1].NewWorld = world("t")
	assert.True(t, m.Outline().Parallel)
	assert.Equal(t, contract.OutlineInvariant{ID: "calm-only", Severity: contract.Low, Applies: "NoFault"}, o.Invariants[1])
}
