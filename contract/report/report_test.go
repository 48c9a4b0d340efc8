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

func TestTheSameReportGivesTheSameBytes(t *testing.T) {
	for _, f := range formats() {
		assert.Equal(t, render(t, f, desk(t)), render(t, f, desk(t)), f.ending)
	}
}

func TestRenderingChangesNoReport(t *testing.T) {
	for _, f := range formats() {
		r := desk(t)
		render(t, f, r)
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
