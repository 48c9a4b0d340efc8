package scoring

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMutationsRefuse(t *testing.T) {
	fine := Mutation{Kind: "typo", Weight: 1, State: CellHeld}
	for _, tc := range []struct {
		change func(*Mutation)
		want   string
	}{
		{func(m *Mutation) { m.Kind = "" }, "mutations[1].kind is empty; allowed: a name"},
		{func(m *Mutation) { m.Kind, m.Weight = "x", 0 }, "mutations[1].weight is 0; allowed: above 0, and finite"},
		{func(m *Mutation) { m.Kind, m.Weight = "x", math.Inf(1) }, "mutations[1].weight is +Inf; allowed: above 0, and finite"},
		{func(m *Mutation) { m.State = 9 }, "mutations[1].state is CellState(9); allowed: not run, held, broken, inconclusive, undelivered"},
		{func(m *Mutation) { m.Weight = 2 },
			`mutations[1] is another weight, group or intent; allowed: the same as in mutations[0], which is of kind "typo" too`},
	} {
		m := fine
		tc.change(&m)
		_, err := Mutations([]Mutation{fine, m}, 0)
		assert.EqualError(t, err, "scoring: "+tc.want)
	}
	_, err := Mutations(nil, 0)
	assert.ErrorIs(t, err, ErrNoCells)
	s, err := Mutations([]Mutation{{Kind: "a", Weight: 1, State: CellInconclusive}, {Kind: "a", Weight: 1}}, 0)
	assert.ErrorIs(t, err, ErrNoDecidedCell)
	assert.Equal(t, []int{0, 2, 1, 1}, []int{s.Decided, s.Total, s.Inconclusive, s.NotRun})
	text, err := json.Marshal(s)
	require.NoError(t, err)
	assert.NotContains(t, string(text), `"value"`, "no number where nothing was decided")
	_, err = Mutations([]Mutation{{Kind: "a", Weight: 1}}, 0)
	assert.ErrorIs(t, err, ErrNoneRan)
}

// TestMutationLaws: the formula by its definition, the order, the scale of the weights, and
// what one mutation more does.
func TestMutationLaws(t *testing.T) {
	weights := map[string]float64{"a": .5, "b": 1, "c": 1.5}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Mutation {
			kind := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "kind")
			return Mutation{Kind: kind, Weight: weights[kind],
				State: rapid.SampledFrom([]CellState{CellHeld, CellBroken, CellInconclusive, CellUndelivered}).Draw(t, "state")}
		}), 1, 20).Draw(t, "list")
		var held, decided float64
		for _, m := range list {
			if m.State == CellHeld {
				held += m.Weight
			}
			if m.State == CellHeld || m.State == CellBroken {
				decided += m.Weight
			}
		}
		s, err := Mutations(list, 0)
		if decided == 0 {
			require.ErrorIs(t, err, ErrNoDecidedCell)
			return
		}
		require.NoError(t, err)
		assert.InDelta(t, held/decided, s.Value, 1e-12)
		assert.Equal(t, s.Total, s.Decided+s.Inconclusive+s.Undelivered+s.NotRun)
		shuffled, err := Mutations(rapid.Permutation(list).Draw(t, "shuffled"), 0)
		require.NoError(t, err)
		assert.Equal(t, s.Value, shuffled.Value)
		scaled := append([]Mutation(nil), list...)
		for i := range scaled {
			scaled[i].Weight *= 1 << 40
		}
		big, err := Mutations(scaled, 0)
		require.NoError(t, err)
		assert.Equal(t, s.Value, big.Value, "the scale of the weights does not matter")
		more, err := Mutations(append(append([]Mutation(nil), list...), Mutation{Kind: "a", Weight: .5, State: CellHeld}), 0)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, more.Value, s.Value)
	})
}

func TestHugeWeightsDoNotOverflow(t *testing.T) {
	s, err := Mutations([]Mutation{{Kind: "a", Weight: math.MaxFloat64, State: CellHeld}, {Kind: "b", Weight: math.MaxFloat64, State: CellBroken}}, 0)
	require.NoError(t, err)
	assert.Equal(t, .5, s.Value)
}

