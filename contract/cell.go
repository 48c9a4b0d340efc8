package contract

import (
	"strconv"
)

// A Cell is one place of a matrix: an invariant in a scenario, once. Each is
// an independent run.
type Cell struct {
	Scenario  string `json:"scenario"`
	Invariant string `json:"invariant"`
	Trial     int    `json:"trial"` // 1 and up
}

// String is "scenario/invariant/trial", the cell's name as a subtest and after
// a command's -cell flag.
func (c Cell) String() string {
	return c.Scenario + "/" + c.Invariant + "/" + strconv.Itoa(c.Trial)
}

// Cells lists the cells in the order in which they are reported: by scenario,
// then trial, then invariant. A cell whose invariant does not apply in the
// scenario is not among them. A matrix that Validate refuses has none.
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
