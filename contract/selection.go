package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shakedown-go/shakedown/internal/text"
)

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
	if most := max(own.Trials, 1); s.Trial < 0 || s.Trial > most {
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
	if !slices.ContainsFunc(own.Cells(), s.has) {
		return nil, nil, ErrNothingSelected
	}
	return own, s.has, nil
}

func (s Selection) has(c Cell) bool {
	return (len(s.Scenarios) == 0 || slices.Contains(s.Scenarios, c.Scenario)) &&
		(len(s.Invariants) == 0 || slices.Contains(s.Invariants, c.Invariant)) && (s.Trial == 0 || s.Trial == c.Trial)
}
