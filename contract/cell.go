package contract

import (
	"context"
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

// A CellContext says which run of a matrix a context belongs to. All invariants of a
// scenario and trial have equal ones, each with a run of its own, which may be under
// way at the same time: they meet the same faults. So it is a good seed for a model,
// and no unique name for a database.
type CellContext struct {
	// Scenario and Trial are those of the [Cell]. A run that is no cell has neither:
	// the first world, a calm run, the state probe.
	Scenario string
	Trial    int // 1 and up; 0: the run is no cell
	// Seed is that of the matrix.
	Seed uint64
}

type cellKey struct{}

// CellOf returns which run of a matrix a context belongs to. It does so for the
// contexts of [Matrix.NewWorld], [Matrix.Reset], [World.State], the agent, its tools
// and the checks, and for those made from them. ok is false for any other context.
func CellOf(ctx context.Context) (c CellContext, ok bool) {
	c, ok = ctx.Value(cellKey{}).(CellContext)
	return c, ok
}

// cellContext is a context with its run, in one allocation.
type cellContext struct {
	context.Context
	cell CellContext
}

func (c *cellContext) Value(key any) any {
	if _, ok := key.(cellKey); ok {
		return c.cell
	}
	return c.Context.Value(key)
}

// withCell returns a context that CellOf knows. A run that is no cell has the zero cell.
func (m *Matrix) withCell(ctx context.Context, c Cell) context.Context {
	return &cellContext{ctx, CellContext{c.Scenario, c.Trial, m.Seed}}
}
