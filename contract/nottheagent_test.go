package contract_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
)

// TestNotTheAgent: an agent that could not be tested shows nothing, for any invariant.
// An injected fault is no excuse.
func TestNotTheAgent(t *testing.T) {
	assert.ErrorIs(t, contract.ErrNotTheAgent, contract.ErrUndecided)
	other := errors.New("no money left")
	for _, tc := range []struct {
		why   string
		err   func(injected error) error
		judge bool // the invariant judges errors, and accepts all
		state contract.CellState
		text  string
	}{
		{"its own failure", func(error) error { return other }, false, contract.Broken, "the agent failed: no money left"},
		{"its own failure, accepted", func(error) error { return other }, true, contract.Held, ""},
		{"not its own", func(error) error { return fmt.Errorf("%w: %w", contract.ErrNotTheAgent, other) }, false, contract.Inconclusive,
			"contract: undecided: the agent could not be tested: no money left"},
		{"not its own, and errors are judged", func(error) error { return contract.ErrNotTheAgent }, true, contract.Inconclusive,
			"contract: undecided: the agent could not be tested"},
		{"any undecided error", func(error) error { return contract.ErrUndecided }, false, contract.Inconclusive, "contract: undecided"},
		{"an injected error in disguise", func(injected error) error { return fmt.Errorf("%w: %w", contract.ErrNotTheAgent, injected) }, false, contract.Broken,
			"the agent failed: contract: undecided: the agent could not be tested: down"},
		{"an injected error in disguise, accepted", func(injected error) error { return errors.Join(contract.ErrNotTheAgent, injected) }, true, contract.Held, ""},
	} {
		agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
			return "", tc.err(chaos.Point(ctx, "model"))
		}
		r := run(t, matrix(t, agent, func(m *contract.Matrix) {
			m.Points, m.Invariants[0].JudgesErrors = []string{"model"}, tc.judge
			m.Scenarios = []contract.Scenario{contract.Under("down", chaos.Rule{Target: "model", Fault: fault.Fail(errors.New("down"))})}
		}), nil)
		assert.Equal(t, tc.state, r.Cells[0].State, tc.why)
		assert.Equal(t, tc.text, r.Cells[0].Why, tc.why)
		assert.False(t, r.Cells[0].Undecided, "%s: no check said so", tc.why)
	}
}
