package contracttest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
)

// TestWhichCellsAreInVirtualTime: those whose worlds are made for each of them, by the
// matrix or by the scenario, in Run and in RunCell.
func TestWhichCellsAreInVirtualTime(t *testing.T) {
	world := func() *contract.World {
		return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			return fmt.Sprint(time.Now().Year() == 2000), nil // where the clock of a bubble begins
		}}
	}
	fresh := func(context.Context) (*contract.World, error) { return world(), nil }
	for _, tc := range []struct {
		why           string
		matrix        contract.Matrix
		o             *contracttest.Options
		wants, andOwn string // whether plain cells, and those of a scenario with its own worlds, are in virtual time
	}{
		{"fresh worlds", contract.Matrix{NewWorld: fresh}, nil, "true", "true"},
		{"a shared world was made outside", contract.Matrix{World: world()}, nil, "false", "true"},
		{"a shared world that is reset, too", contract.Matrix{World: world(), Reset: func(context.Context) error { return nil }}, nil, "false", "true"},
		{"real time was asked for", contract.Matrix{NewWorld: fresh}, &contracttest.Options{RealTime: true}, "false", "false"},
	} {
		m := tc.matrix
		m.Prompts = []string{"in virtual time?"}
		m.Scenarios = []contract.Scenario{contract.Calm(), {Name: "own", NewWorld: fresh}}
		m.Invariants = []contract.Invariant{{Name: "as-said", Severity: contract.High, Needs: contract.NeedBaseline,
			Check: func(_ context.Context, o *contract.Observation) error {
				want := tc.wants
				if o.Cell.Scenario == "own" {
					want = tc.andOwn
				}
				if o.Response != want || o.Baseline != want {
					return fmt.Errorf("virtual time: %s, and %s in the calm run", o.Response, o.Baseline)
				}
				return nil
			}}}
		t.Run(tc.why, func(t *testing.T) {
			contracttest.Run(t, &m, tc.o)
			for _, c := range m.Cells() {
				r := contracttest.RunCell(t, &m, c, tc.o)
				assert.Equal(t, contract.Held, r.State, "%v: %s", c, r.Why)
			}
		})
	}
}
