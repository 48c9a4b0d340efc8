package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
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
	scenarios, err := m.compile(false)
	if err != nil {
		return nil
	}
	e := &engine{m: m, scenarios: scenarios}
	e.assign()
	var cells []Cell
	for j := range e.jobs() {
		for _, p := range j.invariants {
			cells = append(cells, j.cell(p))
		}
	}
	return cells
}

func (m *Matrix) trials() int { return max(m.Trials, 1) }

// A CellContext says which run of a matrix a context belongs to. The runs of all invariants of a
// scenario and trial have equal ones, and meet the same faults. So it is a good seed for a
// model, and no unique name for a database.
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
// contexts of NewWorld, [Matrix.Reset], [World.State], the agent, its tools
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

// A Selection chooses cells of a matrix, and how often and with which seed they are
// asked. The zero value chooses all, as the matrix says.
type Selection struct {
	_          struct{}
	Scenarios  []string // names; none: all
	Invariants []string // names; none: all
	Trial      int      // this trial alone, from 1; 0: all
	Trials     int      // instead of those of the matrix; 0: those
	Seed       *uint64  // instead of that of the matrix; nil: that
}

// ErrNothingSelected is the error of a selection that leaves no cell, because its
// invariants do not apply in its scenarios.
var ErrNothingSelected = errors.New("contract: no cell of the matrix is left by these filters: the invariants do not apply in the scenarios")

// Of returns a copy of the matrix with the trials and the seed of the selection, and
// which of its cells are chosen. The error joins a [*FieldError] for each name that the
// matrix does not have and for a trial that it does not have, or else is
// [ErrNothingSelected].
func (s Selection) Of(m *Matrix) (own *Matrix, chosen func(Cell) bool, err error) {
	copied := *m
	own = &copied
	if s.Trials > 0 {
		own.Trials = s.Trials
	}
	if s.Seed != nil {
		own.Seed = *s.Seed
	}
	var scenarios, invariants []string
	for _, one := range m.Scenarios {
		scenarios = append(scenarios, one.Name)
	}
	for _, one := range m.Invariants {
		invariants = append(invariants, one.Name)
	}
	wrong := fields.List()
	if most := own.trials(); s.Trial < 0 || s.Trial > most {
		wrong.Wrong("trial", s.Trial, fmt.Sprintf("1 to %d", most))
	}
	for _, list := range []struct {
		field        string
		asked, known []string
	}{{"scenarios", s.Scenarios, scenarios}, {"invariants", s.Invariants, invariants}} {
		for i, name := range list.asked {
			if !slices.Contains(list.known, name) {
				wrong.Wrong(fmt.Sprintf("%s[%d]", list.field, i), name,
					strings.Join(list.known, ", ")+text.Meant(name, list.known))
			}
		}
	}
	if err := wrong.Err(); err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(own.Cells(), s.chooses) {
		return nil, nil, ErrNothingSelected
	}
	return own, s.chooses, nil
}

func (s Selection) chooses(c Cell) bool {
	return (len(s.Scenarios) == 0 || slices.Contains(s.Scenarios, c.Scenario)) &&
		(len(s.Invariants) == 0 || slices.Contains(s.Invariants, c.Invariant)) && (s.Trial == 0 || s.Trial == c.Trial)
}
