package contract_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// A cell whose faults do not meet the premise of an invariant is in no count, as if Applies had
// left it out; a field of such cells is none. The run file says so too.
func TestCellsToWhichAnInvariantDoesNotApply(t *testing.T) {
	picky := contract.Invariant{Name: "picky", Severity: contract.Critical,
		Check: func(_ context.Context, o *contract.Observation) error {
			switch {
			case o.Cell.Scenario == "never", o.Cell.Scenario == "mixed" && o.Cell.Trial == 1:
				return fmt.Errorf("%w: its faults are others", contract.ErrDoesNotApply)
			case o.Cell.Scenario == "broken":
				return errors.New("it broke")
			}
			return nil
		}}
	agent := func(context.Context, string, chaos.ToolRegistry) (string, error) { return "yes", nil }
	fine := contract.Invariant{Name: "fine", Severity: contract.Low,
		Check: func(context.Context, *contract.Observation) error { return nil }}
	run := func(scenarios ...string) *contract.Report {
		m := &contract.Matrix{Name: "premises", Prompts: []string{"?"}, Trials: 2, Invariants: []contract.Invariant{picky, fine},
			NewWorld: func(context.Context) (*contract.World, error) { return &contract.World{Agent: agent}, nil }}
		for _, name := range scenarios {
			m.Scenarios = append(m.Scenarios, contract.Scenario{Name: name})
		}
		file := filepath.Join(t.TempDir(), "run.jsonl")
		r, err := m.Run(t.Context(), &contract.RunOptions{File: file, Keep: contract.KeepAll})
		require.NoError(t, err)
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		again, err := report.Read(f, nil)
		require.NoError(t, err)
		assert.Equal(t, r.Score, again.Score)
		assert.Equal(t, r.Counts, again.Counts)
		return r
	}
	r := run("never", "mixed")
	assert.Equal(t, scoring.Pass, r.Score.Verdict, r.Score.Why)
	assert.Equal(t, 5, r.Score.Decided, "four of fine, one of picky")
	assert.Zero(t, r.Score.NotRun)
	assert.False(t, r.Filtered)
	var fields []string
	for _, f := range r.Fields {
		fields = append(fields, f.Scenario+"/"+f.Invariant)
	}
	assert.Equal(t, []string{"never/fine", "mixed/picky", "mixed/fine"}, fields)
	assert.True(t, r.Cells[0].DoesNotApply)
	assert.Equal(t, "contract: the invariant does not apply: its faults are others", "contract: "+r.Cells[0].Why)
	require.NoError(t, r.Judge())
	assert.Equal(t, 5, r.Score.Decided, "judged again")

	assert.Equal(t, scoring.Fail, run("never", "broken").Score.Verdict)
}
