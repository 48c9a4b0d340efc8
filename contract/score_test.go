package contract_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
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

// always answers the same, without any call.
func always(answer string) contract.Agent {
	return func(context.Context, string, chaos.ToolRegistry) (string, error) { return answer, nil }
}

// asksTwice says how often the clock answered: what it does follows from the faults alone.
func asksTwice(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
	answered := 0
	for _, zone := range []string{"here", "there"} {
		if _, err := tools.CallTool(ctx, "clock", fmt.Appendf(nil, `{"zone":%q}`, zone)); err == nil {
			answered++
		}
	}
	return fmt.Sprintf("noon, answered %d times", answered), nil
}

// asksAgainIn calls the clock, and in one trial once more. It meets another number of faults then,
// and that is its own doing.
func asksAgainIn(trial int) contract.Agent {
	return func(ctx context.Context, _ string, tools chaos.ToolRegistry) (string, error) {
		_, _ = tools.CallTool(ctx, "clock", []byte(`{}`))
		if c, _ := contract.CellOf(ctx); c.Trial == trial {
			_, _ = tools.CallTool(ctx, "clock", []byte(`{"zone":"there"}`))
		}
		return "noon", nil
	}
}

// TestRatesOfCopies: trials that met the same and in which the agent did the same are one trial of
// a promised rate. Where two that met the same differ, each trial counts.
func TestRatesOfCopies(t *testing.T) {
	broken := contract.Under("broken", chaos.Rule{Target: "clock", Fault: fault.Fail(fault.ErrUnavailable)})
	flaky := contract.Under("flaky", chaos.Rule{Target: "clock", When: when.Prob(.5), Fault: fault.Fail(fault.ErrUnavailable)})
	unmet := contract.Under("unmet", chaos.Rule{Target: "calendar", Fault: fault.Fail(fault.ErrUnavailable)})
	unmet.AllowUndelivered = true
	noon := contains("p", contract.Critical, "noon")
	answered := brokenIf("p", contract.Critical, errors.New("the clock never answered"),
		func(o *contract.Observation) bool { return strings.Contains(o.Response, "answered 0 times") })
	for _, row := range []struct {
		reason         string
		agent          contract.Agent
		invariant      contract.Invariant
		scenario       contract.Scenario
		trials         int
		copies         bool
		held, distinct int // as counted
		decision       stats.Decision
		verdict        scoring.Verdict
		says, why      string
	}{
		{reason: "a deterministic agent in calm", agent: always("noon"), invariant: noon, scenario: contract.Calm(), trials: 18,
			copies: true, held: 1, distinct: 1, verdict: scoring.Pass, says: "not judged: copies: 18 of 18 held, 1 of 1 without copies",
			why: "no critical invariant failed; 18 of 18 decided cells held, 0 of 1 promised rate accepted, 1 not judged: copies"},
		{reason: "a deterministic agent under equal faults", agent: asksTwice, invariant: noon, scenario: broken, trials: 60,
			copies: true, held: 1, distinct: 1, verdict: scoring.Pass, says: "not judged: copies: 60 of 60 held, 1 of 1 without copies",
			why: "no critical invariant failed; 60 of 60 decided cells held, 0 of 1 promised rate accepted, 1 not judged: copies"},
		{reason: "its verdict is by its cells", agent: always("midnight"), invariant: noon, scenario: contract.Calm(), trials: 18,
			copies: true, distinct: 1, verdict: scoring.Fail, says: "not judged: copies: 0 of 18 held, 0 of 1 without copies",
			why: `critical invariant "p" broke in scenario "calm", and 17 more critical cells`},
		{reason: "and so where no fault was delivered", agent: always("midnight"), invariant: noon, scenario: unmet, trials: 18,
			copies: true, verdict: scoring.Fail,
			says: "not judged: copies: 0 of 0 held; it broke in 18 of 18 without a delivered fault",
			why:  `critical invariant "p" broke in scenario "unmet", and 17 more critical cells`},
		{reason: "two copies are one trial too", agent: always("noon"), invariant: noon, scenario: contract.Calm(), trials: 2,
			copies: true, held: 1, distinct: 1, verdict: scoring.Pass, says: "not judged: copies: 2 of 2 held, 1 of 1 without copies",
			why: "no critical invariant failed; 2 of 2 decided cells held, 0 of 1 promised rate accepted, 1 not judged: copies"},
		{reason: "three patterns of faults are three trials", agent: asksTwice, invariant: noon, scenario: flaky, trials: 60,
			copies: true, held: 3, distinct: 3, verdict: scoring.Pass, why: "no critical invariant failed; 41 of 41 decided cells held, 0 of 1 promised rate accepted, 1 not judged: copies",
			says: "not judged: copies: 41 of 41 held, 3 of 3 without copies"},
		{reason: "one of three patterns breaks: of so few trials nothing follows", agent: asksTwice, scenario: flaky, trials: 60,
			invariant: answered, held: 2, distinct: 3, verdict: scoring.Inconclusive,
			says: "open: 29 of 41 held, 2 of 3 without copies; 24 more passes in a row would accept, about 6 trials at this rate",
			why:  "flaky / p: open: 29 of 41 held, 2 of 3 without copies; 24 more passes in a row would accept, about 6 trials at this rate"},
		{reason: "more trials may meet other faults", agent: asksTwice, invariant: noon, scenario: flaky, trials: 10,
			held: 3, distinct: 3, verdict: scoring.Inconclusive,
			says: "open: 7 of 7 held, 3 of 3 without copies; 15 more passes in a row would accept, about 15 trials at this rate",
			why:  "flaky / p: open: 7 of 7 held, 3 of 3 without copies; 15 more passes in a row would accept, about 15 trials at this rate"},
		{reason: "an agent in other words in each trial", agent: answersNoon, invariant: noon, scenario: contract.Calm(), trials: 18,
			held: 18, distinct: 18, decision: stats.Accepted, verdict: scoring.Pass, says: "accepted: 18 of 18 held: 95 % and not 80 %",
			why: "no critical invariant failed; 18 of 18 decided cells held, 1 of 1 promised rate accepted"},
		{reason: "an invariant that breaks in one of equal trials", agent: always("noon"), scenario: contract.Calm(), trials: 27,
			invariant: breaksIn("p", contract.Critical, map[string][]int{"calm": {27}}),
			held:      26, distinct: 27, decision: stats.Accepted, verdict: scoring.Pass,
			says: "accepted: 18 of the first 18 held: 95 % and not 80 %; 26 of 27 held in all",
			why:  "no critical invariant failed; 26 of 27 decided cells held, 1 of 1 promised rate accepted"},
		{reason: "an agent that calls once more in one of the trials, and says the same", agent: asksAgainIn(18), invariant: noon,
			scenario: broken, trials: 18, held: 18, distinct: 18, decision: stats.Accepted, verdict: scoring.Pass,
			says: "accepted: 18 of 18 held: 95 % and not 80 %",
			why:  "no critical invariant failed; 18 of 18 decided cells held, 1 of 1 promised rate accepted"},
		{reason: "one trial is no copy", agent: always("noon"), invariant: noon, scenario: contract.Calm(), trials: 1,
			held: 1, distinct: 1, verdict: scoring.Inconclusive,
			says: "open: 1 of 1 held; 17 more passes in a row would accept, about 17 trials at this rate",
			why:  "calm / p: open: 1 of 1 held; 17 more passes in a row would accept, about 17 trials at this rate"},
	} {
		m := matrix(t, row.agent, func(m *contract.Matrix) {
			m.Trials, m.Seed, m.Scenarios = row.trials, 7, []contract.Scenario{row.scenario}
			m.Invariants = []contract.Invariant{asRate(row.invariant, .95)}
		})
		whole := run(t, m, nil)
		for name, r := range map[string]*contract.Report{"": whole, "shared": shared(t, m), "counts": run(t, m, &contract.RunOptions{Keep: contract.KeepCounts})} {
			f := r.Fields[0]
			assert.Equal(t, row.copies, f.Copies, "%s %s", row.reason, name)
			held, decided := f.Counted()
			assert.Equal(t, []int{row.held, row.distinct}, []int{held, decided}, "%s %s", row.reason, name)
			assert.Equal(t, row.decision, f.Standing.Decision, "%s %s", row.reason, name)
			assert.Equal(t, row.says, f.String()[len(row.scenario.Name+" / p: "):], "%s %s", row.reason, name)
			assert.Equal(t, row.verdict, r.Score.Verdict, "%s %s", row.reason, name)
			assert.Equal(t, row.why, r.Score.Why, "%s %s", row.reason, name)
			if decided > 0 {
				want, err := stats.ClopperPearson(row.held, row.distinct, scoring.Level95)
				require.NoError(t, err)
				assert.Equal(t, want, f.Interval, "%s %s", row.reason, name)
			}
		}
		sequential := run(t, m, &contract.RunOptions{Sequential: true})
		assert.Equal(t, row.verdict, sequential.Score.Verdict, "%s, sequential", row.reason)
		assert.Equal(t, row.copies, sequential.Fields[0].Copies, "%s, sequential", row.reason)
		assert.Equal(t, row.decision, sequential.Fields[0].Standing.Decision, "%s, sequential", row.reason)
		if whole.Score.Decided > 0 { // else there is nothing to score, which Judge says
			judgedAgain(t, whole)
			judgedAgain(t, sequential)
		}
	}
}

func shared(t *testing.T, m *contract.Matrix) *contract.Report {
	own := *m
	own.ShareObservations = true
	return run(t, &own, nil)
}
