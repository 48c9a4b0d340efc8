package matrices

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
)

func TestTheNameMayBeLeftOut(t *testing.T) {
	one := New([]*contract.Matrix{{Name: "desk"}})
	m, err := one.Matrix("")
	require.NoError(t, err)
	assert.Equal(t, "desk", m.Name)
	_, err = one.Matrix("dsek")
	assert.ErrorContains(t, err, `unknown matrix "dsek"; known: desk (did you mean desk?)`)

	two := New([]*contract.Matrix{{Name: "desk"}, {Name: "till"}})
	_, err = two.Matrix("")
	assert.ErrorContains(t, err, "matrix is missing; allowed: desk, till")
}

// A report is asked for by name, or is that of the matrix run last.
func TestTheLatestReport(t *testing.T) {
	s := New([]*contract.Matrix{{Name: "desk"}, {Name: "till"}})
	_, _, err := s.Report("")
	assert.ErrorContains(t, err, "has not been run")
	_, _, ok := s.Last()
	assert.False(t, ok)
	first, second := new(contract.Report), new(contract.Report)
	s.Put("till", Kept{Report: first})
	s.Put("till", Kept{Report: second})
	name, k, err := s.Report("")
	require.NoError(t, err)
	assert.Equal(t, "till", name)
	assert.Same(t, second, k.Report)
	_, _, err = s.Report("desk")
	assert.ErrorContains(t, err, "has not been run", "another matrix's report is not taken for it")
}
