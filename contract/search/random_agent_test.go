package search

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
)

func TestARandomAgent(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2)) // one worker: each test run is the same
	m := scripted(func(call func(string, int) error) string {
		f := each(call, 3)
		_ = call("d", draw.IntN(1e9)) // no two runs are the same
		if f["b2"] && draw.Float64() < .8 {
			return "bad"
		}
		return "ok"
	}, contract.Under("all", fails("*", nil)))
	m.Trials = 20 // of which some break
	o := &Options{}
	o.Run.Workers = 1
	r := explained(t, m, o)
	require.NotEmpty(t, r.Defects)
	d := r.Defects[0]
	assert.Equal(t, "b fails", d.Sentence)
	assert.NotEmpty(t, d.Difference, "where two runs first differ")
	assert.False(t, d.Unconfirmed)
	assert.Equal(t, 4, d.Broke)
	require.NotNil(t, d.Rate)
	assert.Greater(t, d.Rate.High, .8)
	assert.Less(t, d.Rate.Low, .8)
}

// What the report knows of the agent counts, although the run of a source was twice the
// same.
func TestAReportSaysThatTheAgentIsRandom(t *testing.T) {
	m := scripted(breaksWith(1, "b1"), contract.Under("all", fails("b", nil)))
	m.Invariants = m.Invariants[:1]
	for repeatable, runs := range map[string]bool{"": false, "yes": false, "no": true} {
		r, err := m.Run(t.Context(), &contract.RunOptions{Harness: bubbled(t)})
		require.NoError(t, err)
		r.Repeatable, r.Difference = repeatable, "trial 3: broken, then held"
		require.NoError(t, Explain(t.Context(), m, r, &Options{Budget: Budget{Runs: 2000}, Run: contract.RunOptions{Harness: bubbled(t)}}))
		require.Len(t, r.Defects, 1)
		assert.Equal(t, runs, r.Defects[0].Runs > 0, "%q: it was confirmed by further runs", repeatable)
		if runs {
			assert.Equal(t, "trial 3: broken, then held", r.Defects[0].Difference)
		}
	}
}
