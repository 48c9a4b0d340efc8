package compare_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/compare"
)

// fell is two reports of independent draws: fields at 95 %, the first so many of which fell.
func fell(seed uint64, scenarios, invariants, trials, fallen int, to float64) (before, after *contract.Report) {
	rng := rand.New(rand.NewPCG(seed, 2))
	var one, two []string
	for s := range scenarios {
		for i := range invariants {
			rate := 0.95
			if len(one)/2 < fallen {
				rate = to
			}
			name := fmt.Sprintf("s%d/i%d", s, i)
			one, two = append(one, name, draws(rng, trials, 0.95)), append(two, name, draws(rng, trials, rate))
		}
	}
	return made(one...), made(two...)
}

// TestPromisedPower: a drop to what Sees says is found as often as it says, in one field of one
// and of many, and in all together.
func TestPromisedPower(t *testing.T) {
	for _, row := range []struct {
		why                           string
		scenarios, invariants, trials int
		paired, together              bool
	}{
		{"one field of 20 pairs", 1, 1, 20, true, false},
		{"one field of 20 trials", 1, 1, 20, false, false},
		{"one of 32 fields of 30 pairs", 4, 8, 30, true, false},
		{"one of 32 fields of 30 trials", 4, 8, 30, false, false},
		{"all fields of six scenarios", 6, 8, 10, true, true},
		{"all fields of six scenarios, not paired", 6, 8, 10, false, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			runs := 100
			if row.scenarios > 1 {
				runs = 50
			}
			compared := func(seed uint64, fallen int, to float64) *compare.Comparison {
				before, after := fell(seed, row.scenarios, row.invariants, row.trials, fallen, to)
				if !row.paired {
					after.Seed = 2
				}
				return reports(t, before, after)
			}
			found, sum, chance := 0, 0.0, 0.8
			for seed := range uint64(runs) {
				// What a green run says, and then a build that fell so far.
				green := compared(seed+1_000_000, 0, 0)
				sees, fallen := green.Sees, 1
				if row.together {
					sees, fallen = green.Overall.Sees, row.scenarios*row.invariants
				}
				require.NotNil(t, sees)
				require.False(t, sees.Nothing)
				require.Equal(t, chance, sees.Chance)
				sum += sees.To
				c := compared(seed, fallen, sees.To)
				if row.together && c.Overall.These.Regression || !row.together && c.Fields[0].Regression {
					found++
				}
			}
			t.Logf("to %.1f %% on average: found %d of %d", 100*sum/float64(runs), found, runs)
			// Of 50 at 80 % two standard deviations are 11 points; the whole runs are in docs/statistics.md.
			assert.InDelta(t, chance, float64(found)/float64(runs), 0.12)
		})
	}
}

// TestUniformDrop: 480 pairs in six scenarios fall from 95 % to 85 %. No field shows it; the trials
// together do, and whether it is so in such scenarios too is asked after that.
func TestUniformDrop(t *testing.T) {
	const runs = 40
	found, such, alone := 0, 0, 0
	for seed := range uint64(runs) {
		before, after := fell(seed, 6, 8, 10, 48, 0.85)
		c := reports(t, before, after)
		require.NotNil(t, c.Overall)
		if c.Overall.These.Regression {
			found++
			assert.True(t, c.Regressed())
			assert.Contains(t, c.String(), " over 60 trials: worse; in such scenarios: p ")
		} else {
			assert.False(t, c.Overall.Such.Regression, "asked only after the other")
		}
		if c.Overall.Such.Regression {
			such++
		}
		for i := range c.Fields {
			if c.Fields[i].Regression {
				alone++
			}
		}
	}
	t.Logf("in these scenarios %d, in such %d, a field %d of %d", found, such, alone, runs)
	assert.GreaterOrEqual(t, found, runs*95/100)
	assert.GreaterOrEqual(t, such, runs/2, "six of six that fell are enough: 1/64 is below 0.02")
	assert.Less(t, alone, runs/5)
}