func TestChaosAndReplayOfCells(t *testing.T) {
	cells := []Cell{faulty(Critical, CellHeld, 1), counted(faulty(Low, CellBroken, 1), 2), faulty(High, CellUndelivered, 0),
		faulty(High, CellInconclusive, 1), faulty(High, CellNotRun, 0)}
	// One scenario: 1 of 3 cells, 0.0084 to 0.9057 in the tables of the exact interval.
	in := Interval{Low: 0.008403758659612647, High: 0.9057006759497539, Level: Level95}
	s, err := Chaos(cells, 4, 5, nil)
	require.NoError(t, err)
	assert.Equal(t, ChaosScore{Value: 60, Passed: 1, Decided: 3, Total: 15, Inconclusive: 1, Undelivered: 1, NotRun: 1,
		CalmBroken: 4, CalmUndecided: 5, Interval: in}, s)
	r, err := Replay(cells, nil)
	require.NoError(t, err)
	assert.Equal(t, ReplayScore{Value: 33.33, Passed: 1, Decided: 3, Total: 6, Inconclusive: 1, Undelivered: 1, NotRun: 1, Interval: in}, r)

	_, err = Chaos([]Cell{{}}, -1, 0, nil)
	assert.ErrorContains(t, err, "scoring: cells[0].scenario is empty")
	assert.ErrorContains(t, err, "scoring: calmBroken is -1; allowed: 0 to 1000000000")
	_, err = Replay([]Cell{{}}, nil)
	assert.ErrorContains(t, err, "scoring: cells[0].scenario is empty")
	for _, none := range []any{must(Chaos(nil, 1, 0, nil)), must(Replay(nil, nil))} {
		text, err := json.Marshal(none)
		require.NoError(t, err)
		assert.NotContains(t, string(text), `"value"`)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// BenchmarkParts scores 10^5 cells each way.
func BenchmarkParts(b *testing.B) {
	const n = 100_000
	cells, list := make([]Cell, n), make([]Mutation, n)
	for i := range n {
		cells[i] = faulty(High, CellHeld, 1)
		list[i] = Mutation{Kind: fmt.Sprint("kind", i%40), Weight: 1.2, State: CellHeld}
	}
	b.Run("chaos", func(b *testing.B) {
		for b.Loop() {
			must(Chaos(cells, 0, 0, nil))
		}
	})
	b.Run("replay", func(b *testing.B) {
		for b.Loop() {
			must(Replay(cells, nil))
		}
	})
	b.Run("mutations", func(b *testing.B) {
		for b.Loop() {
			must(Mutations(list, 0))
		}
	})
}

// TestPartsAreFromZeroToHundred, and there is none where nothing was decided.
func TestPartsAreFromZeroToHundred(t *testing.T) {
	for _, tc := range []struct{ some, none, missing interface{ Part() *float64 } }{
		{&ContractScore{Value: 50, Decided: 2}, &ContractScore{Value: 50}, (*ContractScore)(nil)},
		{&ChaosScore{Value: 50, Decided: 2}, &ChaosScore{Value: 50}, (*ChaosScore)(nil)},
		{&MutationScore{Value: .5, Decided: 2}, &MutationScore{Value: .5}, (*MutationScore)(nil)},
		{&ReplayScore{Value: 50, Decided: 2}, &ReplayScore{Value: 50}, (*ReplayScore)(nil)},
	} {
		require.NotNil(t, tc.some.Part())
		assert.Equal(t, 50.0, *tc.some.Part())
		assert.Nil(t, tc.none.Part())
		assert.Nil(t, tc.missing.Part())
	}
}

// TestTextsOfFewPrompts: ten texts of three prompts are three draws, and trials of a text are alike.
func TestTextsOfFewPrompts(t *testing.T) {
	for _, row := range []struct {
		why            string
		texts, prompts int
		draws          float64
		clusters       int
	}{
		{"ten texts of one prompt", 10, 1, 10, 10},
		{"ten texts of three prompts", 10, 3, 3, 3},
		{"two texts, five trials of each", 2, 1, 2, 2},
		{"one text", 1, 1, 10, 0},
		{"more prompts than texts", 2, 5, 2, 5},
	} {
		var list []Mutation
		for i := range 10 {
			list = append(list, Mutation{Kind: "typo", Weight: 1, State: CellHeld, Text: fmt.Sprint(i % row.texts)})
		}
		s, err := Mutations(list, row.prompts)
		require.NoError(t, err)
		assert.InDelta(t, math.Pow(.025, 1/row.draws), s.Interval.Low, 1e-12, row.why)
		assert.Equal(t, row.clusters, s.Interval.Clusters, row.why)
		assert.Equal(t, s.Interval, s.Kinds[0].Interval, row.why)
		assert.Equal(t, row.prompts, s.Prompts)
	}
	_, err := Mutations([]Mutation{{Kind: "typo", Weight: 1, State: CellHeld}}, -1)
	assert.EqualError(t, err, "scoring: prompts is -1; allowed: 0 or more")
}
