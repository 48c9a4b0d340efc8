package report_test

import (
	"bytes"
	"context"
	"errors"
	"html"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/internal/golden"
	"github.com/shakedown-go/shakedown/scoring"
	"github.com/shakedown-go/shakedown/scoring/stats"
)

// formats are all formats, with the options that change the most.
func formats() []format {
	return []format{
		{"txt", func(w io.Writer, r *contract.Report) error { return report.Text(w, r, nil) }},
		{"narrow.txt", func(w io.Writer, r *contract.Report) error {
			return report.Text(w, r, &report.TextOptions{Width: 60})
		}},
		{"xml", func(w io.Writer, r *contract.Report) error { return report.JUnit(w, r, nil) }},
		{"md", report.Markdown},
		{"html", report.HTML},
	}
}

func TestFormatsLookAsReviewed(t *testing.T) {
	for name, r := range reports(t) {
		for _, f := range formats() {
			if name == "desk" || f.ending == "txt" || f.ending == "md" {
				golden.Equal(t, name+"."+f.ending, render(t, f, r))
			}
		}
	}
}

func TestEveryFormatSaysTheVerdictOfTheScore(t *testing.T) {
	verdicts := regexp.MustCompile(`\b(PASS|FAIL|INCONCLUSIVE)\b`)
	for _, v := range []scoring.Verdict{scoring.Inconclusive, scoring.Pass, scoring.Fail} {
		r := desk(t)
		r.Score.Verdict, r.Score.Why = v, "whatever the cells say"
		for _, f := range formats() {
			out := string(render(t, f, r))
			found := verdicts.FindAllString(out, -1)
			require.NotEmpty(t, found, f.ending)
			for _, name := range found {
				assert.Equal(t, v.String(), name, f.ending)
			}
		}
	}
}

func TestTheSameReportGivesTheSameBytesAndStaysAsItIs(t *testing.T) {
	for _, f := range formats() {
		r := desk(t)
		assert.Equal(t, render(t, f, desk(t)), render(t, f, r), f.ending)
		assert.Equal(t, desk(t), r, f.ending)
	}
}

func TestAReportWithoutCellsIsShownAsUndecided(t *testing.T) {
	for _, f := range formats() {
		out := render(t, f, &contract.Report{})
		if f.ending == "txt" {
			assert.Contains(t, string(out), "INCONCLUSIVE")
		}
	}
}

// A report of another hand may have counts that lack a cell, and nothing panics.
func TestABrokenCellThatTheCountsLackIsShown(t *testing.T) {
	r := countsOnly(t, desk(t))
	r.Cells, r.Counts[0].Count = desk(t).Cells, 2 // more than the cells, as if not all were kept
	r.Cells[0].Cell.Invariant = "another"
	broken := brokenOnce()
	broken(&r.Cells[0])
	for _, f := range formats() {
		var out string
		require.NotPanics(t, func() { out = string(render(t, f, r)) }, f.ending)
		assert.Contains(t, out, "another", f.ending)
	}
}

