package prompts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
)

func TestExplain(t *testing.T) {
	low := contract.CellReport{Cell: contract.Cell{Scenario: "down", Invariant: "low", Trial: 1}, Severity: contract.Low, State: contract.Broken, Violated: true}
	high := contract.CellReport{Cell: contract.Cell{Scenario: "down", Invariant: "high", Trial: 1}, Severity: contract.High, State: contract.Broken, Violated: true, Rerun: "again"}
	r := &contract.Report{Cells: []contract.CellReport{low, high}}
	for cell, want := range map[string]string{"": "Explain down/high/1", "down/low/1": "Explain down/low/1", "x": "No such broken cell"} {
		title, text, err := Explain("m", r, cell)
		require.NoError(t, err)
		assert.Equal(t, want, title)
		assert.Contains(t, text, `"m"`)
	}
	title, _, err := Explain("m", &contract.Report{}, "")
	require.NoError(t, err)
	assert.Equal(t, "Nothing is broken", title)
}

func TestDesign(t *testing.T) {
	empty := Design{Host: "desk", Goal: "g"}.Text()
	assert.Contains(t, empty, "Target: for you to choose")
	assert.Contains(t, empty, "Injection points: none are known yet\nExperiments that are registered already: none")
	full := Design{Host: "desk", Target: "t.*", Points: make([]string, 150), Experiments: []string{"a", "b"}}.Text()
	assert.Contains(t, full, "Target: t.*")
	assert.Contains(t, full, "registered already: a, b")
}
