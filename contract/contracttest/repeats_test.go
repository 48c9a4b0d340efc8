package contracttest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/search"
)

// booking is a matrix of an agent that books at a desk. What it says after failed calls is up to
// afterFailures.
func booking(trials int, afterFailures func(failed int) string) *contract.Matrix {
	agent := func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
		failed := 0
		for range 2 {
			if chaos.Point(ctx, "desk") != nil {
				failed++
			}
		}
		if failed > 0 {
			return afterFailures(failed), nil
		}
		return "booked", nil
	}
	down := fault.Fail(fault.ErrUnavailable)
	return &contract.Matrix{Prompts: []string{"book"}, Trials: trials, Points: []string{"desk"},
		Invariants: []contract.Invariant{{Name: "booked", Severity: contract.Low, Check: func(_ context.Context, o *contract.Observation) error {
			if strings.Contains(o.Response, "lost") {
				return errors.New("it was lost")
			}
			return nil
		}}},
		Scenarios: []contract.Scenario{contract.Calm(),
			contract.Under("down", chaos.Rule{Target: "desk", Fault: down}),
			contract.Under("first", chaos.Rule{Target: "desk", When: when.Nth(1), Fault: down}),
			contract.Under("second", chaos.Rule{Target: "desk", When: when.Nth(2), Fault: down}),
		},
		NewWorld: func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil }}
}

// notExplained are options of runs whose broken cells are expected.
func notExplained() *contracttest.Options {
	return &contracttest.Options{FailOn: contract.Critical, Explain: &search.Budget{}, Dir: "-", Workers: 1}
}

// An agent that is random only after a failure is the same in calm runs. Of two reports of it one
// of twenty at most is called worse. SIMULATE=300 makes so many pairs.
func TestNoFalseAlarmOfRandomAfterAFailure(t *testing.T) {
	pairs, most := 20, 4 // where 5 % are alarms, 20 pairs have more than 4 once in 400 times
	if n, err := strconv.Atoi(os.Getenv("SIMULATE")); err == nil {
		pairs, most = n, n/20
	}
	for _, trials := range []int{1, 3} {
		alarms, repeatable := 0, 0
		for pair := range pairs {
			var mu sync.Mutex
			rng := rand.New(rand.NewPCG(uint64(pair), uint64(trials)))
			m := booking(trials, func(int) string {
				mu.Lock()
				defer mu.Unlock()
				if rng.Float64() < .1 {
					return "lost"
				}
				return "booked"
			})
			var reports [2]*contract.Report
			t.Run(fmt.Sprint(pair), func(t *testing.T) {
				for i := range reports {
					reports[i] = contracttest.Run(t, m, notExplained())
				}
			})
			c, err := compare.Reports(reports[0], reports[1], nil)
			require.NoError(t, err)
			if c.Regressed() {
				alarms++
			}
			if reports[0].Repeatable == "yes" {
				repeatable++
			}
		}
		assert.LessOrEqual(t, alarms, most, "%d trials", trials)
		t.Logf("%d trials: %d alarms of %d pairs; %d first reports say that the agent was not seen to differ", trials, alarms, pairs,
			repeatable)
	}
}

// A build of a deterministic agent that breaks where the one before held is worse, with one trial
// a field: enough runs met the same before and now.
func TestOneTrialOfADeterministicAgentIsEnough(t *testing.T) {
	before := contracttest.Run(t, booking(1, func(int) string { return "booked" }), notExplained())
	worse := contracttest.Run(t, booking(1, func(failed int) string {
		if failed == 2 {
			return "lost"
		}
		return "booked"
	}), notExplained())
	c, err := compare.Reports(before, worse, nil)
	require.NoError(t, err)
	for _, f := range c.Fields {
		assert.Equal(t, f.Scenario == "down", f.Regression, "%s: %v", f.Scenario, c)
	}
	same, err := compare.Reports(before, before, nil)
	require.NoError(t, err)
	assert.False(t, same.Regressed())
}
