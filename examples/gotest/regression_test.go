package gotest

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/examples/internal/orderdesk"
)

// baseline is the report of the build that was released, written with
//
//	SHAKEDOWN_UPDATE=1 go test -run TestNoRegression ./examples/gotest
const baseline = "testdata/released.run.jsonl"

// drawing is the matrix of a desk whose agent is random: with the chance keeps, it gives
// its refunds a key. Draws of two builds are independent, those of one repeat.
func drawing(build uint64, keeps float64) *contract.Matrix {
	m := orderdesk.Matrix(orderdesk.Robust())
	m.Name, m.Trials = "forgetful desk", 20
	m.Scenarios = slices.DeleteFunc(m.Scenarios, func(s contract.Scenario) bool {
		return s.Name != "calm" && s.Name != "refund-reply-lost" && s.Name != "delivered-twice"
	})
	m.Invariants = slices.DeleteFunc(m.Invariants, func(i contract.Invariant) bool {
		return i.Name != "one-refund" && i.Name != "claims-are-true"
	})
	m.NewWorld = func(ctx context.Context) (*contract.World, error) {
		habits := orderdesk.Robust()
		if cell, ok := contract.CellOf(ctx); ok {
			rng := rand.New(rand.NewPCG(build, uint64(cell.Trial)<<8+uint64(len(cell.Scenario))))
			habits.IdempotencyKeys = rng.Float64() < keeps
		}
		return orderdesk.NewWorld(habits)(ctx)
	}
	return m
}

// A broken trial or two more than in the released build are bad luck, and the test passes.
// What it could not have seen is in the log: go test -v.
func TestNoRegression(t *testing.T) {
	report, err := drawing(2, 0.93).Run(t.Context(), &contract.RunOptions{Workers: workers})
	require.NoError(t, err)
	contracttest.AssertNoRegression(t, report, baseline)
}

// A build that forgets the key of most refunds is worse in both scenarios in which
// one is needed.
func TestARegressionIsFound(t *testing.T) {
	released, err := drawing(1, 0.95).Run(t.Context(), &contract.RunOptions{Workers: workers})
	require.NoError(t, err)
	worse, err := drawing(3, 0.2).Run(t.Context(), &contract.RunOptions{Workers: workers})
	require.NoError(t, err)
	c, err := compare.Reports(released, worse, nil)
	require.NoError(t, err)
	var found []string
	for _, f := range c.Fields {
		if f.Regression {
			found = append(found, f.Scenario+"/"+f.Invariant)
		}
	}
	slices.Sort(found)
	assert.Equal(t, []string{"delivered-twice/one-refund", "refund-reply-lost/one-refund"}, found, "%v", c)
}
