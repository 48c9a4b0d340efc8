package report_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/chaos/fault"
	"github.com/shakedown-go/shakedown/chaos/when"
	"github.com/shakedown-go/shakedown/contract"
	"github.com/shakedown-go/shakedown/contract/report"
	"github.com/shakedown-go/shakedown/scoring"
)

// A matrix that is cut into shards, each of which goes on from the file of the one before, is the
// matrix that one run makes.
func TestShardsThatGoOnMakeOneRun(t *testing.T) {
	for name, change := range map[string]func(*contract.Matrix, *contract.RunOptions){
		"a run a cell": func(*contract.Matrix, *contract.RunOptions) {},
		"a run a unit": func(m *contract.Matrix, _ *contract.RunOptions) { m.ShareObservations = true },
		"sequential":   func(m *contract.Matrix, o *contract.RunOptions) { m.Trials, o.Sequential = 12, true },
	} {
		m, o := desks(), contract.RunOptions{Workers: 3}
		change(m, &o)
		whole, err := m.Run(t.Context(), &o)
		require.NoError(t, err, name)
		for _, count := range []int{1, 2, 5} {
			last, ran := "", 0
			var r *contract.Report
			for index := 1; index <= count; index++ {
				own := o
				own.Shard, own.Resume = contract.Shard{Index: index, Count: count}, last
				own.File = own.Shard.File(filepath.Join(t.TempDir(), "a.run.jsonl"))
				r, err = m.Run(t.Context(), &own)
				require.NoError(t, err, name)
				last = own.File
				if index < count {
					assert.True(t, r.IsPart(), name)
					assert.NotEqual(t, scoring.Pass, r.Score.Verdict, name)
					assert.Greater(t, len(r.Cells), ran, name)
				}
				ran = len(r.Cells)
			}
			assert.False(t, r.IsPart(), name)
			assert.Equal(t, fileOf(t, whole, stable), fileOf(t, r, stable), "%s, %d shards", name, count)
			back, err := report.Read(strings.NewReader(readFile(t, last)), nil)
			require.NoError(t, err, name)
			assert.Equal(t, fileOf(t, whole, stable), fileOf(t, back, stable), "%s, %d shards", name, count)
		}
	}
}

// smallest is a matrix whose agent counts its runs.
func smallest(runs *int) *contract.Matrix {
	var mu sync.Mutex // cells run at once
	world := func(context.Context) (*contract.World, error) {
		return &contract.World{Agent: func(context.Context, string, chaos.ToolRegistry) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			*runs++
			return "noon", nil
		}}, nil
	}
	return &contract.Matrix{NewWorld: world, Prompts: []string{"When?"}, Trials: 2, Scenarios: []contract.Scenario{contract.Calm(), contract.Under("again")},
		Invariants: []contract.Invariant{{Name: "noon", Severity: contract.Critical,
			Check: func(_ context.Context, o *contract.Observation) error {
				if o.Response != "noon" {
					return errors.New("not noon")
				}
				return nil
			}}}}
}

// A file that is cut anywhere is gone on from, or refused: the outcome is never another one, and what
// the file had is not run again. File and Resume are one path, as after a run that was killed.
func TestAFileThatIsCutAnywhere(t *testing.T) {
	runs := 0
	m, file := smallest(&runs), filepath.Join(t.TempDir(), "a.run.jsonl")
	whole, err := m.Run(t.Context(), &contract.RunOptions{File: file, Workers: 1, Build: "one"})
	require.NoError(t, err)
	want, text := fileOf(t, whole, stable), readFile(t, file)
	for cut := range len(text) + 1 {
		require.NoError(t, os.WriteFile(file, []byte(text[:cut]), 0o600))
		runs = 0
		r, err := m.Run(t.Context(), &contract.RunOptions{File: file, Resume: file, Workers: 1, Build: "one"})
		if field := new(contract.FieldError); errors.As(err, &field) {
			require.Less(t, cut, strings.Index(text, "\n"), "only a head that was cut is refused: %v", err)
			require.Equal(t, text[:cut], readFile(t, file), "a file that is refused stays")
			continue
		}
		require.NoError(t, err, cut)
		require.Equal(t, want, fileOf(t, r, stable), cut)
		require.Equal(t, 4-min(4, max(0, linesIn(text[:cut])-1)), runs, "cut at %d: each unit once", cut)
	}
	assert.Zero(t, runs, "a whole file has all units")
}

