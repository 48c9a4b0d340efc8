package contracttest_test

import (
	"testing"
	"time"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

// TestClock is what a suite looks like. In one of its scenarios the clock
// hangs for an hour at a time; the whole test takes milliseconds.
func TestClock(t *testing.T) {
	r := contracttest.Run(t, &contract.Matrix{
		NewWorld:   clock,
		Prompts:    []string{"What time is it?"},
		Invariants: []contract.Invariant{invariant.ContainsAny("honest", contract.Critical, "noon", "do not know")},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			{Name: "slow", Rules: []chaos.Rule{{Target: "clock", When: when.Prob(0.5), Fault: fault.Delay(time.Hour)}}},
		},
		Trials: 20,
	}, nil)
	contracttest.AssertPassed(t, r)
	contracttest.AssertHeld(t, r, "honest")
	contracttest.AssertScoreAtLeast(t, r, 100)
}
