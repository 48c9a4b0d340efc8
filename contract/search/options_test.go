package search

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/invariant"
)

func TestOptionsNameEveryProblem(t *testing.T) {
	_, err := (&Options{Budget: Budget{Runs: -1, Time: -1, Cost: -1}, Depth: 5, Strength: 3}).checked(&contract.Matrix{})
	for _, want := range []string{"Budget.Runs", "Budget.Time", "Budget.Cost", "Depth is 5", "Strength is 3", "allowed: 1 to 4"} {
		assert.ErrorContains(t, err, want)
	}
	_, err = (*Options)(nil).checked(&contract.Matrix{})
	assert.ErrorContains(t, err, "Budget")
	_, err = (&Options{Budget: Budget{Cost: 1}}).checked(&contract.Matrix{})
	assert.ErrorContains(t, err, "Cost is nil beside Budget.Cost")
	o, err := (&Options{Budget: Budget{Runs: 1}}).checked(&contract.Matrix{})
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(2, 2), fmt.Sprint(o.Depth, o.Strength))
}

// What a judge costs counts in the budget of the search, beside what the agent costs, and
// where the agent costs nothing.
func TestJudgesCountInTheBudget(t *testing.T) {
	judge := func(context.Context, invariant.Question) (invariant.Judgement, error) {
		return invariant.Judgement{Ruling: invariant.Held, Cost: .5}, nil
	}
	for agent, most := range map[float64]int{0: 10, 2: 2} {
		for _, workers := range []int{1, 8} {
			m := many()
			m.Scenarios = m.Scenarios[:4]
			m.Invariants = append(m.Invariants, invariant.Judged("polite", contract.Low, "The answer is polite.", judge))
			var last Progress
			o := &Options{Budget: Budget{Cost: 5}, Cost: func(*contract.Result) float64 { return agent },
				OnProgress: func(p Progress) { last = p }}
			o.Run.Workers = workers
			r := explained(t, m, o)
			assert.Equal(t, most, r.SearchRuns)
			assert.InDelta(t, (agent+.5)*float64(most), last.Cost, 1e-9)
			assert.Contains(t, r.SearchStopped, "exceeded the cost of 5")

			free := &Options{Budget: Budget{Runs: 3}, OnProgress: func(p Progress) { last = p }}
			_, err := Sweep(t.Context(), m, free)
			require.NoError(t, err)
			assert.InDelta(t, 1.5, last.Cost, 1e-9, "without a function of the agent's cost it is told all the same")
		}
	}
}
