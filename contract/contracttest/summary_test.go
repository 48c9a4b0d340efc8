package contracttest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/report"
)

// quiet runs a child's test without -v, as go test does, and returns its output
// without the margin.
func quiet(t *testing.T, run string, flags ...string) (output string, failed bool) {
	t.Helper()
	out, failed := child(t, run, append([]string{"-test.v=false"}, flags...)...)
	var b strings.Builder
	for line := range strings.Lines(out) {
		b.WriteString(strings.TrimPrefix(line, "        "))
	}
	return b.String(), failed
}

func TestAFailingRunEndsWithTheTable(t *testing.T) {
	out, failed := quiet(t, "^TestChildBroken$")
	assert.True(t, failed)
	assert.Contains(t, out, "contracttest: 2 broken cells fail the test (see Options.FailOn), although the verdict is PASS: no critical invariant broke; 6 of 8 decided cells held\n")
	_, end, found := strings.Cut(out, "\ncontract\n")
	require.True(t, found, out)
	assert.Contains(t, end, `
            says.noon  answers
scenario    high       crit     delivered
─────────────────────────────────────────
calm        ✓          ✓        ·
clock-down  ✗          ✓        4/4
`)
	assert.Contains(t, end, "\nPASS no critical invariant broke; 6 of 8 decided cells held\n")
	assert.NotContains(t, end, "BROKEN")
}

func TestChildManyBroken(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.Trials = 200
	contracttest.Run(t, m, nil)
}

// Failures of one reason are one block; the subtests of the others have a line each.
func TestManyFailuresOfOneReasonAreOneBlock(t *testing.T) {
	out, failed := quiet(t, "^TestChildManyBroken$")
	assert.True(t, failed)
	assert.Equal(t, 200, strings.Count(out, "--- FAIL: TestChildManyBroken/clock-down/says.noon/"))
	assert.Equal(t, 5, strings.Count(out, "✗ broken (high): no noon\n"), "the first say why")
	assert.Equal(t, 1, strings.Count(out, "  why "))
	assert.Contains(t, out, "✗ clock-down / says.noon (high): broken in all 200 trials\n")
	assert.Less(t, strings.Count(out, "\n"), 259, "lines, of which 200 are those of the subtests")
}

func TestChildUnlikeNumbers(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.Trials = 30
	m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
		if o.Cell.Scenario == "calm" {
			return nil
		}
		return fmt.Errorf("dial tcp 127.0.0.1:%d: refused", 40000+o.Cell.Trial)
	}
	contracttest.Run(t, m, nil)
}

func TestReasonsThatDifferInNumbersAreOneBlock(t *testing.T) {
	out, _ := quiet(t, "^TestChildUnlikeNumbers$")
	assert.Equal(t, 5, strings.Count(out, "✗ broken (high): dial tcp 127.0.0.1:"), "the first say why")
	assert.Equal(t, 1, strings.Count(out, "  why "))
	assert.Contains(t, out, "broken in all 30 trials\n  why       dial tcp 127.0.0.1:40001: refused\n")
}

func TestUndecidedReasonsAreSeenWithoutV(t *testing.T) {
	out, failed := quiet(t, "^TestChildUndelivered$")
	assert.True(t, failed)
	assert.Contains(t, out, "○ clock-down: 4 cells undelivered: no fault was delivered: the agent made no call\n")
	out, failed = quiet(t, "^TestChildInconclusive$")
	assert.True(t, failed)
	assert.Contains(t, out, "? calm and 1 other scenario: 4 cells inconclusive: contract: undecided\n")
}

func TestChildPartialPass(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, lying(t), nil)
}

// TestAPartialPassSaysOfWhat: also where the test fails, and the verdict does not.
func TestAPartialPassSaysOfWhat(t *testing.T) {
	out, failed := quiet(t, "^TestChildPartialPass$/^clock-down$")
	assert.True(t, failed)
	assert.Contains(t, out, "(see Options.FailOn), although the verdict is PASS: of 4 cells; 4 were not run: no critical invariant broke; 2 of 4 decided cells held")
}

// nightly is lying, whose scenario without faults is the last, and whose agent is
// wrong in it too.
func nightly(t testing.TB) *contract.Matrix {
	m := lying(t)
	m.Scenarios[0], m.Scenarios[1] = m.Scenarios[1], m.Scenarios[0]
	m.Invariants = append(m.Invariants, contract.Invariant{Name: "polite", Severity: contract.Low,
		Check: func(context.Context, *contract.Observation) error { return fmt.Errorf("it did not greet") }})
	return m
}

