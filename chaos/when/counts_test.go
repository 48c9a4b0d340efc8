package when_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/catalog"
	"github.com/shakedown-go/shakedown/chaos/lint"
	"github.com/shakedown-go/shakedown/chaos/when"
)

// TestLintKnowsWhichTriggersCount: those that docs/determinism.md says need a
// sequential lane.
func TestLintKnowsWhichTriggersCount(t *testing.T) {
	rows := 0
	check := func(row string, claim catalog.Order, w chaos.When) {
		rows++
		assert.Equal(t, claim == sequential, lint.Counts(w), row)
	}
	for _, c := range claims() {
		if strings.HasPrefix(c.row, "when.") {
			check(c.row, c.claim, c.rule.When)
		}
	}
	for _, r := range fromRows() {
		if r.IsTrigger() {
			check(r.Kind, r.Order, trials(t, r)[0].rule.When)
		}
	}
	assert.Greater(t, rows, 20)
	assert.True(t, lint.Counts(when.Not(when.Any(when.Always(), when.Nth(2)))), "a part of a part")
	assert.True(t, lint.Counts(second{}), "it looks at the ordinal")
	assert.False(t, lint.Counts(nil), "no trigger")
}

type second struct{}

func (second) Match(c chaos.Call) bool          { return c.Ordinal == 1 }
func (second) MatchOrdinal(ordinal uint64) bool { return ordinal == 1 }
