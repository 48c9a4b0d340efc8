package contracttest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
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
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// rateOf is a matrix of an agent that answers wrongly in some trials, and in other words in each
// of the others, and promises a rate.
func rateOf(trials int, broken ...int) *contract.Matrix {
	noon := contract.Invariant{Name: "says-noon", Severity: contract.Critical, AtLeast: .95, Check: saysNoon}
	return &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				c, _ := contract.CellOf(ctx)
				if slices.Contains(broken, c.Trial) {
					return "it is midnight", nil
				}
				return fmt.Sprintf("it is noon, and this is trial %d", c.Trial), nil
			}}, nil
		},
		Prompts: []string{"What time is it?"}, Invariants: []contract.Invariant{noon}, Scenarios: []contract.Scenario{contract.Calm()},
		Trials: trials,
	}
}

// A broken trial of a rate fails neither its subtest nor the test.
func TestBrokenTrialOfARate(t *testing.T) {
	r := contracttest.Run(t, rateOf(100, 3), &contracttest.Options{Sequential: true})
	assert.True(t, contracttest.AssertPassed(t, r))
	assert.True(t, contracttest.AssertHeld(t, r, "says-noon"))
	assert.Equal(t, stats.Accepted, r.Fields[0].Standing.Decision)
	assert.Equal(t, 27, r.Fields[0].Decided, "18 passes accept, and 9 more make up for a failure")
	assert.Equal(t, 73, r.Saved)
	assert.Empty(t, r.Defects, "that one trial breaks was to be expected")
	assert.Equal(t, "no", r.Repeatable, "two runs were the same, and one trial without faults was not")
	assert.Equal(t, "the trials of calm/says-noon, which has no faults: 26 of 27 held", r.Difference)
}

func TestChildRejectedRate(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, rateOf(100, 2, 3, 4), &contracttest.Options{Sequential: true})
}

func TestChildOpenRate(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, rateOf(10), nil)
}

func TestRatesThatFailATest(t *testing.T) {
	out, failed := child(t, "^TestChildRejectedRate$")
	assert.True(t, failed)
	assert.Contains(t, out, "contracttest: calm / says-noon: rejected: 1 of 4 held: 80 % and not 95 % (critical)")
	assert.NotContains(t, out, "--- FAIL: TestChildRejectedRate/", "a trial is logged, not failed")
	assert.Equal(t, 4, strings.Count(out, "--- PASS: TestChildRejectedRate/"), "and no trial follows the decision")
	out, failed = child(t, "^TestChildOpenRate$")
	assert.True(t, failed)
	assert.Contains(t, out, "calm / says-noon: open: 10 of 10 held; 8 more passes in a row would accept, about 8 trials at this rate")

	out, failed = child(t, "^TestChildRejectedRate$/^calm$/^says-noon$/^4$")
	assert.True(t, failed, "one trial decides no rate: %s", out)
	assert.Equal(t, 1, strings.Count(out, "--- PASS: TestChildRejectedRate/"), "-run reaches a trial behind those that it leaves out")
}

// A rate is asked for where it was decided, as the verdict does.
func TestARateThatWasNotDecidedEverywhere(t *testing.T) {
	m := rateOf(20)
	m.Scenarios = append(m.Scenarios, contract.Scenario{Name: "unreached", AllowUndelivered: true, Rewrite: strings.Clone})
	r, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 20, r.Fields[1].Undelivered)
	assert.True(t, contracttest.AssertPassed(t, r))
	assert.True(t, contracttest.AssertHeld(t, r, "says-noon"), "in calm, where it was decided")
	r.Fields[1].Unprovoked = 1
	assert.False(t, contracttest.AssertHeld(&fakeT{}, r, "says-noon"), "it broke without a fault")
}

func TestChildCopiesThatBreak(t *testing.T) {
	onlyInChild(t)
	m := copiesOf("it is midnight")
	contracttest.Run(t, m, nil)
}

// copiesOf is a matrix of an agent that always answers the same, and promises a rate.
func copiesOf(answer string) *contract.Matrix {
	m := rateOf(18)
	m.NewWorld = func(context.Context) (*contract.World, error) {
		return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) { return answer, nil }}, nil
	}
	return m
}

// A rate whose trials are copies is not accepted: 18 of 18 are one of one. Its cells decide.
func TestRatesOfCopiesAreNotJudged(t *testing.T) {
	r := contracttest.Run(t, copiesOf("it is noon"), nil)
	assert.Equal(t, stats.Open, r.Fields[0].Standing.Decision)
	assert.True(t, r.Fields[0].Copies)
	assert.True(t, contracttest.AssertPassed(t, r))
	assert.True(t, contracttest.AssertHeld(t, r, "says-noon"), "in each cell")
	assert.Contains(t, r.Score.Why, "0 of 1 promised rate accepted, 1 not judged: copies")

	out, failed := child(t, "^TestChildCopiesThatBreak$")
	assert.True(t, failed)
	assert.Contains(t, out, "contracttest: calm / says-noon: not judged: copies: 0 of 18 held, 0 of 1 without copies (critical)")
}

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
