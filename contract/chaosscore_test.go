package contract_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// scripted is a matrix whose cells come out as a table says: by scenario, invariant, trial.
func scripted(scenarios []contract.Scenario, severities []contract.Severity, trials int, out func(contract.Cell) error) *contract.Matrix {
	m := &contract.Matrix{
		NewWorld: func(context.Context) (*contract.World, error) {
			tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "get"}, func(context.Context, struct{}) (string, error) { return "ok", nil }))
			return &contract.World{Tools: tools, Agent: func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
				_, _ = tools.CallTool(ctx, "get", nil)
				return "done", nil
			}}, err
		},
		Prompts: []string{"hello"}, Scenarios: scenarios, Trials: trials,
	}
	for i, severity := range severities {
		m.Invariants = append(m.Invariants, contract.Invariant{Name: fmt.Sprint("inv", i), Severity: severity,
			Check: func(_ context.Context, o *contract.Observation) error { return out(o.Cell) }})
	}
	return m
}

var errBroken = errors.New("broken")

// TestChaosScoreLeavesOutWhatCalmDoesNotHold compares with the formula, over matrices in any
// order, with and without the reports of cells.
func TestChaosScoreLeavesOutWhatCalmDoesNotHold(t *testing.T) {
	fails := chaos.Rule{Target: "get", Fault: fault.Fail(fault.ErrUnavailable)}
	never := chaos.Rule{Target: "never", Fault: fault.Fail(fault.ErrUnavailable)}
	kinds := map[string]contract.Scenario{
		"calm": {}, "faulty": {Rules: []chaos.Rule{fails}}, "missed": {Rules: []chaos.Rule{never}},
		"words": {Rewrite: func(s string) string { return s + "!" }}, "layer": {Layer: chaos.LayerTool},
		"both":      {Rewrite: func(s string) string { return s + "!" }, Rules: []chaos.Rule{fails}},
		"wordsOnly": {Rewrite: func(s string) string { return s + "!" }, Rules: []chaos.Rule{never}},
	}
	rapid.Check(t, func(t *rapid.T) {
		var scenarios []contract.Scenario
		kindOf := map[string]string{}
		for i, kind := range rapid.SliceOfN(rapid.SampledFrom([]string{"calm", "faulty", "missed", "words", "layer", "both", "wordsOnly"}),
			1, 5).Draw(t, "kinds") {
			s := kinds[kind]
			s.Name = fmt.Sprint(kind, i)
			kindOf[s.Name] = kind
			scenarios = append(scenarios, s)
		}
		severities := rapid.SliceOfN(rapid.SampledFrom([]contract.Severity{contract.Critical, contract.Low}), 1, 2).Draw(t, "severities")
		trials := rapid.IntRange(1, 2).Draw(t, "trials")
		outcomes := map[contract.Cell]error{}
		for _, s := range scenarios {
			for i := range severities {
				for trial := range trials {
					outcomes[contract.Cell{Scenario: s.Name, Invariant: fmt.Sprint("inv", i), Trial: trial + 1}] =
						rapid.SampledFrom([]error{nil, nil, errBroken, contract.ErrUndecided}).Draw(t, "outcome")
				}
			}
		}
		keep := rapid.SampledFrom([]contract.KeepPolicy{contract.KeepAll, contract.KeepCounts}).Draw(t, "keep")
		m := scripted(scenarios, severities, trials, func(c contract.Cell) error { return outcomes[c] })
		r, err := m.Run(context.Background(), &contract.RunOptions{Keep: keep})
		require.NoError(t, err)

		// The oracle: for each cell under rules its calm twins, one after the other.
		var want scoring.ChaosScore
		var held, decided float64
		ruled := false
		for _, s := range scenarios {
			kind := kindOf[s.Name]
			if len(s.Rules) == 0 {
				continue
			}
			ruled = true
			for i, severity := range severities {
				for trial := 1; trial <= trials; trial++ {
					name := fmt.Sprint("inv", i)
					outcome := outcomes[contract.Cell{Scenario: s.Name, Invariant: name, Trial: trial}]
					broke, unsure := false, false
					for _, twin := range scenarios {
						if kindOf[twin.Name] == "calm" {
							calm := outcomes[contract.Cell{Scenario: twin.Name, Invariant: name, Trial: trial}]
							broke, unsure = broke || calm == errBroken, unsure || calm == contract.ErrUndecided
						}
					}
					want.Total++
					switch {
					case outcome == contract.ErrUndecided:
						want.Inconclusive++
					case kind == "missed" || kind == "wordsOnly":
						want.Undelivered++
					case broke:
						want.CalmBroken++
					case unsure:
						want.CalmUndecided++
					default:
						want.Decided++
						decided += float64(severity.Weight())
						if outcome == nil {
							want.Passed++
							held += float64(severity.Weight())
						}
					}
				}
			}
		}
		if !ruled {
			require.Nil(t, r.Chaos)
			return
		}
		require.NotNil(t, r.Chaos)
		is := *r.Chaos
		if want.Decided > 0 {
			assert.InDelta(t, 100*held/decided, is.Value, 0.0051)
			want.Interval = is.Interval // TestIntervalsByScenario of package scoring
			share := float64(want.Passed) / float64(want.Decided)
			assert.True(t, is.Interval.Low <= share && share <= is.Interval.High, "%+v", is)
		}
		want.Value = is.Value
		assert.Equal(t, want, is)
	})
}

