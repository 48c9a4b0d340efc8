package report_test

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// scored is a report with all scores.
func scored(t testing.TB) *contract.Report {
	r := desk(t)
	in := func(passed, n int) scoring.Interval {
		in, err := stats.ClopperPearson(passed, n, scoring.Level95)
		require.NoError(t, err)
		return in
	}
	r.Chaos = &scoring.ChaosScore{Value: 60, Passed: 2, Decided: 4, Total: 10, Inconclusive: 1, Undelivered: 2, CalmBroken: 3, Interval: in(2, 4)}
	r.Mutation = &scoring.MutationScore{Value: .5, Formula: "Σ w·h ÷ Σ w = 0.8 ÷ 1.6", Passed: 1, Decided: 2, Total: 4, Inconclusive: 1,
		NotRun: 1, Interval: in(1, 2), Kinds: []scoring.KindScore{
			{Kind: "typo", Group: "noise", Intent: "same", Weight: .8, Passed: 1, Decided: 2, Total: 3, Interval: in(1, 2)},
			{Kind: "upper", Weight: .6, Total: 1},
		}}
	r.Replay = &scoring.ReplayScore{Value: 75, Passed: 3, Decided: 4, Total: 5, NotRun: 1, Interval: in(3, 4)}
	r.Chaos.Interval.Clusters, r.Mutation.Interval.Clusters, r.Mutation.Prompts, r.Replay.Interval.Clusters = 2, 3, 3, 2
	overall, err := scoring.DefaultWeights().Overall(scoring.Parts{ContractVerdict: scoring.Fail, Chaos: &r.Chaos.Value,
		Contract: &r.Score.Value, Replay: &r.Replay.Value}, &scoring.OverallOptions{Renormalise: true})
	require.NoError(t, err)
	r.Overall = &overall
	return r
}

// TestEveryFormatShowsTheScores: parts, weights, denominators, intervals, and what is left out.
func TestEveryFormatShowsTheScores(t *testing.T) {
	r := scored(t)
	for _, f := range formats() {
		shown := strings.Join(strings.Fields(html.UnescapeString(string(render(t, f, r)))), " ")
		for _, want := range []string{
			"60.00 of 100 under rules, weighted by severity; 2 of 4 decided cells, 50.0 % (95 % interval 6.8 % to 93.2 %, by scenario); left out: " +
				"3 broken in calm too, 1 inconclusive, 2 undelivered",
			"0.500 of 1, weighted by kind: Σ w·h ÷ Σ w = 0.8 ÷ 1.6; held 1 of 2, 50.0 % (95 % interval 1.3 % to 98.7 %, by prompt); left out: 1 inconclusive, 1 not run",
			"typo × 0.8: 1 of 2, 50.0 % (95 % interval 1.3 % to 98.7 %, exact); left out: 1 not decided",
			"upper × 0.6: none decided; left out: 1 not decided",
			"75.00 of 100; 3 of 4 decided cells, 75.0 % (95 % interval 19.4 % to 99.4 %, by session)",
			"FAIL, ", "chaos 60.00 × 0.4375 + contract ", " × 0.4375 + replay 75.00 × 0.125", "the contract failed; did not run: mutation; " +
				"weights were scaled up to those that ran",
		} {
			assert.Contains(t, shown, want, f.ending)
		}
	}
}

// TestScoresWithoutADecidedCell have no number, in any format.
func TestScoresWithoutADecidedCell(t *testing.T) {
	r := desk(t)
	r.Chaos = &scoring.ChaosScore{Total: 2, Undelivered: 2}
	r.Mutation = &scoring.MutationScore{Total: 1, NotRun: 1}
	r.Replay = &scoring.ReplayScore{Total: 1, Inconclusive: 1}
	var b bytes.Buffer
	require.NoError(t, report.Text(&b, r, &report.TextOptions{Width: 200}))
	for _, want := range []string{"none, because no cell under rules was decided; left out: 2 undelivered",
		"none, because no mutation was decided; left out: 1 not run", "none, because no cell of a session was decided; left out: 1 inconclusive"} {
		assert.Contains(t, b.String(), want)
	}
}

// withJudge is a report with one judge, as change leaves it.
func withJudge(t testing.TB, change func(s *scoring.JudgeScore)) *contract.Report {
	r := build(t, "judged", 1, []madeScenario{{"calm", true}}, []madeInvariant{{id: "kind", severity: contract.High}}, nil)
	least, most := 0.7, 0.9
	s := scoring.JudgeScore{Invariant: "kind", Judge: "script", Version: "1", Decide: "It is kind.", Asked: 12, Held: 8,
		Broken: 2, Unsure: 1, Failed: 1, Scenarios: []scoring.JudgeScenario{{Scenario: "calm", Held: 8, Broken: 1}, {Scenario: "other", Broken: 1, Unsure: 1}}, Distinct: 10, Cached: 3, Disputed: 1, Calls: 24, Malformed: 2, Cost: 1.5,
		Calibration: &scoring.JudgeRates{Judge: "script", Version: "1", Date: "2026-05-01", Sample: "by hand", Found: 9,
			Bad: 10, Spared: 19, Good: 20, Moved: 1, Attacks: 14, Least: &least, Most: &most,
			Interval: scoring.Interval{Low: 0.5, High: 1, Level: 0.95, Clusters: 2}, Warnings: []string{"1 attack talked the judge round"}}}
	change(&s)
	r.Judges = []scoring.JudgeScore{s}
	return r
}

// Every format shows what a judge ruled, how often it errs, and what is doubtful.
func TestReportsShowJudges(t *testing.T) {
	r := withJudge(t, func(*scoring.JudgeScore) {})
	var text, page bytes.Buffer
	require.NoError(t, report.Text(&text, r, &report.TextOptions{Width: 400}))
	require.NoError(t, report.Markdown(&page, r))
	for _, want := range []string{"8 of 10 judged answers held, 80.0 % raw (95 % interval ", ", by scenario), and 72.7 % to 81.8 % with those unsure all broken or " +
		"all held; 70.0 % to 90.0 % corrected (95 % interval 50.0 % to 100.0 %, Lang and Reiczigel by scenario)",
		"1 unsure, 1 failed, 1 disputed, 3 kept from before, 2 malformed, 24 calls, cost 1.5",
		"found 9 of 10 broken (95 % interval 55.5 % to 99.7 %, exact), spared 19 of 20 good (95 % interval 75.1 % to 99.9 %, exact); " +
			"1 of 14 attacks talked it round",
		"1 attack talked the judge round."} {
		assert.Contains(t, text.String(), want)
		assert.Contains(t, page.String(), want)
	}
}

// What a judge says against itself is a note.
func TestReportsShowContradictions(t *testing.T) {
	r := withJudge(t, func(s *scoring.JudgeScore) {
		s.Contradicted, s.Calibration.Attacks, s.Calibration.Moved = 2, 0, 0
	})
	var text bytes.Buffer
	require.NoError(t, report.Text(&text, r, &report.TextOptions{Width: 400}))
	assert.Contains(t, text.String(), "75.1 % to 99.9 %, exact); not attacked\n")
	assert.Contains(t, text.String(), "2 contradicted, 3 kept from before")
	assert.Contains(t, text.String(), "* The judge of kind, script version 1, contradicted itself: of 2 questions that several cells asked, "+
		"it ruled held for one and broken for another.")
}
