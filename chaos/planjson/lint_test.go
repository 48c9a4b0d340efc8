package planjson_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/planjson"
)

// The linter has no findings for the ready-made profiles.
func TestProfilesAreWithoutFindings(t *testing.T) {
	for _, name := range planjson.ProfileNames() {
		rules, err := planjson.Profile(name, &planjson.ProfileOptions{Tools: []string{"orders.*"}, Streams: []string{"tokens"}, Models: []string{theModel}})
		require.NoError(t, err)
		plan, err := chaos.NewPlan(7, rules...)
		require.NoError(t, err)
		assert.Empty(t, lint.Plan(plan, nil), name)
	}
}
