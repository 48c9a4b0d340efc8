package report_test

import (
	"bytes"
	"html"
	"regexp"
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
		shown := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(html.UnescapeString(string(render(t, f, r))), "")
		shown = strings.Join(strings.Fields(shown), " ")
		for _, want := range []string{
			"60.00 of 100 under rules, weighted by severity; 2 of 4 decided cells, 50.0 % (95 % interval 6.8 % to 93.2 %, by scenario); left out: " +
				"3 broken in calm too, 1 inconclusive, 2 undelivered",
			"0.500 of 1, weighted by kind: Σ w·h ÷ Σ w = 0.8 ÷ 1.6; held 1 of 2 (95 % interval 1.3 % to 98.7 %, by prompt); left out: 1 inconclusive, 1 not run",
			"typo × 0.8: 1 of 2 (95 % interval 1.3 % to 98.7 %, exact); left out: 1 not decided",
			"upper × 0.6: none of 1 decided",
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
