// Promised rates: an agent that forgets its key now and then, and how many trials tell.

package gotest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/invariant"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// forgetful makes desks whose agent draws whether to use its idempotency key, as an agent on
// a model might. The draw is seeded by the trial, so any cell repeats.
func forgetful(keyed float64) func(context.Context) (*contract.World, error) {
	return func(ctx context.Context) (*contract.World, error) {
		refunds := map[string]int{} // by idempotency key
		without := 0
		tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "refund", Effect: chaos.EffectDone},
			func(_ context.Context, in refund) (string, error) {
				if in.Key == "" {
					without++
					in.Key = fmt.Sprint("without a key: ", without)
				}
				refunds[in.Key] = 1
				return "refunded", nil
			}))
		agent := func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
			c, _ := contract.CellOf(ctx)
			args := json.RawMessage(`{"order":"1042"}`)
			if rand.New(rand.NewPCG(c.Seed, uint64(c.Trial))).Float64() < keyed {
				args = json.RawMessage(`{"order":"1042","key":"a"}`)
			}
			for range 3 {
				if _, err := tools.CallTool(ctx, "refund", args); err == nil {
					return "Order 1042 is refunded.", nil
				}
			}
			return "Order 1042 could not be refunded; a colleague will see to it.", nil
		}
		state := func(context.Context) (any, error) {
			orders := []string{}
			for range refunds {
				orders = append(orders, "1042")
			}
			return orders, nil
		}
		return &contract.World{Agent: agent, Tools: tools, State: state}, err
	}
}

// rates is the matrix of such an agent, which must refund once in at least 95 % of the trials.
func rates(keyed float64) *contract.Matrix {
	once := invariant.AtMostOnce("one-refund", contract.Critical, func(orders []string) []string { return orders })
	once.AtLeast = .95
	return &contract.Matrix{
		NewWorld:   forgetful(keyed),
		Prompts:    []string{"Refund order 1042"},
		Invariants: []contract.Invariant{once, invariant.Contains("names-the-order", contract.Low, "1042")},
		Scenarios: []contract.Scenario{
			contract.Calm(),
			contract.Under("reply-lost", chaos.Rule{Target: "refund", When: when.First(1), Fault: fault.LoseReplyAfter(0)}),
		},
		Trials: 200, Seed: 16,
	}
}

// An agent that uses its key in 98 of 100 cases is accepted. A trial in which it forgets the
// key is logged, and fails nothing.
func TestRefundsAtARate(t *testing.T) {
	r := contracttest.Run(t, rates(.98), &contracttest.Options{Sequential: true})
	if r.Filtered {
		return // -run picked some trials, and they decide no rate
	}
	contracttest.AssertPassed(t, r)
	contracttest.AssertHeld(t, r, "one-refund")
	for _, f := range r.Fields {
		t.Log(f) // "reply-lost / one-refund: accepted: 26 of 27 held: 95 % and not 80 %"
	}
	assert.Greater(t, r.Saved, 300, "most trials of the rate were not needed")
}

// An agent that forgets it in one of four cases is rejected after some twenty trials.
func TestForgetfulAgentIsRejected(t *testing.T) {
	r, err := rates(.75).Run(t.Context(), &contract.RunOptions{Sequential: true, Workers: workers})
	assert.NoError(t, err)
	assert.Equal(t, scoring.Fail, r.Score.Verdict)
	for _, f := range r.Fields {
		if f.Invariant == "one-refund" {
			want := map[string]stats.Decision{"calm": stats.Accepted, "reply-lost": stats.Rejected}[f.Scenario]
			assert.Equal(t, want, f.Standing.Decision, "%v", f)
			assert.Less(t, f.Decided, 60)
		}
	}
}
