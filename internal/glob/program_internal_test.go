package glob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A name is not read on behind a star at the end: the steps are still those that the character before the star led to.
func TestAStarAtTheEndTakesTheRest(t *testing.T) {
	for _, pattern := range []string{"{ab,a*}", "{{ab,a*},x}", "{ab,a**}", "a*{,b}", "{ab,a{*,c}}"} {
		steps, err := parse(pattern)
		require.NoError(t, err)
		after := func(name string) set {
			return steps.after(name, make(set, steps.words()), make(set, steps.words()))
		}
		assert.Equal(t, after("a"), after("axyz"), pattern)
	}
}