func TestARefusedReport(t *testing.T) {
	for _, f := range formats() {
		var b bytes.Buffer
		assert.ErrorContains(t, f.write(&b, nil), "report: report is nil; allowed: a report", f.ending)
		assert.Zero(t, b.Len(), "nothing is written")
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, row := range []struct {
		why, message string
		err          error
	}{
		{"too narrow for a table", "report: TextOptions.Width is 39; allowed: 0, or 40 and up",
			report.Text(io.Discard, passed(t), &report.TextOptions{Width: 39})},
		{"negative", "report: TextOptions.Width is -1; allowed: 0, or 40 and up",
			report.Text(io.Discard, passed(t), &report.TextOptions{Width: -1})},
		{"no severity", "report: JUnitOptions.FailOn is Severity(5); allowed: 0, low, medium, high, critical",
			report.JUnit(io.Discard, passed(t), &report.JUnitOptions{FailOn: 5})},
	} {
		assert.EqualError(t, row.err, row.message, row.why)
	}
}

func TestTheErrorOfAWriterIsReturned(t *testing.T) {
	full := errors.New("disk full")
	for _, f := range formats() {
		err := f.write(failing{full}, passed(t))
		assert.ErrorIs(t, err, full, f.ending)
		assert.ErrorContains(t, err, "report: write: ", f.ending)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestTheDocumentationShowsWhatTextWrites(t *testing.T) {
	docs, err := os.ReadFile("../../docs/reports.md")
	require.NoError(t, err)
	whole := string(render(t, formats()[0], desk(t)))
	table, _, _ := strings.Cut(whole, "\n\n* ")
	_, broken, _ := strings.Cut(whole, "\nBROKEN\n")
	first, _, _ := strings.Cut(broken, "\n\n✗ shipping-down")
	assert.Contains(t, string(docs), table)
	assert.Contains(t, string(docs), first)
}

// ownFaults runs a matrix with a scenario that rewrites prompts, and one that breaks
// something without rules. What it asks breaks in both, and not in the calm one.
func ownFaults(t *testing.T, o *contract.RunOptions) *contract.Report {
	m := &contract.Matrix{
		NewWorld: func(ctx context.Context) (*contract.World, error) {
			return &contract.World{Agent: func(_ context.Context, prompt string, _ chaos.ToolRegistry) (string, error) {
				return "re " + prompt, nil
			}}, nil
		},
		Prompts: []string{"refund it"},
		Invariants: []contract.Invariant{{Name: "calm", Severity: contract.High, Check: func(_ context.Context, o *contract.Observation) error {
			if o.Cell.Scenario == "calm" {
				return nil
			}
			return errors.New("not calm: " + o.Cell.Scenario)
		}}},
		Scenarios: []contract.Scenario{contract.Calm(), {Name: "upper", Rewrite: strings.ToUpper}, {Name: "incident", Layer: chaos.LayerTool}},
	}
	r, err := m.Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

// TestScenariosThatBreakWithoutRules: every format says what was broken, and none says
// that nothing was.
func TestScenariosThatBreakWithoutRules(t *testing.T) {
	r := ownFaults(t, nil)
	const rewritten, own = "the prompt was rewritten; it was: refund it", "those that the scenario has by itself, in the layer"
	write := map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return report.Text(b, r, nil) },
		"markdown": func(b *bytes.Buffer) error { return report.Markdown(b, r) },
		"html":     func(b *bytes.Buffer) error { return report.HTML(b, r) },
		"junit":    func(b *bytes.Buffer) error { return report.JUnit(b, r, nil) },
	}
	for format, write := range write {
		var b bytes.Buffer
		require.NoError(t, write(&b))
		text := html.UnescapeString(b.String())
		assert.Contains(t, text, rewritten, format)
		assert.Contains(t, text, "REFUND IT", format)
		assert.Contains(t, text, own, format)
		assert.NotContains(t, text, "without faults", format)
	}
}

// TestRewrittenWithoutEvidence: without the prompts, their number is still known.
func TestRewrittenWithoutEvidence(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report.Text(&b, ownFaults(t, &contract.RunOptions{Keep: contract.KeepNone}), nil))
	assert.Contains(t, b.String(), "1 prompt was rewritten; the evidence was not kept")
	assert.Contains(t, b.String(), `those that the scenario has by itself, in the layer "tool"`)
}

// TestRewrittenInAFile: a report reads back as it was, and a contradiction is refused.
func TestRewrittenInAFile(t *testing.T) {
	r := ownFaults(t, &contract.RunOptions{Keep: contract.KeepAll})
	back := throughFile(t, r, nil)
	require.NotNil(t, back.Cells[1].Evidence.Original)
	assert.Equal(t, "refund it", *back.Cells[1].Evidence.Original)
	assert.Equal(t, 1, back.Cells[1].Rewritten)
	assert.Equal(t, chaos.LayerTool, back.Cells[2].Layer)
	assert.Nil(t, back.Cells[0].Evidence.Original)

	digest := report.CellDigestOf(r.Cells[1], true)
	assert.Equal(t, "refund it", digest.Evidence.Original)

	r.Cells[1].Rewritten = 2
	assert.EqualError(t, report.Write(io.Discard, r, nil),
		"contract: report.cells[1].rewritten is 2; allowed: 0 to the 1 of delivered")
}

// withDefect is a report of two broken cells, of which a defect explains the first.
func withDefect(t *testing.T) *contract.Report {
	r := build(t, "two", 1, []madeScenario{{name: "down"}}, []madeInvariant{{id: "one-refund", severity: contract.Critical}, {id: "honest", severity: contract.High}},
		map[string]outcome{
			"down/one-refund": broken("2 refunds, want 1", "Done.", lostReply(1)),
			"down/honest":     broken("it claims too much", "Done.", lostReply(1)),
		})
	r.Defects = []contract.Defect{{
		Sentence: "refund does its work and its reply is lost", Severity: contract.Critical,
		Deliveries: []contract.Delivery{{Rule: "refund:lost_reply", Fault: "lost_reply", Target: "refund", Attempt: 1}},
		Breaks: []contract.Break{{Invariant: "one-refund", Severity: contract.Critical, Why: "2 refunds, want 1",
			Cells: []contract.Cell{{Scenario: "down", Invariant: "one-refund", Trial: 1}}}},
		Facts: []string{"when it only fails, it holds"}, Rerun: "again",
	}}
	r.SearchRuns = 12
	return r
}

func TestDefectsInEveryFormat(t *testing.T) {
	r := withDefect(t)
	var text, log, page, junit, markdown bytes.Buffer
	require.NoError(t, report.Text(&text, r, nil))
	require.NoError(t, report.Text(&log, r, &report.TextOptions{TableLast: true}))
	require.NoError(t, report.HTML(&page, r))
	require.NoError(t, report.JUnit(&junit, r, nil))
	require.NoError(t, report.Markdown(&markdown, r))

	for name, got := range map[string]string{"text": text.String(), "log": log.String(), "page": page.String(), "markdown": markdown.String()} {
		assert.Contains(t, got, "1 broken cell, 1 of them critical, is 1 defect (12 further runs)", name)
		assert.Contains(t, got, "refund does its work and its reply is lost", name)
		assert.Contains(t, got, "when it only fails, it holds", name)
	}
	assert.NotContains(t, text.String(), "✗ down / one-refund", "the defect stands for the cell")
	assert.Contains(t, text.String(), "The defects above explain 1 kind of broken cells, which is not listed again.")
	assert.Contains(t, text.String(), "✗ down / honest", "no defect explains it")
	assert.Less(t, strings.Index(text.String(), "DEFECTS"), strings.Index(text.String(), "✗ down / honest"))
	assert.Less(t, strings.Index(log.String(), "✗ down / one-refund"), strings.Index(log.String(), "DEFECTS"), "a log shows every failure first")
	for name, got := range map[string]string{"log": log.String(), "page": page.String(), "markdown": markdown.String()} {
		assert.Contains(t, html.UnescapeString(got), "1: refund does its work", name)
	}
	assert.Contains(t, junit.String(), `message="defect 1: refund does its work and its reply is lost: 2 refunds, want 1"`)
	assert.Contains(t, junit.String(), `message="it claims too much"`)
}

func TestADefectThatExplainsNothingHidesNothing(t *testing.T) {
	r := withDefect(t)
	r.Defects[0].Deliveries, r.Defects[0].Difference = nil, "call 2: ship, then refund"
	var text bytes.Buffer
	require.NoError(t, report.Text(&text, r, nil))
	assert.Contains(t, text.String(), "✗ down / one-refund")
	assert.Contains(t, text.String(), "two runs under the same faults differ first at call 2: ship, then refund")
	assert.Contains(t, text.String(), "is 0 defects and 1 entry that no faults explain")
}

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
	out := text(t, r, &report.TextOptions{Width: 200})
	for _, want := range []string{"none, because no cell under rules was decided; left out: 2 undelivered",
		"none, because no mutation was decided; left out: 1 not run", "none, because no cell of a session was decided; left out: 1 inconclusive"} {
		assert.Contains(t, out, want)
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
