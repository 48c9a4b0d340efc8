package search_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/contract/search"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// TestAnOpenRateIsNoDefect: 30 of 33 of a promised 95 % are within the promise so far. Its
// broken trials are no defect, and nothing is announced as broken without faults.
func TestAnOpenRateIsNoDefect(t *testing.T) {
	var runs atomic.Int64
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) { return "noon", nil }}, nil
		},
		Prompts: []string{"What time is it?"}, Scenarios: []contract.Scenario{contract.Calm()}, Trials: 33,
		Invariants: []contract.Invariant{{Name: "says.noon", Severity: contract.High, AtLeast: .95,
			Check: func(context.Context, *contract.Observation) error {
				if runs.Add(1)%11 == 0 {
					return errors.New("no noon")
				}
				return nil
			}}},
	}
	r, err := m.Run(t.Context(), &contract.RunOptions{Workers: 1})
	require.NoError(t, err)
	require.Equal(t, []any{30, 33, stats.Open}, []any{r.Fields[0].Held, r.Fields[0].Decided, r.Fields[0].Standing.Decision})
	require.NoError(t, search.Explain(t.Context(), m, r, &search.Options{Budget: search.Budget{Runs: 50}}))
	assert.Empty(t, r.Defects)
	var b bytes.Buffer
	require.NoError(t, report.Text(&b, r, nil))
	assert.Contains(t, b.String(), "within its promise so far")
	assert.NotContains(t, b.String(), "WITHOUT FAULTS")
}
