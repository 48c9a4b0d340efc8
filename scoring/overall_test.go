package scoring

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func parts(mutation, chaos, contract, replay float64) Parts {
	return Parts{Mutation: &mutation, Chaos: &chaos, Contract: &contract, Replay: &replay}
}

func TestOverallOfAllParts(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		weights Weights
		parts   Parts
		want    float64
	}{
		{"all full", DefaultWeights(), parts(100, 100, 100, 100), 100},
		{"mutation counts 0.20", DefaultWeights(), parts(100, 0, 0, 0), 20},
		{"chaos counts 0.35", DefaultWeights(), parts(0, 100, 0, 0), 35},
		{"contract counts 0.35", DefaultWeights(), parts(0, 0, 100, 0), 35},
		{"replay counts 0.10", DefaultWeights(), parts(0, 0, 0, 100), 10},
		{"a measured 0 is not missing", DefaultWeights(), parts(0, 0, 0, 0), 0},
		{"two decimals", DefaultWeights(), parts(33.33, 66.67, 12.34, 99.99), 44.32},
		{"a sum of 0.999 is near enough", Weights{Mutation: 0.333, Chaos: 0.333, Contract: 0.333}, parts(100, 100, 100, 0), 99.9},
		{"the allowance includes its end, which in binary is a hair more", Weights{Mutation: 0.999}, parts(100, 0, 0, 0), 99.9},
		{"a sum of 1.001 is too, and the value stays in range", Weights{Mutation: 0.5, Chaos: 0.501}, parts(100, 100, 0, 0), 100},
	} {
		got, err := tc.weights.Overall(tc.parts, &OverallOptions{})
		require.NoError(t, err, tc.reason)
		assert.Equal(t, tc.want, got.Value, tc.reason)
		assert.Len(t, got.Ran, 4, tc.reason)
		assert.False(t, got.Renormalised, tc.reason)
	}
}

func TestOverallRenormalises(t *testing.T) {
	p := parts(50, 80, 0, 0)
	p.Contract, p.Replay = nil, nil
	got, err := DefaultWeights().Overall(p, &OverallOptions{Renormalise: true})
	require.NoError(t, err)
	assert.Equal(t, 69.09, got.Value) // (0.20×50 + 0.35×80) ÷ 0.55
	assert.Equal(t, []string{"contract", "replay"}, got.Missing)
	assert.True(t, got.Renormalised)
	assert.InDelta(t, 1, got.Ran[0].Weight+got.Ran[1].Weight, 1e-15)

	p = parts(50, 80, 70, 90)
	got, err = DefaultWeights().Overall(p, &OverallOptions{Renormalise: true})
	require.NoError(t, err)
	assert.False(t, got.Renormalised, "nothing was missing")
}

func TestOverallNeedsNoPartWithoutWeight(t *testing.T) {
	p := parts(50, 80, 0, 0)
	p.Contract, p.Replay = nil, nil
	got, err := Weights{Mutation: 0.5, Chaos: 0.5}.Overall(p, &OverallOptions{})
	require.NoError(t, err)
	assert.Equal(t, 65.0, got.Value)
	assert.Equal(t, []string{"contract", "replay"}, got.Missing)
	assert.False(t, got.Renormalised)
}

func TestOverallRefuses(t *testing.T) {
	full := parts(1, 2, 3, 4)
	onlyReplay := Parts{Replay: full.Replay}
	for _, tc := range []struct {
		weights Weights
		parts   Parts
		options OverallOptions
		want    string
	}{
		{Weights{}, full, OverallOptions{}, "scoring: sum of weights is 0; allowed: 1 within 0.001"},
		{Weights{Mutation: 0.5, Chaos: 0.4}, full, OverallOptions{}, "scoring: sum of weights is 0.9; allowed: 1 within 0.001"},
		{Weights{Mutation: 1, Chaos: 0.0011}, full, OverallOptions{}, "scoring: sum of weights is 1.0011; allowed: 1 within 0.001"},
		{Weights{Mutation: 2, Chaos: -1}, full, OverallOptions{}, "scoring: weights.chaos is -1; allowed: 0 or more, and finite"},
		{Weights{Mutation: math.NaN()}, full, OverallOptions{}, "scoring: weights.mutation is NaN; allowed: 0 or more, and finite"},
		{Weights{Replay: math.Inf(1)}, full, OverallOptions{}, "scoring: weights.replay is +Inf; allowed: 0 or more, and finite"},
		{DefaultWeights(), parts(-1, 101, math.NaN(), math.Inf(1)), OverallOptions{Renormalise: true},
			"scoring: parts.mutation is -1; allowed: 0 to 100\nscoring: parts.chaos is 101; allowed: 0 to 100\n" +
				"scoring: parts.contract is NaN; allowed: 0 to 100\nscoring: parts.replay is +Inf; allowed: 0 to 100"},
		{DefaultWeights(), Parts{}, OverallOptions{Renormalise: true},
			"scoring: parts is all without weight or missing; allowed: one part or more of a weight above 0"},
		{Weights{Mutation: 1}, onlyReplay, OverallOptions{Renormalise: true},
			"scoring: parts is all without weight or missing; allowed: one part or more of a weight above 0"},
		{Weights{Mutation: 1}, onlyReplay, OverallOptions{},
			"scoring: parts.mutation is missing; allowed: a score; or set OverallOptions.Renormalise to go without"},
	} {
		got, err := tc.weights.Overall(tc.parts, &tc.options)
		assert.EqualError(t, err, tc.want)
		var field *FieldError
		assert.ErrorAs(t, err, &field)
		assert.Zero(t, got)
	}
}

