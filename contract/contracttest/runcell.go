package contracttest

import (
	"cmp"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
)

// RunCell runs one cell of the matrix as [Run] does, in virtual time if the world is
// made for each cell, and returns its report. It makes no subtest, and no outcome of
// the cell fails t: the caller says what it expects, such as that a known defect is
// still found. If the cell cannot be run, RunCell fails t and stops it.
//
// Of the options, RealTime and Watchdog matter; nil and the zero value work.
// RunCell must be called from the goroutine of t.
func RunCell(t *testing.T, m *contract.Matrix, c contract.Cell, o *Options) *contract.CellReport {
	t.Helper()
	o = cmp.Or(o, &Options{})
	r := &runner{o: o, virtual: virtualScenarios(m, o)}
	result, err := m.RunCell(t.Context(), c, &contract.RunOptions{
		Watchdog: o.Watchdog,
		Harness: contract.Harness{
			Around: func(c contract.Cell, run func(contract.Bubble) *contract.CellReport) { run(r.bubble(t, c)) },
			Calm:   r.calmBubble(t),
			Rerun:  testLine(t.Name(), testedPackage()), Deadline: deadline(t),
		},
	})
	if err != nil {
		t.Fatalf("contracttest: the cell did not run: %v", err)
	}
	return result
}