func TestChildCalmBroken(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, nightly(t), &contracttest.Options{Workers: 8})
}

func TestWhatBreaksWithoutFaultsIsSaidFirst(t *testing.T) {
	out, _ := quiet(t, "^TestChildCalmBroken$")
	assert.Contains(t, out, "\nBROKEN\n\n✗ calm / polite (low): broken in all 2 trials\n  why       it did not greet\n",
		"before clock-down / says.noon, which is more severe")
	assert.Contains(t, out, "  also      clock-down in all 2 trials: clock, call 1: ")
	assert.Contains(t, out, "* The agent breaks polite without any fault, and faults say little about that: mend that first.\n")
}

func TestChildReports(t *testing.T) {
	onlyInChild(t)
	m := lying(t)
	m.Name = "the clock / 1"
	contracttest.Run(t, m, &contracttest.Options{Reports: os.Getenv("REPORTS_OPTION"), FailOn: contract.Critical})
}

func TestReportsAreWrittenWhereAsked(t *testing.T) {
	const pkg = "github.com/shakedown-go/shakedown/contract/contracttest"
	option, variable := t.TempDir(), t.TempDir()
	own := filepath.Join(filepath.FromSlash(pkg), "TestChildReports", "the_clock_-29bab514", "_1-e12a7e05")
	for _, tc := range []struct {
		why              string
		option, variable string
		want             string // a glob
	}{
		{"nobody asks", "", "", ""},
		{"the option", option, "", filepath.Join(option, own)},
		{"the variable", "", variable, filepath.Join(variable, own)},
		{"the option goes before the variable", filepath.Join(option, "new"), variable, filepath.Join(option, "new", own)},
	} {
		t.Setenv("REPORTS_OPTION", tc.option)
		t.Setenv("SHAKEDOWN_REPORTS", tc.variable)
		out, failed := child(t, "^TestChildReports$")
		assert.False(t, failed, out)
		if tc.want == "" {
			assert.NotContains(t, out, "contracttest: the report is in", tc.why)
			continue
		}
		dirs, err := filepath.Glob(tc.want)
		require.NoError(t, err)
		if !assert.Len(t, dirs, 1, "%s: %s", tc.why, out) {
			continue
		}
		assert.Contains(t, out, "contracttest: the report is in "+dirs[0], tc.why)
		for name, part := range map[string]string{
			"report.txt": "\nBROKEN\n", "report.xml": "below the severity that fails", "report.html": "<!DOCTYPE html>", "report.md": "## ✅ PASS",
		} {
			text, err := os.ReadFile(filepath.Join(dirs[0], name))
			require.NoError(t, err, tc.why)
			assert.Contains(t, string(text), part, "%s: %s", tc.why, name)
		}
		f, err := os.Open(filepath.Join(dirs[0], "report.run.jsonl"))
		require.NoError(t, err, tc.why)
		r, err := report.Read(f, nil)
		require.NoError(t, err, tc.why)
		assert.Len(t, r.Cells, 8, tc.why)
		assert.NoError(t, f.Close())
	}
	file := filepath.Join(option, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("REPORTS_OPTION", file)
	out, failed := child(t, "^TestChildReports$")
	assert.True(t, failed)
	assert.Contains(t, out, "contracttest: the reports were not written: report: files: ")
}

// TestReportsOfTwoNamesHaveTwoFolders: no name of a matrix leaves the folder or
// replaces the report of another.
func TestReportsOfTwoNamesHaveTwoFolders(t *testing.T) {
	names := []string{
		"", "a", "a/b", "a//b", "/a", "a/", ".", "..", "../up", "con:x", "con*x", "con_x", "日本", "中国", "\x00",
		strings.Repeat("n", 300), strings.Repeat("n", 301),
	}
	outer := t.TempDir()
	dir := filepath.Join(outer, "reports")
	for _, name := range names {
		m := lying(t)
		m.Name, m.Trials = name, 1
		contracttest.Run(t, m, &contracttest.Options{Reports: dir, FailOn: contract.Critical, Dir: "-"})
	}
	var found []string
	require.NoError(t, filepath.WalkDir(outer, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "report.run.jsonl" {
			return err
		}
		assert.True(t, strings.HasPrefix(path, dir), path)
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		r, err := report.Read(f, nil)
		found = append(found, r.Name)
		return errors.Join(err, f.Close())
	}))
	assert.ElementsMatch(t, names, found)
}
