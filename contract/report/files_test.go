package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
)

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFilesHaveEveryFormat(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "of", "need")
	all := []string{"report.html", "report.md", "report.run.jsonl", "report.txt", "report.xml"}
	for _, r := range []*contract.Report{desk(t), passed(t)} { // the second replaces the first
		require.NoError(t, report.Files(dir, r, nil))
		assert.Equal(t, all, namesIn(t, dir), "and no file that is half written")
		for _, f := range append(formats(), runFile) {
			if f.ending == "txt" || f.ending == "run.jsonl" || f.ending == "xml" || f.ending == "md" || f.ending == "html" {
				got, err := os.ReadFile(filepath.Join(dir, "report."+f.ending))
				require.NoError(t, err)
				assert.Equal(t, string(render(t, f, r)), string(got), f.ending)
			}
		}
	}
	require.NoError(t, report.Files(dir, desk(t), &report.JUnitOptions{FailOn: contract.Critical}))
	got, err := os.ReadFile(filepath.Join(dir, "report.xml"))
	require.NoError(t, err)
	assert.Contains(t, string(got), "below the severity")
}

func TestFilesReportsAllThatFailed(t *testing.T) {
	dir := t.TempDir()
	assert.EqualError(t, report.Files(dir, nil, nil), "report: report is nil; allowed: a report")
	assert.Empty(t, namesIn(t, dir), "nothing is written")

	err := report.Files(dir, passed(t), &report.JUnitOptions{FailOn: 5})
	assert.ErrorContains(t, err, "report: files: report.xml: report: JUnitOptions.FailOn is Severity(5); ")
	assert.Equal(t, []string{"report.html", "report.md", "report.run.jsonl", "report.txt"}, namesIn(t, dir), "the others are there")

	file := filepath.Join(dir, "report.xml")
	assert.ErrorContains(t, report.Files(filepath.Join(dir, "report.md"), passed(t), nil), "report: files: ", "a file is no folder")
	require.NoError(t, os.Mkdir(file, 0o700))
	assert.ErrorContains(t, report.Files(dir, passed(t), nil), "report: files: report.xml: ", "a folder is no file")
	for _, name := range namesIn(t, dir) {
		assert.False(t, strings.HasPrefix(name, "."), "%s is left over", name)
	}
}

func TestLine(t *testing.T) {
	cell := func(state contract.CellState, violated bool, why string) *contract.CellReport {
		return &contract.CellReport{Severity: contract.High, State: state, Violated: violated, Why: why}
	}
	for _, row := range []struct {
		why, want string
		c         *contract.CellReport
	}{
		{"broken", "✗ broken (high): no noon", cell(contract.Broken, true, "no noon")},
		{"broken without a fault", "! broken although no fault was delivered (high): no noon", cell(contract.Undelivered, true, "no noon")},
		{"inconclusive", "? inconclusive (high): no reason was given", cell(contract.Inconclusive, false, "")},
		{"undelivered", "○ undelivered (high): no call", cell(contract.Undelivered, false, "no call")},
		{"held", "✓ held (high)", cell(contract.Held, false, "")},
		{"a text of an agent", `✗ broken (high): a\nb \x1b[2J ##\x5bcommand]`, cell(contract.Broken, true, "a\nb \x1b[2J ##[command]")},
		{"none", "", nil},
	} {
		assert.Equal(t, row.want, report.Line(row.c, 100), row.why)
	}
}

func TestLineKeepsToItsWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(40, 200).Draw(t, "width")
		c := &contract.CellReport{Severity: contract.Low, State: contract.Broken, Violated: true, Why: rapid.String().Draw(t, "why")}
		line := report.Line(c, width)
		assert.NotContains(t, line, "\n")
		assert.NotContains(t, line, "##[")
		assert.True(t, strings.HasPrefix(line, "✗ broken (low): "), line)
		assert.LessOrEqual(t, utf8.RuneCountInString(line), width)
	})
}