// linesIn counts the lines that are whole, also without their line break.
func linesIn(text string) (n int) {
	for line := range strings.Lines(text) {
		n += map[bool]int{true: 1}[strings.HasSuffix(strings.TrimSuffix(line, "\n"), `"}`) && strings.Contains(line, `,"sum":"`) || strings.HasSuffix(line, "\n")]
	}
	return n
}

func TestFilesThatARunDoesNotGoOnFrom(t *testing.T) {
	runs := 0
	dir := t.TempDir()
	file := filepath.Join(dir, "a.run.jsonl")
	m := smallest(&runs)
	_, err := m.Run(t.Context(), &contract.RunOptions{File: file, Build: "one"})
	require.NoError(t, err)
	text := readFile(t, file)
	for _, row := range []struct {
		why    string
		file   string
		change func(*contract.Matrix, *contract.RunOptions)
		want   string
	}{
		{"another seed", text, func(m *contract.Matrix, _ *contract.RunOptions) { m.Seed = 7 }, "resume.seed is 0; allowed: 7, that of the matrix"},
		{"other trials", text, func(m *contract.Matrix, _ *contract.RunOptions) { m.Trials = 3 }, "resume.trials is 2; allowed: 3"},
		{"another matrix", text, func(m *contract.Matrix, _ *contract.RunOptions) { m.Prompts[0] = "Who?" }, "resume.fingerprint is "},
		{"other limits", text, func(m *contract.Matrix, _ *contract.RunOptions) { m.AllowInconclusive = 1 }, "resume.allowInconclusive is 0; allowed: 1, that of the matrix"},
		{"another build", text, func(_ *contract.Matrix, o *contract.RunOptions) { o.Build = "two" }, `resume.build is "one"; allowed: two`},
		{"trials that depend on each other", text, func(_ *contract.Matrix, o *contract.RunOptions) { o.Sequential = true }, "resume.sequential is false"},
		{"a damaged byte", strings.Replace(text, "noon", "moon", 2), nil, "1:1: sum is another or none"},
		{"a damaged unit", strings.Replace(text, `"calm/2"`, `"calm/1"`, 1), nil, "a.run.jsonl:3:1: sum is another or none"},
		{"empty", "", nil, "is empty; allowed: a run file"},
		{"another file", "{}\n", nil, "the head of a run file"},
	} {
		require.NoError(t, os.WriteFile(file, []byte(row.file), 0o600))
		own, o := smallest(&runs), &contract.RunOptions{Resume: file, File: file, Build: "one"}
		if row.change != nil {
			row.change(own, o)
		}
		runs = 0
		_, err := own.Run(t.Context(), o)
		field := new(contract.FieldError)
		require.ErrorAs(t, err, &field, row.why)
		assert.ErrorContains(t, err, row.want, row.why)
		assert.Zero(t, runs, row.why)
		assert.Equal(t, row.file, readFile(t, file), row.why)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		_, err := m.Run(t.Context(), &contract.RunOptions{Resume: path})
		assert.ErrorContains(t, err, "contract: ", path)
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	r, err := m.Run(t.Context(), &contract.RunOptions{Resume: file, Build: "unknown"})
	require.NoError(t, err)
	assert.Contains(t, strings.Join(r.Warnings, " "), "a build is unknown")
}

// What a cancelled run did not decide is run again, and the cells that are known are shown like others.
func TestGoingOnFromACancelledRun(t *testing.T) {
	runs := 0
	m, file := smallest(&runs), filepath.Join(t.TempDir(), "a.run.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Run(ctx, &contract.RunOptions{File: file, Workers: 1, OnCell: func(*contract.CellReport) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.Run(ctx, &contract.RunOptions{File: file, Resume: file, Workers: 1})
	require.Error(t, err)
	kept, err := report.Read(strings.NewReader(readFile(t, file)), nil)
	require.NoError(t, err, "a run that is cancelled at once loses nothing")
	known := len(kept.Cells)
	require.Positive(t, known)
	runs = 0
	seen, around := 0, 0
	r, err := m.Run(t.Context(), &contract.RunOptions{Resume: file, OnCell: func(*contract.CellReport) { seen++ }, Workers: 1,
		Harness: contract.Harness{Around: func(_ contract.Cell, run func(contract.Bubble) *contract.CellReport) {
			around++
			assert.Equal(t, contract.Held, run(nil).State)
		}}})
	require.NoError(t, err)
	assert.Equal(t, []int{4, 4}, []int{seen, around})
	assert.Equal(t, scoring.Pass, r.Score.Verdict, r.Score.Why)
	assert.LessOrEqual(t, runs, 4-known+1)
}

// A part says PARTIAL in every form, and is exit status 0.
func TestPartial(t *testing.T) {
	runs := 0
	r, err := smallest(&runs).Run(t.Context(), &contract.RunOptions{Shard: contract.Shard{Index: 2, Count: 3}})
	require.NoError(t, err)
	assert.Equal(t, 1, runs)
	assert.Equal(t, "nothing broke in 1 of 4 cells", r.Score.Why)
	for _, f := range formats() {
		assert.Contains(t, string(render(t, f, r)), "PARTIAL", f.ending)
	}
	assert.Equal(t, 0, report.ExitCode(r, nil, 0))
	assert.Contains(t, report.DigestOf(r, 0).Summary, "PARTIAL: nothing broke in 1 of 4 cells")
	own := *r
	own.Cancelled = true
	assert.Equal(t, 2, report.ExitCode(&own, context.Canceled, 0), "a run that was cancelled is no part that was asked for")

	r, err = smallest(&runs).Run(t.Context(), &contract.RunOptions{Shard: contract.Shard{Index: 5, Count: 5}})
	require.NoError(t, err, "there are more shards than units")
	assert.Equal(t, 0, report.ExitCode(r, err, 0))
	assert.Contains(t, r.Score.Why, "none of the 4 cells ran")

	m := smallest(&runs)
	m.Invariants[0].Check = func(context.Context, *contract.Observation) error { return errors.New("never") }
	r, err = m.Run(t.Context(), &contract.RunOptions{Shard: contract.Shard{Index: 1, Count: 2}})
	require.NoError(t, err)
	assert.Equal(t, scoring.Fail, r.Score.Verdict)
	m.Invariants[0].Check = func(context.Context, *contract.Observation) error { return contract.ErrUndecided }
	r, err = m.Run(t.Context(), &contract.RunOptions{Shard: contract.Shard{Index: 1, Count: 2}})
	require.NoError(t, err)
	assert.Equal(t, 2, report.ExitCode(r, nil, 0), "a part that decided nothing")
}

// A budget of cost is shared, and each shard says so.
func TestBudgetOfAShard(t *testing.T) {
	runs := 0
	m := smallest(&runs)
	m.Trials, m.Invariants[0].AtLeast = 1000, .999
	r, err := m.Run(t.Context(), &contract.RunOptions{Sequential: true, Shard: contract.Shard{Index: 1, Count: 2},
		Budget: contract.Budget{Cost: 64, CostOf: func(*contract.CellReport) float64 { return 1 }}})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, runs, 32)
	assert.Less(t, runs, 32+16, "a round begins before the budget is spent")
	assert.Contains(t, fmt.Sprint(r.Warnings), "Shard 1/2 spends its share of the budget, ")
}

// What a run has cost is no outcome: two runs that came out alike are alike.
func TestPartsOfOtherCostsAreAlike(t *testing.T) {
	var parts []string
	for cost := range 2 {
		runs, file := 0, filepath.Join(t.TempDir(), "a.run.jsonl")
		m := smallest(&runs)
		m.Invariants[0].AtLeast = .9
		_, err := m.Run(t.Context(), &contract.RunOptions{File: file, Build: "one", Sequential: true,
			Budget: contract.Budget{Cost: 1000, CostOf: func(*contract.CellReport) float64 { return float64(cost + 1) }}})
		require.NoError(t, err)
		assert.Contains(t, readFile(t, file), fmt.Sprintf(`"cost":%d`, cost+1))
		parts = append(parts, file)
	}
	r, err := report.Merge(io.Discard, parts...)
	require.NoError(t, err)
	assert.NotContains(t, fmt.Sprint(r.Warnings), "other outcomes")
}

// Whether a cell applies is known to the part that has it alone. All parts name one number of cells.
func TestPartsNameOneNumberOfCells(t *testing.T) {
	runs := 0
	m := smallest(&runs)
	m.Trials = 3
	m.Invariants[0].Check = func(_ context.Context, o *contract.Observation) error {
		if o.Cell.Scenario == "calm" && o.Cell.Trial < 3 {
			return contract.ErrDoesNotApply
		}
		return nil
	}
	var parts []string
	for index, want := range []string{"nothing broke in 2 of 6 cells", "nothing broke in 2 of 6 cells", "nothing broke in 2 of 6 cells"} {
		file := filepath.Join(t.TempDir(), "a.run.jsonl")
		r, err := m.Run(t.Context(), &contract.RunOptions{File: file, Shard: contract.Shard{Index: index + 1, Count: 3}})
		require.NoError(t, err)
		assert.Equal(t, want, r.Score.Why)
		parts = append(parts, file)
	}
	r, err := m.Run(t.Context(), &contract.RunOptions{Shard: contract.Shard{Index: 1, Count: 6}})
	require.NoError(t, err)
	assert.Equal(t, "nothing broke in 1 of 6 cells", r.Score.Why, "it has one, which does not apply")
	r, err = report.Merge(io.Discard, parts...)
	require.NoError(t, err)
	assert.Equal(t, "no critical invariant broke; 4 of 4 decided cells held", r.Score.Why)
}

// Targets that no run called are a warning of all runs together: what a part does not see, another may.
func TestTargetsThatNobodyCalledInParts(t *testing.T) {
	made := func() *contract.Matrix {
		m := desks()
		m.Points = nil // ledger becomes known when it is called
		down := fault.Fail(fault.ErrUnavailable)
		seldom := contract.Under("seldom", chaos.Rule{Name: "ledger", Target: "ledger", Fault: down, When: when.Nth(9)},
			chaos.Rule{Name: "never", Target: "legder", Fault: down}, chaos.Rule{Name: "once", Target: "queue", Fault: down, When: when.Nth(9)})
		seldom.AllowUndelivered = true
		m.Scenarios = append(m.Scenarios, seldom)
		world := m.NewWorld
		m.NewWorld = func(ctx context.Context) (*contract.World, error) {
			w, err := world(ctx)
			agent := w.Agent
			w.Agent = func(ctx context.Context, prompt string, tools chaos.ToolRegistry) (string, error) {
				if c, _ := contract.CellOf(ctx); c.Scenario == "calm" && c.Trial == 3 {
					_, _ = chaos.Wrap("queue", func(context.Context, int) (int, error) { return 1, nil })(ctx, 1)
				}
				return agent(ctx, prompt, tools)
			}
			return w, err
		}
		return m
	}
	want := []string{`Rule never of scenario seldom: the target "legder" matches no tool, no declared point and no point that any run called; the nearest name is "ledger".`}
	whole, err := made().Run(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, want, whole.Warnings)
	var parts []string
	last := ""
	for index := 1; index <= 4; index++ {
		o := &contract.RunOptions{Build: "v1", File: filepath.Join(t.TempDir(), "a"), Shard: contract.Shard{Index: index, Count: 4}}
		r, err := made().Run(t.Context(), o)
		require.NoError(t, err)
		assert.Empty(t, r.Warnings, "a part does not know")
		parts = append(parts, o.File)
		o.File, o.Resume = filepath.Join(t.TempDir(), "b"), last
		r, err = made().Run(t.Context(), o)
		require.NoError(t, err)
		assert.Equal(t, index == 4, len(r.Warnings) == 1, "%v", r.Warnings)
		last = o.File
	}
	text, r := merged(t, parts...)
	assert.Equal(t, want, r.Warnings)
	assert.Equal(t, fileOf(t, whole, stable), stableOf(t, text))
	_, r = merged(t, parts[1:]...)
	assert.Len(t, r.Warnings, 1, "%v", r.Warnings)
	resumed, err := made().Run(t.Context(), &contract.RunOptions{Build: "v1", Resume: last})
	require.NoError(t, err)
	assert.Equal(t, fileOf(t, whole, stable), fileOf(t, resumed, stable))
	text, r = merged(t, last, parts[0])
	assert.Equal(t, want, r.Warnings, "the warning of an end is not said twice, %s", text[strings.LastIndex(text, `{"end"`):])
}