func TestOverallJSONHasNoNull(t *testing.T) {
	got, err := DefaultWeights().Overall(parts(1, 2, 3, 4), &OverallOptions{})
	require.NoError(t, err)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, `{"value":2.35,"verdict":"inconclusive","why":"the contract was inconclusive","ran":[{"name":"mutation","score":1,"weight":0.2},{"name":"chaos","score":2,"weight":0.35},
		{"name":"contract","score":3,"weight":0.35},{"name":"replay","score":4,"weight":0.1}],"missing":[],"renormalised":false}`, string(text))
}

func TestOverallVerdict(t *testing.T) {
	without := func(p Parts, drop ...string) Parts {
		for _, name := range drop {
			switch name {
			case "mutation":
				p.Mutation = nil
			case "chaos":
				p.Chaos = nil
			case "contract":
				p.Contract = nil
			case "replay":
				p.Replay = nil
			}
		}
		return p
	}
	full := parts(100, 100, 100, 100)
	for _, tc := range []struct {
		reason      string
		weights     Weights
		parts       Parts
		contract    Verdict
		renormalise bool
		want        Verdict
		why         string
	}{
		{"a contract that passed", DefaultWeights(), full, Pass, false, Pass, "the contract passed"},
		{"a contract that failed, whatever the number", DefaultWeights(), full, Fail, false, Fail, "the contract failed"},
		{"a contract that failed and counts for nothing", Weights{Mutation: 1}, full, Fail, false, Fail, "the contract failed"},
		{"a contract that failed with no cell decided", DefaultWeights(), without(full, "contract"), Fail, true, Fail, "the contract failed"},
		{"a verdict that nobody gave", DefaultWeights(), full, 0, false, Inconclusive, "the contract was inconclusive"},
		{"the same, left to the others", DefaultWeights(), full, Inconclusive, true, Pass, "no part failed; the contract was inconclusive"},
		{"there are no others", DefaultWeights(), without(full, "mutation", "chaos", "replay"), Inconclusive, true, Inconclusive, "the contract was inconclusive"},
		{"the others have no weight", Weights{Contract: 1}, full, Inconclusive, true, Inconclusive, "the contract was inconclusive"},
		{"parts that did not run", DefaultWeights(), without(full, "mutation", "replay"), Pass, true, Pass, "the contract passed; these did not run: mutation, replay"},
		{"the contract did not run", DefaultWeights(), without(full, "contract"), Inconclusive, true, Pass, "no part that ran failed; these did not run: contract"},
		{"the contract need not run", Weights{Chaos: 1}, without(full, "contract"), Inconclusive, false, Pass,
			"no part failed; the contract has no weight and did not run"},
	} {
		tc.parts.ContractVerdict = tc.contract
		got, err := tc.weights.Overall(tc.parts, &OverallOptions{Renormalise: tc.renormalise})
		require.NoError(t, err, tc.reason)
		assert.Equal(t, tc.want, got.Verdict, tc.reason)
		assert.Equal(t, tc.why, got.Why, tc.reason)
	}
	_, err := DefaultWeights().Overall(Parts{ContractVerdict: 7}, &OverallOptions{Renormalise: true})
	assert.ErrorContains(t, err, "scoring: parts.contractVerdict is Verdict(7); allowed: inconclusive, pass, fail")
}

func TestOverallLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.Float64Range(0, 100)
		maybe := func(name string) *float64 {
			if rapid.Bool().Draw(t, name+" ran") {
				v := score.Draw(t, name)
				return &v
			}
			return nil
		}
		always := score.Draw(t, "contract")
		p := Parts{Mutation: maybe("mutation"), Chaos: maybe("chaos"), Contract: &always, Replay: maybe("replay")}
		got, err := DefaultWeights().Overall(p, &OverallOptions{Renormalise: true})
		require.NoError(t, err)
		low, high, sum := math.Inf(1), math.Inf(-1), 0.0
		for _, part := range got.Ran {
			low, high, sum = min(low, part.Score), max(high, part.Score), sum+part.Weight
		}
		assert.InDelta(t, 1, sum, 1e-12, "the weights used sum to 1")
		assert.True(t, got.Value >= low-0.01 && got.Value <= high+0.01, "%v lies between the parts, %v to %v", got.Value, low, high)
		assert.Equal(t, 4, len(got.Ran)+len(got.Missing))
	})
}