// TestFlipsByHand: eight of eight trials in which something changed are worse.
func TestFlipsByHand(t *testing.T) {
	before := made("a/i", "hhhhh", "a/j", "hhhhh", "b/i", "hhhhh", "b/j", "hhhhb")
	after := made("a/i", "bbbbh", "a/j", "bhhhh", "b/i", "bbhhb", "b/j", "hhhbh")
	c := reports(t, before, after)
	// Of a: −2, −1, −1, −1, 0. Of b: −1, −1, 0, −1, and one worse and one better: 0.
	assert.Equal(t, 10, c.Overall.These.Units)
	assert.InDelta(t, 1.0/128, c.Overall.These.P.Worse, 1e-12, "all of seven signs are negative")
	assert.True(t, c.Overall.These.Regression)
	assert.Equal(t, 2, c.Overall.Such.Units)
	assert.InDelta(t, .25, c.Overall.Such.P.Worse, 1e-12, "two of two scenarios")
	assert.False(t, c.Overall.Such.Regression)
	assert.InDelta(t, -(4.0/5+1.0/5)/4-(3.0/5+0)/4, c.Overall.Difference.Value, 1e-12, "the mean of the fields of each scenario")
	one := reports(t, made("a/i", "hhhhhhhhhh", "a/j", "hhhhhhhhhh"), made("a/i", "bbbbhhhhhh", "a/j", "hhhhbbbbhh"))
	require.NotNil(t, one.Overall, "one scenario has trials too")
	assert.Nil(t, one.Overall.Such)
	assert.True(t, one.Overall.These.Regression, "1/256")
	assert.Contains(t, one.String(), "over 1 scenario: 1 worse, 0 better, mean difference -40 points; in these scenarios: p .004")
}

// TestAllTrialsWherePairsMeanLittle: of an agent that does not repeat itself all trials are
// compared, and not as many as the shorter report has.
func TestAllTrialsWherePairsMeanLittle(t *testing.T) {
	before := made("a/i", repeated("h", 40), "b/i", repeated("h", 40))
	after := made("a/i", repeated("h", 8)+"bb", "b/i", repeated("h", 9)+"b")
	pairs := reports(t, before, after)
	assert.Empty(t, pairs.Unpaired)
	assert.Equal(t, 10, pairs.Fields[0].Pairs.Both+pairs.Fields[0].Pairs.Worse)
	before.Repeatable = "no"
	c := reports(t, before, after)
	assert.Contains(t, c.Unpaired, "does not repeat itself")
	f := c.Fields[0]
	assert.Equal(t, "Fisher", f.Test)
	assert.Equal(t, []int{40, 10}, []int{f.Before.Decided, f.After.Decided})
	assert.Equal(t, 100, c.Overall.These.Units)
	// Both broken trials of a are among the 10 of 50, 10·9/(50·49), and the one of b is, 1/5.
	assert.InDelta(t, 90.0/2450*.2, c.Overall.These.P.Worse, .004, "both of a and the one of b")
	assert.True(t, c.Overall.These.Regression)
	assert.False(t, pairs.Overall.These.Regression, "1/8 of ten pairs each")
	assert.NotContains(t, c.String(), "the first 10 of them are compared")
}

// TestOverallOfRepeats: scenarios whose trials are copies count in the change of all together, and
// fields that were tested without decided trials do not.
func TestOverallOfRepeats(t *testing.T) {
	before := made("s/i", "hhhhhhhh", "t/i", "hhhhhhhh", "u/i", "hhhhhhhh")
	after := made("s/i", "bbbbbbbb", "t/i", "hhhhhhhh", "u/i", "hhhhhhhh")
	alike(8, before, after)
	c := reports(t, before, after)
	require.Equal(t, "repeats", c.Fields[0].Test)
	assert.Equal(t, []int{3, 1, 0}, []int{c.Overall.Scenarios, c.Overall.Worse, c.Overall.Better})
	assert.InDelta(t, -1.0/3, c.Overall.Difference.Value, 1e-12, "one scenario of three fell from 1 to 0")
	assert.InDelta(t, 1.0/2, c.Overall.Such.P.Worse, 1e-12, "one of one sign is negative")
	assert.Contains(t, c.String(), "over 3 scenarios: 1 worse, 0 better, mean difference -33 points")

	// Of s no trial is decided on both sides: it is tested since it breaks without a fault.
	before, after = made("s/i", "hhu", "t/i", "hhh", "u/i", "hhh"), made("s/i", "iUh", "t/i", "hhh", "u/i", "hhh")
	alike(8, before, after)
	c = reports(t, before, after)
	require.Equal(t, "repeats", c.Fields[0].Test)
	require.Nil(t, c.Fields[0].Pairs)
	assert.Equal(t, 2, c.Overall.Scenarios)
	assert.Equal(t, 6, c.Overall.These.Units, "three pairs of each of two scenarios")
}
