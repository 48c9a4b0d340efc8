package contracttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/contracttest"
	"github.com/shakedown-go/shakedown/contract/report"
)

type slow struct{ d time.Duration }

func (f slow) Phase() chaos.Phase { return chaos.PhaseBefore }
func (f slow) Inject(ctx context.Context, c chaos.Call, args any, next chaos.Next) (any, error) {
	if err := chaos.Sleep(ctx, f.d); err != nil && !errors.Is(err, chaos.ErrDisarmed) {
		return nil, err
	}
	return next(ctx, args)
}

func clock(context.Context) (*contract.World, error) {
	tools, err := chaos.NewRegistry(chaos.Func(chaos.Tool{Name: "clock"}, func(context.Context, struct{}) (string, error) {
		return "noon", nil
	}))
	return &contract.World{Tools: tools, Agent: func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
		raw, err := tools.CallTool(ctx, "clock", json.RawMessage(`{}`))
		return "it is " + string(raw), err
	}}, err
}

func saysNoon(_ context.Context, o *contract.Observation) error {
	if !strings.Contains(o.Response, "noon") {
		return errors.New("no noon")
	}
	return nil
}

// TestRunFile: the file of the options or of the environment has what the run showed.
func TestRunFile(t *testing.T) {
	for _, o := range []*contracttest.Options{{File: filepath.Join(t.TempDir(), "a.run.jsonl")}, nil} {
		path := filepath.Join(t.TempDir(), "b.run.jsonl")
		t.Setenv("SHAKEDOWN_FILE", path)
		if o != nil {
			path = o.File
		}
		r := contracttest.Run(t, &contract.Matrix{
			NewWorld: clock, Prompts: []string{"What time is it?"}, Scenarios: []contract.Scenario{contract.Calm()},
			Invariants: []contract.Invariant{{Name: fmt.Sprintf("noon-%t", o == nil), Severity: contract.Critical, Check: saysNoon}},
		}, o)
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		back, err := report.Read(file, nil)
		require.NoError(t, err)
		assert.Equal(t, r.Score, back.Score)
		assert.Equal(t, r.Invariants, back.Invariants)
	}
}

func TestRun(t *testing.T) {
	r := contracttest.Run(t, &contract.Matrix{
		NewWorld:   clock,
		Prompts:    []string{"What time is it?"},
		Invariants: []contract.Invariant{{Name: "noon", Severity: contract.Critical, Check: saysNoon}},
		Scenarios: []contract.Scenario{contract.Calm(), {Name: "slow", Rules: []chaos.Rule{
			{Target: "clock", Fault: slow{time.Hour}}}}},
		Trials: 500,
	}, nil)
	contracttest.AssertPassed(t, r)
}

func TestChildFinish(t *testing.T) {
	onlyInChild(t)
	contracttest.Run(t, lying(t), &contracttest.Options{FailOn: contract.Critical, Finish: func(r *contract.Report) error {
		r.Warnings = append(r.Warnings, "finished after "+strings.ToLower(r.Score.Verdict.String()))
		return errors.New("no calibration")
	}})
}

// What completes a report comes before it is logged and written.
func TestFinishComesBeforeTheReport(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SHAKEDOWN_REPORTS", dir)
	out, failed := child(t, "^TestChildFinish$")
	assert.True(t, failed, "an error of Finish fails the test")
	assert.Contains(t, out, "contracttest: Options.Finish: no calibration")
	assert.Contains(t, out, "* finished after pass")
	found := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "report.txt" {
			return err
		}
		found++
		text, err := os.ReadFile(path)
		assert.Contains(t, string(text), "* finished after pass")
		return err
	}))
	assert.Equal(t, 1, found)
}

// TestRunCell: one cell, in virtual time, whose outcome is the caller's to judge.
func TestRunCell(t *testing.T) {
	broken := contracttest.RunCell(t, lying(t), contract.Cell{Scenario: "clock-down", Invariant: "says.noon", Trial: 2}, nil)
	assert.Equal(t, contract.Broken, broken.State, "and this test goes on")
	assert.NotNil(t, broken.Evidence)
	assert.Equal(t, "go test -count=1 -run '^TestRunCell$' github.com/shakedown-go/shakedown/contract/contracttest", broken.Rerun)

	slow := lying(t)
	slow.Scenarios = append(slow.Scenarios, contract.Under("slow", chaos.Rule{Target: "clock", Fault: fault.Delay(9 * time.Hour)}))
	held := contracttest.RunCell(t, slow, contract.Cell{Scenario: "slow", Invariant: "says.noon", Trial: 1}, nil)
	assert.Equal(t, contract.Held, held.State)
	assert.Equal(t, 9*time.Hour, held.Elapsed, "in the time of the cell")
}

func TestChildRunCellOfNoCell(t *testing.T) {
	onlyInChild(t)
	contracttest.RunCell(t, lying(t), contract.Cell{Scenario: "clock-up", Invariant: "says.noon", Trial: 1}, nil)
	t.Log("not reached")
}

func TestRunCellOfNoCellFailsTheTest(t *testing.T) {
	out, failed := child(t, "^TestChildRunCellOfNoCell$")
	assert.True(t, failed)
	assert.Contains(t, out, `contracttest: the cell did not run: contract: Cell is "clock-up/says.noon/1"`)
	assert.NotContains(t, out, "not reached")
}

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

func TestUndecidedReasonsAreSeenWithoutV(t *testing.T) {
	out, failed := quiet(t, "^TestChildUndelivered$")
	assert.True(t, failed)
	assert.Contains(t, out, "○ clock-down: 4 cells undelivered: no fault was delivered: the agent made no call\n")
	out, failed = quiet(t, "^TestChildInconclusive$")
	assert.True(t, failed)
	assert.Contains(t, out, "? calm and 1 other scenario: 4 cells inconclusive: contract: undecided\n")
}

// TestAPartialPassSaysOfWhat: also where the test fails, and the verdict does not.
func TestAPartialPassSaysOfWhat(t *testing.T) {
	out, failed := quiet(t, "^TestChildBroken$/^clock-down$")
	assert.True(t, failed)
	assert.Contains(t, out, "(see Options.FailOn), although the verdict is PARTIAL: no critical invariant broke in 4 of 8 cells")
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
