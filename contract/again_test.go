package contract_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
)

// thirdBreaks is a matrix that counts the runs of its agent.
func thirdBreaks(runs *atomic.Int64) *contract.Matrix {
	return &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
				runs.Add(1)
				return "done", nil
			}}, nil
		},
		Prompts: []string{"go"}, Scenarios: []contract.Scenario{contract.Calm(), {Name: "quiet"}}, Trials: 10, Seed: 7,
		Invariants: []contract.Invariant{
			{Name: "holds", Severity: contract.High, Check: func(context.Context, *contract.Observation) error { return nil }},
			{Name: "calm-alone", Severity: contract.Low, Scenarios: []string{"calm"}, Check: func(_ context.Context, o *contract.Observation) error {
				if o.Cell.Trial == 3 {
					return errors.New("the third breaks")
				}
				return nil
			}},
		},
	}
}

// asFile reads what a run wrote.
func asFile(t *testing.T, m *contract.Matrix, o contract.RunOptions) *contract.Report {
	t.Helper()
	r, err := m.Run(t.Context(), &o)
	require.NoError(t, err)
	var file strings.Builder
	require.NoError(t, r.WriteRun(&file, false, false))
	read := new(contract.Report)
	require.NoError(t, read.ReadRun(strings.NewReader(file.String()), false))
	return read
}

func TestRunAgainRunsTheUnitsThatItDraws(t *testing.T) {
	var runs atomic.Int64
	m := thirdBreaks(&runs)
	file := asFile(t, m, contract.RunOptions{})
	drawnBy := map[string]bool{}
	for seed := range uint64(20) {
		var drawn []string
		for range 2 {
			runs.Store(0)
			around := 0
			again, err := m.RunAgain(t.Context(), file, 4, seed, &contract.RunOptions{Workers: 1, Harness: contract.Harness{
				Around: func(_ contract.Cell, run func(contract.Bubble) *contract.CellReport) {
					around++
					run(nil)
				}}})
			require.NoError(t, err)
			assert.Len(t, again.Cells, len(file.Cells))
			units, cells := map[string]int{}, 0
			for i, c := range again.Cells {
				if c.State != contract.NotRun {
					cells++
					units[fmt.Sprint(c.Cell.Scenario, c.Cell.Trial)]++
					assert.Equal(t, file.Cells[i].State, c.State, "a cell depends on its coordinates alone")
				}
			}
			assert.Len(t, units, 4)
			assert.EqualValues(t, cells, runs.Load())
			assert.Equal(t, cells, around, "the host's Around has the cells that run")
			drawn = append(drawn, fmt.Sprint(units))
		}
		assert.Equal(t, drawn[0], drawn[1], "the seed draws")
		drawnBy[drawn[0]] = true
	}
	assert.Greater(t, len(drawnBy), 15, "other seeds draw others")
	_, err := m.RunAgain(t.Context(), file, 1000, 1, nil)
	require.NoError(t, err)
}

func TestRunAgainRefusesAnotherRun(t *testing.T) {
	var runs atomic.Int64
	named := asFile(t, thirdBreaks(&runs), contract.RunOptions{File: filepath.Join(t.TempDir(), "a.run.jsonl"), Build: "one"})
	plain := asFile(t, thirdBreaks(&runs), contract.RunOptions{})
	counts, err := thirdBreaks(&runs).Run(t.Context(), &contract.RunOptions{Keep: contract.KeepCounts})
	require.NoError(t, err)
	runs.Store(0)
	for _, tc := range []struct {
		name   string
		file   *contract.Report
		units  int
		change func(*contract.Matrix)
		want   string
	}{
		{"another seed", plain, 1, func(m *contract.Matrix) { m.Seed = 8 }, "report.seed is 7; allowed: 8"},
		{"other trials", plain, 1, func(m *contract.Matrix) { m.Trials = 11 }, "report.trials is 10; allowed: 11"},
		{"other prompts", plain, 1, func(m *contract.Matrix) { m.Prompts = []string{"run"} }, "report.fingerprint"},
		{"another severity", plain, 1, func(m *contract.Matrix) { m.Invariants[0].Severity = contract.Low }, "report.fingerprint"},
		{"another build", named, 1, func(*contract.Matrix) {}, `report.build is "one"; allowed: two`},
		{"two at once", named, 1, func(m *contract.Matrix) { m.Seed = 8 }, "report.build"},
		{"no cells", counts, 1, func(*contract.Matrix) {}, "without cells"},
		{"no report", nil, 1, func(*contract.Matrix) {}, "without cells"},
		{"made by hand", &contract.Report{Cells: plain.Cells}, 1, func(*contract.Matrix) {}, "fingerprint"},
		{"no units", plain, 0, func(*contract.Matrix) {}, "units is 0; allowed: 1 or more"},
		{"not valid", plain, 1, func(m *contract.Matrix) { m.Prompts = nil }, "Prompts"},
	} {
		m := thirdBreaks(&runs)
		tc.change(m)
		_, err := m.RunAgain(t.Context(), tc.file, tc.units, 1, &contract.RunOptions{Build: "two"})
		var field *contract.FieldError
		assert.ErrorAs(t, err, &field, tc.name)
		assert.ErrorContains(t, err, tc.want, tc.name)
	}
	assert.Zero(t, runs.Load(), "no agent was called")
	_, err = thirdBreaks(&runs).RunAgain(t.Context(), named, 1, 1, &contract.RunOptions{Build: "one"})
	assert.NoError(t, err)
}

// What the fingerprint does not have, such as what a verdict accepts, is compared too.
func TestRunAgainRefusesAHeadThatWasChanged(t *testing.T) {
	var runs atomic.Int64
	lenient := thirdBreaks(&runs)
	lenient.AllowInconclusive = 100
	_, err := thirdBreaks(&runs).RunAgain(t.Context(), asFile(t, lenient, contract.RunOptions{}), 1, 1, nil)
	assert.ErrorContains(t, err, "report.allowInconclusive is 100; allowed: 0, that of the matrix")
}

func TestRunAgainEndsWithItsContext(t *testing.T) {
	var runs atomic.Int64
	m := thirdBreaks(&runs)
	file := asFile(t, m, contract.RunOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.RunAgain(ctx, file, 5, 1, nil)
	assert.ErrorIs(t, err, context.Canceled)
}
