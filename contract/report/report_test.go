package report_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
			return report.Text(w, r, &report.TextOptions{Width: 60, MaxBroken: 2})
		}},
		{"color.txt", func(w io.Writer, r *contract.Report) error {
			return report.Text(w, r, &report.TextOptions{Color: true})
		}},
		{"xml", func(w io.Writer, r *contract.Report) error { return report.JUnit(w, r, nil) }},
		{"md", func(w io.Writer, r *contract.Report) error { return report.Markdown(w, r, nil) }},
		{"html", func(w io.Writer, r *contract.Report) error { return report.HTML(w, r, nil) }},
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

// colors are the sequences that Text itself makes.
var colors = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func TestEveryFormatSaysTheVerdictOfTheScore(t *testing.T) {
	verdicts := regexp.MustCompile(`\b(PASS|FAIL|INCONCLUSIVE)\b`)
	for _, v := range []scoring.Verdict{scoring.Inconclusive, scoring.Pass, scoring.Fail} {
		r := desk(t)
		r.Score.Verdict, r.Score.Why = v, "whatever the cells say"
		for _, f := range formats() {
			out := colors.ReplaceAllString(string(render(t, f, r)), "")
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

func TestCellsThatTheReportDoesNotListAreShownAllTheSame(t *testing.T) {
	r := passed(t)
	r.Scenarios, r.Invariants = nil, nil
	for _, f := range formats() {
		out := string(render(t, f, r))
		assert.Contains(t, out, "shipping-down", f.ending)
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
		{"too small for the verdict", "report: MarkdownOptions.MaxBytes is 100; allowed: 0, or 16384 and up",
			report.Markdown(io.Discard, passed(t), &report.MarkdownOptions{MaxBytes: 100})},
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
