package process

import (
	"maps"
	"slices"
	"testing"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An agent that begins the conversation anew refunds twice, exactly where its model
// fails once after the refund. Where it fails before, or for good, it does not.
func TestAnAgentThatBeginsAnewRefundsTwice(t *testing.T) {
	report, err := matrix(t, "--fragile").Run(t.Context(), nil)
	require.NoError(t, err)
	broken := make(map[string]bool)
	for _, c := range report.Cells {
		if c.State == contract.Broken {
			assert.Equal(t, "one-refund", c.Cell.Invariant)
			broken[c.Cell.Scenario] = true
		}
	}
	assert.Equal(t, []string{"answer-cut", "says-nothing", "second-turn-down"}, slices.Sorted(maps.Keys(broken)))
}
