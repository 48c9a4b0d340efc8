package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
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
	assert.NotContains(t, b.String(), "without any fault")
}

// TestCopiesOfARateAreADefect: where an agent does the same in each trial, a promised rate has the
// verdict of its cells. Then a broken one is a defect, and in no sentence within its promise.
func TestCopiesOfARateAreADefect(t *testing.T) {
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(ctx context.Context, _ string, _ chaos.ToolRegistry) (string, error) {
				return fmt.Sprint("down: ", chaos.Point(ctx, "clock") != nil), nil
			}}, nil
		},
		Prompts: []string{"What time is it?"}, Trials: 20, Points: []string{"clock"},
		Scenarios: []contract.Scenario{contract.Calm(),
			contract.Under("down", chaos.Rule{Target: "clock", Fault: fault.Fail(fault.ErrUnavailable)})},
		Invariants: []contract.Invariant{{Name: "says.noon", Severity: contract.High, AtLeast: .95,
			Check: func(_ context.Context, o *contract.Observation) error {
				if o.Response != "down: false" {
					return errors.New("no noon")
				}
				return nil
			}}},
	}
	r, err := m.Run(t.Context(), &contract.RunOptions{Workers: 1})
	require.NoError(t, err)
	down := r.Fields[slices.IndexFunc(r.Fields, func(f contract.Field) bool { return f.Scenario == "down" })]
	require.Equal(t, []any{true, 0, 20}, []any{down.Copies, down.Held, down.Decided})
	require.NoError(t, search.Explain(t.Context(), m, r, &search.Options{Budget: search.Budget{Runs: 200}}))
	assert.Len(t, r.Defects, 1)
	var b bytes.Buffer
	require.NoError(t, report.Text(&b, r, nil))
	assert.Contains(t, b.String(), "not judged: copies: 0 of 20 held")
	assert.NotContains(t, b.String(), "within its promise")
}
