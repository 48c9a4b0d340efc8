package search

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptionsNameEveryProblem(t *testing.T) {
	_, err := (&Options{Budget: Budget{Runs: -1, Time: -1, Cost: -1}, Depth: 5, Strength: 3}).checked()
	for _, want := range []string{"Budget.Runs", "Budget.Time", "Budget.Cost", "Depth is 5", "Strength is 3", "allowed: 1 to 4"} {
		assert.ErrorContains(t, err, want)
	}
	_, err = (*Options)(nil).checked()
	assert.ErrorContains(t, err, "Budget")
	_, err = (&Options{Budget: Budget{Cost: 1}}).checked()
	assert.ErrorContains(t, err, "Cost is nil beside Budget.Cost")
	o, err := (&Options{Budget: Budget{Runs: 1}}).checked()
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(2, 2), fmt.Sprint(o.Depth, o.Strength))
}
