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
