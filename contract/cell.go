package contract

import (
	"strconv"
)

// A Cell names one place of a matrix: an invariant in a scenario, in one trial.
// Each cell is an independent run.
type Cell struct {
	Scenario  string `json:"scenario"`
	Invariant string `json:"invariant"`
	Trial     int    `json:"trial"` // 1 and up
}

// String returns "scenario/invariant/trial", which is also the name of the cell's
// subtest.
func (c Cell) String() string {
	return c.Scenario + "/" + c.Invariant + "/" + strconv.Itoa(c.Trial)
}

// Cells lists the cells in the order in which they are reported: by scenario,
// then trial, then invariant. An invariant has no cells in a scenario that it does
// not apply to. The list of a matrix that Validate refuses is empty.
func (m *Matrix) Cells() []Cell {
	scenarios, err := m.compile()
	if err != nil {
		return nil
	}
	e := &engine{m: m, scenarios: scenarios}
	e.assignInvariants()
	var cells []Cell
	for j := range e.jobs() {
		for _, p := range j.invariants {
			cells = append(cells, j.cell(p))
		}
	}
	return cells
}

func (m *Matrix) trials() int { return max(m.Trials, 1) }