// TestChaosTwinsHaveTheSamePrompts: a calm scenario with prompts of its own is no twin.
func TestChaosTwinsHaveTheSamePrompts(t *testing.T) {
	fails := chaos.Rule{Target: "get", Fault: fault.Fail(fault.ErrUnavailable)}
	m := scripted([]contract.Scenario{{Name: "other", Prompts: []string{"another"}}, contract.Under("faulty", fails)},
		[]contract.Severity{contract.High}, 1, func(c contract.Cell) error {
			if c.Scenario == "other" {
				return errBroken
			}
			return nil
		})
	r, err := m.Run(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Chaos.Decided)
	assert.Zero(t, r.Chaos.CalmBroken)
}

func TestReplayOf(t *testing.T) {
	sessions := []contract.Scenario{{Name: "s1"}, {Name: "s2"}}
	m := scripted(append([]contract.Scenario{contract.Calm()}, sessions...), []contract.Severity{contract.Critical, contract.Low}, 1,
		func(c contract.Cell) error {
			if c.Scenario == "calm" || c.Scenario == "s2" && c.Invariant == "inv0" {
				return errBroken
			}
			return nil
		})
	r, err := m.Run(t.Context(), &contract.RunOptions{Keep: contract.KeepCounts})
	require.NoError(t, err)
	score, err := r.ReplayOf(sessions)
	require.NoError(t, err)
	by, err := stats.Clustered([]stats.Tally{{Passed: 2, Trials: 2}, {Passed: 1, Trials: 2}}, scoring.Level95)
	require.NoError(t, err)
	want := by.Interval
	assert.Equal(t, scoring.ReplayScore{Value: 75, Passed: 3, Decided: 4, Total: 4, Interval: want}, score)
	sequential := *r
	sequential.Sequential = true
	_, err = sequential.ReplayOf(sessions)
	require.ErrorContains(t, err, "Report.Sequential", "what broke has fewer trials there")
	_, err = r.ReplayOf([]contract.Scenario{{Name: "s3"}})
	assert.EqualError(t, err, `contract: sessions[0].Name is "s3"; allowed: a scenario of the report`)
}

// The calm twin has the same prompts. That a scenario knows the answers to them makes no
// difference.
func TestChaosScoreOfScenariosThatKnowTheirAnswers(t *testing.T) {
	m := matrix(t, asksOften, func(m *contract.Matrix) {
		known := stormy()
		known.Prompts, known.Baselines = m.Prompts, []string{"noon"}
		other := stormy()
		other.Name, other.Prompts = "other", []string{"Which day is it?"}
		m.Scenarios = append(calmly("calm"), known, other)
		m.Invariants = []contract.Invariant{breaksIn("p", contract.High,
			map[string][]int{"calm": {1}, "stormy": {1}, "other": {1}})}
	})
	want := &scoring.ChaosScore{Total: 2, Decided: 1, CalmBroken: 1}
	score := run(t, m, nil).Chaos
	score.Interval = scoring.Interval{}
	assert.Equal(t, want, score, "only other has no calm twin")
}
