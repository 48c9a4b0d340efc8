package contract_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// The report counts the deliveries of every rule. An answer counts once, however
// many invariants judged it.
func TestFaultsAreCountedPerRule(t *testing.T) {
	holds := func(context.Context, *contract.Observation) error { return nil }
	matrix := &contract.Matrix{
		NewWorld: fresh(t, tellsTime),
		Prompts:  []string{"What time is it?", "And now?"},
		Invariants: []contract.Invariant{
			{Name: "a", Severity: contract.High, JudgesErrors: true, Check: holds},
			{Name: "b", Severity: contract.High, JudgesErrors: true, Check: holds},
		},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "storm", Rules: []chaos.Rule{
				{Name: "down", Target: "clock", Fault: fails{}},
				{Name: "idle", Target: "clock", When: ordinal(0), Fault: idles{}},
				{Name: "late", Target: "clock", When: ordinal(9), Fault: fails{}},
			}},
			{Name: "lull", AllowUndelivered: true, Rules: []chaos.Rule{{Name: "idle", Target: "clock", When: ordinal(1), Fault: idles{}}}},
		},
		Trials: 3,
	}
	for _, tt := range []struct {
		share bool
		runs  int
	}{{false, 6}, {true, 3}} {
		matrix.ShareObservations = tt.share
		r, err := matrix.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepCounts, Workers: 3})
		require.NoError(t, err)
		for i := range r.Faults {
			acted := r.Faults[i].Delivered+r.Faults[i].Undelivered > 0
			assert.Equal(t, acted, r.Faults[i].Fault != "", "known by its events alone: these faults do not describe themselves")
			r.Faults[i].Fault = ""
		}
		assert.Equal(t, []contract.FaultCount{
			{Scenario: "storm", Rule: "down", Target: "clock", Cells: tt.runs, Delivered: 2 * tt.runs},
			{Scenario: "storm", Rule: "idle", Target: "clock"},
			{Scenario: "storm", Rule: "late", Target: "clock"},
			{Scenario: "lull", Rule: "idle", Target: "clock", Undelivered: tt.runs},
		}, r.Faults, "share: %v; the idle rule of the storm is masked by the failure", tt.share)
	}
}
